#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/io/csv.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

enum class TableMode : std::uint8_t { regression, classification };
enum class TableLoss : std::uint8_t { mse, mae, cross_entropy };
enum class Normalise : std::uint8_t { none, min_max, mean_deviation };

/// Settings of a `table` task; every key of its config, with its default.
struct TableSettings {
    TableMode mode = TableMode::regression;
    TableLoss loss = TableLoss::mse;      ///< Classification: cross_entropy.
    std::vector<std::string> train;       ///< Paths of CSV files, at least one.
    std::vector<std::string> validation;  ///< "validation": {"files": [...]}
    double tail_fraction = 0.0;  ///< "validation": {"tail_fraction": f}, of each train file.
    std::vector<std::string> test;
    std::vector<std::string> inputs;   ///< Empty for "all" (with time_offset 0: but the targets).
    std::vector<std::string> targets;  ///< Classification: one column of class numbers.
    std::int64_t time_offset = 0;      ///< Row t predicts row t + time_offset.
    bool difference = false;           ///< Predict the change since row t; needs a time_offset.
    std::int64_t sequence_length = 0;  ///< Rows of a window; 0: rows are independent, no time.
    std::int64_t warm_up = 0;          ///< First rows of a window that do not count in the loss.
    Normalise normalise = Normalise::mean_deviation;
    MissingValues missing = MissingValues::error;
    std::int64_t rows_per_evaluation = 0;  ///< Drawn anew for every generation; 0: all rows.
    std::vector<std::string> baselines;
    bool chosen_baselines = false;  ///< The config names them; else they are those that fit.
};

/// Reads them strictly; relative paths start at the context's folder. Throws ConfigError.
[[nodiscard]] TableSettings table_settings(const nlohmann::json& settings,
                                           const TaskContext& context);

}  // namespace cambrian::evolve

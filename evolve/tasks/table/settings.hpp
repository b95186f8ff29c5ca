#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cambrian/engine/io/csv.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

enum class TableMode : std::uint8_t { regression, classification };
enum class TableLoss : std::uint8_t { mse, mae, cross_entropy };
enum class Normalise : std::uint8_t { none, min_max, mean_deviation };
inline constexpr std::array<std::string_view, 2> table_mode_names{"regression", "classification"};
inline constexpr std::array<std::string_view, 3> normalise_names{"none", "min_max",
                                                                 "mean_deviation"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(TableMode) {
    return table_mode_names;
}
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Normalise) {
    return normalise_names;
}

/// Settings of a `table` task: `fields` are the keys of its config that hold what the member does;
/// table_settings() reads the others.
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

    static constexpr FieldRange rows{0.0, 1e9};
    static constexpr auto fields = std::tuple{
        Field{"mode", &TableSettings::mode},
        Field{"train", &TableSettings::train},
        Field{"test", &TableSettings::test},
        Field{"targets", &TableSettings::targets},
        Field{"time_offset", &TableSettings::time_offset, rows},
        Field{"difference", &TableSettings::difference},
        Field{"sequence_length", &TableSettings::sequence_length, rows},
        Field{"warm_up", &TableSettings::warm_up, rows},
        Field{"normalise", &TableSettings::normalise},
        Field{"missing_values", &TableSettings::missing},
        Field{"rows_per_evaluation", &TableSettings::rows_per_evaluation, rows},
    };
};

/// Reads them strictly; relative paths start at the context's folder. Throws ConfigError.
[[nodiscard]] TableSettings table_settings(const nlohmann::json& settings,
                                           const TaskContext& context);

}  // namespace cambrian::evolve

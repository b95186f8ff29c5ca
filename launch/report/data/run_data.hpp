#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/runs/run_status.hpp"
#include "cambrian/launch/report/data/logged_column.hpp"

namespace cambrian::launch {

/// What the files of a run tell of it: as much of its logs as a page shows, however long they are.
struct RunData {
    std::filesystem::path directory;
    std::string name;        ///< run.name, or that of the folder.
    std::string config;      ///< config.json; empty where there is none.
    std::string arithmetic;  ///< What it was computed with.
    std::optional<distributed::RunStatus> status;
    std::string state;              ///< That of its status, or that it ended without a word.
    std::uint64_t generations = 0;  ///< That are done.
    std::map<std::string, LoggedColumn> columns;  ///< Of generations.csv, by name.
    /// Numbers of these two to take statistics of, see ColumnThinner::sample(); without gaps.
    LoggedColumn sampled_best;
    LoggedColumn sampled_mean;
    /// What the best has lost of its fitness for each unit of a column: of bytes, of products.
    std::map<std::string, double> prices;
    /// The best without what it has lost; empty where the log does not tell of all prices.
    LoggedColumn unpriced;
    /// Seconds of each rank in all generations: evaluate, vary, wait, communicate.
    std::map<std::int64_t, std::map<std::string, double>> seconds_by_rank;
    /// Seconds of evaluation of each rank, by generation.
    std::map<std::int64_t, MeanColumn> evaluation_by_rank;
    /// Individuals of each species (its island and its number), by generation; of many generations
    /// every so many.
    std::map<std::int64_t, std::map<std::pair<std::int64_t, std::int64_t>, double>> species;
    std::optional<distributed::NetworkFile> best;
};

/// Whether somebody works in the directory of a run; also where its lock cannot be asked.
[[nodiscard]] bool is_held(const std::filesystem::path& directory);

/// Reads a directory of an evolution. Throws InputError where it holds no generations.csv, or what
/// it holds is damaged, ConfigError for a config.json that is no JSON.
[[nodiscard]] RunData read_run(const std::filesystem::path& directory);

}  // namespace cambrian::launch

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

namespace cambrian::launch {

/// The finite numbers of a column of generations.csv, and the generations they are told of, which
/// rise.
struct LoggedColumn {
    std::vector<double> generation;
    std::vector<double> value;
};

/// What the files of a run tell of it.
struct RunData {
    std::filesystem::path directory;
    std::string name;        ///< run.name, or that of the folder.
    std::string config;      ///< config.json; empty where there is none.
    std::string arithmetic;  ///< What it was computed with.
    std::optional<distributed::RunStatus> status;
    std::string state;              ///< That of its status, or that it ended without a word.
    std::uint64_t generations = 0;  ///< That are done.
    std::map<std::string, LoggedColumn> columns;  ///< Of generations.csv, by name.
    /// What the best has lost of its fitness for each unit of a column: of bytes, of products.
    std::map<std::string, double> prices;
    /// Seconds of each rank in all generations: evaluate, vary, wait, communicate.
    std::map<std::int64_t, std::map<std::string, double>> seconds_by_rank;
    /// Seconds of evaluation of each rank, by generation.
    std::map<std::int64_t, LoggedColumn> evaluation_by_rank;
    /// Individuals of each species (its island and its number), by generation.
    std::map<std::int64_t, std::map<std::pair<std::int64_t, std::int64_t>, double>> species;
    std::optional<distributed::NetworkFile> best;
};

/// Whether somebody works in the directory of a run; also where its lock cannot be asked.
[[nodiscard]] bool is_held(const std::filesystem::path& directory);

/// Reads a directory of an evolution. Throws InputError where it holds no generations.csv, or what
/// it holds is damaged, ConfigError for a config.json that is no JSON.
[[nodiscard]] RunData read_run(const std::filesystem::path& directory);

/// The directories of runs that a path stands for: itself, or those in it that hold a
/// generations.csv (of trials those of a seed), in the order of their names, numbers as numbers.
/// Throws InputError where there is none.
[[nodiscard]] std::vector<std::filesystem::path> runs_in(const std::filesystem::path& path);

}  // namespace cambrian::launch

#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "cambrian/launch/report/data/run_data.hpp"

// Several runs of one experiment.
namespace cambrian::launch {

/// The directories of runs that a path stands for: itself, or those in it that hold a
/// generations.csv (of trials those of a seed), in the order of their names, numbers as numbers.
/// Throws InputError where there is none.
[[nodiscard]] std::vector<std::filesystem::path> runs_in(const std::filesystem::path& path);

/// Reads several, each once however often it is there. All but the best of them have what a page
/// tells of such alone: no genome, and of columns the sample of the best and the last number of
/// evaluations.
[[nodiscard]] std::vector<RunData> read_runs(std::span<const std::filesystem::path> directories);

/// That whose best network is the best by what runs choose their champion by: one that solves the
/// task, else one that is validated, else the fittest. Of equal ones the first.
[[nodiscard]] const RunData& best_run(std::span<const RunData> runs);

}  // namespace cambrian::launch

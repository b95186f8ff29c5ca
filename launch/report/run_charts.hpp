#pragma once

#include <string>

#include "cambrian/launch/report/data/run_data.hpp"
#include "cambrian/launch/report/findings.hpp"

// What the tables of runs show over generations, as HTML; empty where they have nothing of it.
namespace cambrian::launch {

/// A column; null where there is none.
[[nodiscard]] const LoggedColumn* column(const RunData& run, const std::string& name);

/// Best, mean, worst and validated, and what best.cmb reached in the test.
[[nodiscard]] std::string fitness_html(const RunData& run);
/// The losses of the best beside those of simple predictors, of tasks with such; where the task
/// changes, in the generations of the task that the best network is of.
[[nodiscard]] std::string losses_html(const RunData& run, const Findings& findings);
/// Sizes of species, one above the other.
[[nodiscard]] std::string species_html(const RunData& run);
/// Diversity, weights of the best and what else is counted.
[[nodiscard]] std::string counts_html(const RunData& run);

}  // namespace cambrian::launch

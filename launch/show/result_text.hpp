#pragma once

#include <string>

#include "cambrian/distributed/run.hpp"

namespace cambrian::launch {

/// Why a run ended, what it reached beside the baselines of its task, and where to look next.
[[nodiscard]] std::string result_text(const distributed::Experiment& experiment,
                                      const distributed::RunResult& result);

/// What was asked for and what was reached, of a run that was not solved.
[[nodiscard]] std::string unsolved_text(const distributed::Experiment& experiment,
                                        const distributed::RunResult& result);

}  // namespace cambrian::launch

#pragma once

#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/report/data/run_data.hpp"
#include "cambrian/launch/report/findings.hpp"

namespace cambrian::launch {

/// Reads and computes them, on the CPU. What fails is a note: a page shows what there is. A
/// simulator in another language is not started: a report reads a run, it does not run its
/// programs.
[[nodiscard]] Findings findings_of(const CommandContext& context, const RunData& run);

}  // namespace cambrian::launch

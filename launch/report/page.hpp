#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cambrian/launch/report/data/run_data.hpp"
#include "cambrian/launch/report/findings.hpp"

namespace cambrian::launch {

/// One HTML page about one run, or about several runs of one experiment with what they have in
/// common: nothing else is needed to see it.
/// @param findings of the best run (best_run).
/// @param version of a page that is served and asks whether there is a newer one; 0: of any other.
[[nodiscard]] std::string report_page(std::span<const RunData> runs, const Findings& findings,
                                      std::uint64_t version = 0);

}  // namespace cambrian::launch

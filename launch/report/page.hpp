#pragma once

#include <span>
#include <string>

#include "cambrian/launch/report/run_data.hpp"

namespace cambrian::launch {

/// One HTML page about one run, or about several runs of one experiment with what they have in
/// common: nothing else is needed to see it.
[[nodiscard]] std::string report_page(std::span<const RunData> runs);

}  // namespace cambrian::launch

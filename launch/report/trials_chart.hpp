#pragma once

#include <span>
#include <string>

#include "cambrian/launch/report/data/run_data.hpp"

namespace cambrian::launch {

/// The best of several runs: median, quartiles and extremes. A run that is done keeps its last one;
/// another counts up to there. Of many generations every so many are drawn.
[[nodiscard]] std::string trials_html(std::span<const RunData> runs);

}  // namespace cambrian::launch

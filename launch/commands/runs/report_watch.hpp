#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cambrian/launch/commands/commands.hpp"

namespace cambrian::launch {

/// Serves the page until SIGINT, SIGTERM or SIGHUP, and makes it anew where somebody looks at it
/// and files have changed, every few seconds at most.
/// @param page makes it; `version` is 0 for a page that nobody serves.
[[nodiscard]] int watch_report(const CommandContext& context, const ReportOptions& options,
                               const std::function<std::string(std::uint64_t version)>& page);

}  // namespace cambrian::launch

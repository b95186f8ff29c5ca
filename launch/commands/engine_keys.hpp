#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cambrian/launch/json.hpp"

// The section "engine" of commands without a config.
namespace cambrian::launch {

/// Overrides of the engine, which every network runs on, and the others.
[[nodiscard]] std::pair<std::vector<std::string>, std::vector<std::string>> split_overrides(
    const std::vector<std::string>& overrides);
/// What such overrides make of the defaults.
[[nodiscard]] Json engine_section(const std::vector<std::string>& overrides);

}  // namespace cambrian::launch

#pragma once

#include <string>
#include <vector>

#include "cambrian/launch/config/experiment_reader.hpp"

namespace cambrian::launch {

/// What a config of an evolution sets that nothing reads, since another key says so: a note for
/// each section, with its keys that are not what they are by default.
/// @param founder the network that it starts from.
[[nodiscard]] std::vector<std::string> vain_settings(const ResolvedConfig& config,
                                                     const Schema& schema,
                                                     const Blueprint& founder);

}  // namespace cambrian::launch

#pragma once

#include <string>

#include "cambrian/launch/config/schema.hpp"
#include "cambrian/launch/config/schema_validator.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// run.directory with each key in braces replaced by its value: {name} and {seed} are those of run,
/// others are written in full, {population.size}. A slash in a value becomes a dash: a value is a
/// part of one name. Throws ConfigError for a key that the config does not have, with the nearest
/// one, and for one that is a section or a list.
/// @param config with every default.
[[nodiscard]] std::string run_directory(const Json& config, const Schema& schema,
                                        const Origins& origins);

}  // namespace cambrian::launch

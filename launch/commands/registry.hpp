#pragma once

#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/json.hpp"

// Everything that is registered, as JSON: what other programs read in place of documentation.
namespace cambrian::launch {

/// What `cambrian ops --json`, `layers --json` and `layers --activations --json` print.
[[nodiscard]] Json ops_json();
[[nodiscard]] Json layers_json();
[[nodiscard]] Json activations_json();

/// All kinds of methods: each a list of objects with a name, what it is, and its fields with what
/// they take and their defaults.
/// @param commands of the program, which knows its own.
[[nodiscard]] Json registry_json(const CommandContext& context, Json commands);

/// `cambrian registry`: that, or the names by kind.
[[nodiscard]] int registry_command(const CommandContext& context, Json commands, bool json);

}  // namespace cambrian::launch

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cambrian/engine/network/blueprint.hpp"

// Weights that one layer takes from another (Dense::tied): the table of an embedding.
namespace cambrian {

/// The slot of the embedding whose table a layer takes as its weight; nothing for a layer with a
/// weight of its own, and for a name that cannot be one.
[[nodiscard]] std::optional<int> tied_slot(const AnyLayer& layer);
/// What is wrong with the ties of a blueprint whose layers are resolved, or an empty text: a name
/// that is of no table, a table of another shape, a tie within a container.
[[nodiscard]] std::string tie_fault(const Blueprint& blueprint);

}  // namespace cambrian

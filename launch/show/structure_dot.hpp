#pragma once

#include <string>

#include "cambrian/engine/network/network.hpp"

namespace cambrian::launch {

/// The network as a graphviz graph: cells as clusters with their slots, the layers of containers
/// inside theirs, the chain with the shapes that flow along it, links with their parameters, dashed
/// slots that are disabled. Empty slots are shown where the grid is small.
[[nodiscard]] std::string graphviz_text(const Network& network, const std::string& title);

}  // namespace cambrian::launch

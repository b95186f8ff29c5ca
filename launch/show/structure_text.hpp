#pragma once

#include <string>

#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// "6" for a vector, "3x8x8" for an image.
[[nodiscard]] std::string shape_text(const Shape& shape);

/// "4 inputs → 2 outputs, 1×1×1×4 grid, 2 layers, 0 links, 114 weights".
[[nodiscard]] std::string structure_line(const Network& network);

/// One line for each filled slot, the layers in it, the head and the links, then the totals
/// (summary.hpp).
[[nodiscard]] std::string structure_table(const Network& network);

/// The network as a graphviz graph: cells as clusters with their slots, the layers of containers
/// inside theirs, the chain with the shapes that flow along it, links with their parameters, dashed
/// slots that are disabled. Empty slots are shown where the grid is small.
[[nodiscard]] std::string graphviz_text(const Network& network, const std::string& title);

/// Everything that a network file says but its weights.
[[nodiscard]] Json network_json(const distributed::NetworkFile& file);

}  // namespace cambrian::launch

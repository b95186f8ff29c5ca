#pragma once

#include <cstddef>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// Internal to engine/graph.
namespace cambrian {

/// Who reads a value.
struct ValueUsers {
    std::size_t count = 0;       ///< Operands, and outputs of the graph.
    const Node* last = nullptr;  ///< Of the nodes; lives as long as the graph.
};

/// The users of every value of a graph.
[[nodiscard]] std::vector<ValueUsers> users_of_values(const Graph& graph);

}  // namespace cambrian

#pragma once

#include <cstdint>

#include "cambrian/engine/graph/graph.hpp"

// Internal to engine/graph.
namespace cambrian {

/// Whether two nodes of one op with the same operands compute the same: constants by their bits,
/// bodies by their nodes.
[[nodiscard]] bool same_attributes(const Attributes& a, const Attributes& b);
/// Whether two graphs have the same nodes, batch axes and outputs.
[[nodiscard]] bool same_graph(const Graph& a, const Graph& b);
/// Equal for the same attributes; tells apart what the shapes of results do not.
[[nodiscard]] std::uint64_t attribute_hash(const Attributes& attributes);

}  // namespace cambrian

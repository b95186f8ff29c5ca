#pragma once

#include <cstdint>

#include "cambrian/engine/graph/graph.hpp"

// Whether graphs compute the same by the same nodes.
namespace cambrian {

/// Whether two nodes of one op with the same operands compute the same: constants by their bits,
/// bodies by their nodes.
[[nodiscard]] bool same_attributes(const Attributes& a, const Attributes& b);
/// Equal for the same attributes; tells apart what the shapes of results do not.
[[nodiscard]] std::uint64_t attribute_hash(const Attributes& attributes);

/// Adds a word to a hash.
constexpr void mix(std::uint64_t& key, std::uint64_t word) {
    key = (key ^ word) * 0x9E3779B97F4A7C15U;
    key ^= key >> 29U;
}

/// Whether two graphs have the same nodes, batch axes, inputs and outputs, names of inputs
/// included. Neither updates nor captures are looked at.
[[nodiscard]] bool same_graph(const Graph& a, const Graph& b);
/// Equal for the same graphs.
[[nodiscard]] std::uint64_t structure_hash(const Graph& graph);

}  // namespace cambrian

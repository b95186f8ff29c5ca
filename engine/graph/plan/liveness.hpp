#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// Internal to engine/graph.
namespace cambrian {

/// Where the elements of an alias begin in its direct operand.
struct AliasOf {
    ValueId operand{};
    std::int64_t offset = 0;
};
/// What a node's result shares elements with, or nothing when it must be computed.
[[nodiscard]] std::optional<AliasOf> alias_of(const Graph& graph, const Node& node);

/// First and last node during which the elements of a value must be kept, counted in nodes; `last`
/// is the number of nodes when the executor copies the value to an output at the end.
struct Interval {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    bool needed = false;
};

/// Lifetimes of all values. The readers of an alias count for the value it shares elements with.
struct Liveness {
    std::vector<ValueId> roots;  ///< The value whose elements a value shares; itself for most.
    std::vector<std::int64_t> offsets;  ///< Of a value in its root.
    std::vector<Interval> intervals;    ///< Of roots; `needed` also of aliases.
};
[[nodiscard]] Liveness liveness(const Graph& graph);

/// Whether a node reads the elements of a root only where it writes its own result, so that the
/// result may lie in the very same elements: elementwise ops, the rows of put_row, and fusion
/// groups without reductions that do not broadcast it.
[[nodiscard]] bool reads_in_place(const Graph& graph, const Liveness& live, const Node& node,
                                  ValueId root);

/// Whether the new content of an input may be written into it directly: by then nothing reads the
/// old one any more, or only the node that writes does, in place.
[[nodiscard]] bool replaces_directly(const Graph& graph, const Liveness& live,
                                     const Update& update);

}  // namespace cambrian

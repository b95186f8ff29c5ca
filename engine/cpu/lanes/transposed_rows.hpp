#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian::cpu {

/// Where one element of a value of a transposed graph lies: a row with one word for each individual
/// of a block, or one word for all of them.
struct ElementRow {
    std::uint32_t slot = 0;  ///< Of the frame.
    std::int64_t index = 0;  ///< Rows, or words of a shared slot, before it.
    bool shared = false;
    bool operator==(const ElementRow&) const = default;
};
using ElementRows = std::vector<ElementRow>;

/// The rows of consecutive elements, from `first` on.
[[nodiscard]] ElementRows consecutive_rows(const ElementRow& first, std::int64_t count);

/// Whether an op only moves elements, so that nothing has to be computed for it.
[[nodiscard]] bool only_moves(Op op);
/// The rows of the result of such an op.
[[nodiscard]] ElementRows moved_rows(const Graph& graph, const Node& node,
                                     std::span<const ElementRows* const> operands);

/// The rows of an operand that is broadcast to a shape, in the order of its elements.
[[nodiscard]] ElementRows broadcast_rows(const ElementRows& rows, const Shape& shape,
                                         const Shape& result);

}  // namespace cambrian::cpu

#pragma once

#include <memory>
#include <span>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/cpu/lanes/transposed_rows.hpp"

namespace cambrian::cpu {

/// A node of a transposed graph, and where its values lie.
struct TransposedNode {
    const Graph& graph;
    const Node& node;
    const ElementRows& result;
    std::span<const ElementRows* const> operands;
    Math math;

    [[nodiscard]] const ValueInfo& operand(std::size_t index) const {
        return graph.value(graph.operands(node)[index]);
    }
    [[nodiscard]] const Shape& shape() const {
        return graph.value(ValueId{node.first_result}).shape;
    }
};

/// The step of a node with one result that individuals do not share, or null for an op or a shape
/// that has none.
[[nodiscard]] std::unique_ptr<Kernel> make_transposed_kernel(const TransposedNode& node);

}  // namespace cambrian::cpu

#pragma once

#include <memory>
#include <span>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/cpu/lanes/transposed_kernels.hpp"

namespace cambrian::cpu {

/// A node of a transposed graph, and where its values lie.
struct TransposedNode {
    const Graph& graph;
    const Node& node;
    std::span<const ElementRows> results;
    std::span<const ElementRows* const> operands;
    std::span<const std::int64_t> input_strides;  ///< Words between individuals of each input.
    Math math;

    [[nodiscard]] const ValueInfo& operand(std::size_t index) const {
        return graph.value(graph.operands(node)[index]);
    }
    [[nodiscard]] const Shape& shape() const {
        return graph.value(ValueId{node.first_result}).shape;
    }
};

/// A kernel that does something once for the individuals that are side by side, before it runs and
/// whenever some of them leave. Its memory is the frame's scratch slot.
class ArrangedKernel : public Kernel {
  public:
    /// Of its memory for so many individuals.
    [[nodiscard]] virtual std::int64_t words(std::int64_t count) const = 0;
    /// For how many of `count` individuals, from the first one on, its memory is enough; at least
    /// one. Only the slots of inputs that stay outside are set.
    [[nodiscard]] virtual std::int64_t fitting(const Frame& frame, std::int64_t count) const = 0;
    virtual void arrange(Frame& frame, std::int64_t count) const = 0;
};

/// Whether an op reads an operand where it lies outside: the individual of each column is in
/// Frame::individuals.
[[nodiscard]] bool reads_in_place(Op op, std::size_t operand);

/// The kernel of a node whose results individuals do not share, or null for an op or a shape that
/// has none.
[[nodiscard]] std::unique_ptr<Kernel> make_transposed_kernel(const TransposedNode& node);

/// Networks as bytecode (engine/cpu/bytecode), those of one structure side by side.
[[nodiscard]] std::unique_ptr<Kernel> make_transposed_interpret(const TransposedNode& node);

}  // namespace cambrian::cpu

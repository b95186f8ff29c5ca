#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/cpu/execution/parallel.hpp"
#include "cambrian/engine/graph/graph.hpp"

namespace cambrian::cpu {

/// A 4-byte word of any value type, for kernels that only move words.
struct [[gnu::may_alias]] Word {
    std::uint32_t bits;
};

/// The first slots of every frame; inputs follow, then outputs.
enum Slot : std::uint32_t {
    arena_slot,    ///< Per-individual temporaries of the block.
    private_slot,  ///< What a worker keeps for itself: shared values computed in a block, carries.
    scratch_slot,  ///< Temporaries inside one kernel.
    shared_slot,   ///< Shared values computed once before the blocks.
    constants_slot,
    first_input_slot,
};

/// Where a kernel finds a value: words from `offset` in a slot, one individual every `stride` words
/// (0 for a value that all individuals share).
struct BufferView {
    std::uint32_t slot = 0;
    std::int64_t offset = 0;
    std::int64_t stride = 0;
};

/// The memory one worker runs a graph in. Bodies of scans have frames of their own.
struct Frame {
    std::vector<std::byte*> slots;
    std::vector<Frame> bodies;
    std::vector<Frame> transposed;  ///< Of bodies that run transposed.
    Team team;  ///< For the parts of a kernel; a scan hands its own on to its body.
    /// In the body of a scan with an alive carry: `alive_words` flags for each individual. Nothing
    /// reads what a body computes for one whose flags are all false. Null: all are alive.
    const std::int32_t* alive = nullptr;
    std::int64_t alive_words = 0;
    /// In a transposed body: the individual of each column, counted from the first of its group.
    /// Columns after them are copies of the last.
    std::span<const std::int32_t> individuals;

    [[nodiscard]] bool is_alive(std::int64_t individual) const {
        if (alive == nullptr) return true;
        const std::int32_t* const flags = alive + individual * alive_words;
        std::int32_t any = 0;
        for (std::int64_t i = 0; i < alive_words; ++i) any |= flags[i];
        return any != 0;
    }

    template <class Element>
    [[nodiscard]] Element* at(const BufferView& ref) const {
        return reinterpret_cast<Element*>(slots[ref.slot]) + ref.offset;
    }
};

/// One node, with everything about shapes decided.
class Kernel {
  public:
    virtual ~Kernel() = default;
    /// Computes the results of `count` individuals (1 for a shared value).
    virtual void run(Frame& frame, std::int64_t count) const = 0;
};

class CompiledGraph;

/// What a factory of kernels sees of the node it makes one for.
struct KernelContext {
    const Graph& graph;
    const Node& node;
    std::span<const BufferView> operands;
    std::span<const BufferView> results;
    bool per_individual;  ///< Whether the kernel runs for each individual of a block.
    Math math;
    CompiledGraph& owner;

    [[nodiscard]] const ValueInfo& operand(std::size_t index) const {
        return graph.value(graph.operands(node)[index]);
    }
    [[nodiscard]] const ValueInfo& result(std::size_t index = 0) const {
        return graph.value(ValueId{node.first_result + static_cast<std::uint32_t>(index)});
    }
    template <class Attribute>
    [[nodiscard]] const Attribute& attribute() const {
        return std::get<Attribute>(node.attributes);
    }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelContext& context);

}  // namespace cambrian::cpu

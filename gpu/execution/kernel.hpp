#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/tensor/tensor.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::gpu {

class CompiledGraph;

/// Bytes of a word: every element of every type is one.
inline constexpr auto word_bytes = static_cast<std::uint64_t>(cambrian::word_bytes);
/// Words of a value, of all individuals together, that a kernel may index: drivers compute a byte's
/// place in 32 bits, and a word beyond would be read and written somewhere else, without an error.
inline constexpr std::int64_t max_words = std::int64_t{1} << 30;

/// Where a value lies, decided at compile time: `offset` words into a slot, plus `scaled` words for
/// every individual of the run; one individual every `stride` words (0: all share it). The values
/// of one individual are row-major and whole.
struct BufferView {
    std::uint32_t slot = 0;
    std::int64_t offset = 0;
    std::int64_t scaled = 0;
    std::int64_t stride = 0;
};

/// The memory of one run: an address for each slot. Bodies of scans have frames of their own.
struct Frame {
    std::int64_t population = 1;
    std::vector<std::uint64_t> slots;
    std::vector<Frame> bodies;

    [[nodiscard]] std::uint64_t address(const BufferView& view) const {
        return slots[view.slot] +
               static_cast<std::uint64_t>(view.offset + view.scaled * population) * word_bytes;
    }
    /// What a value of `elements` words for one individual covers.
    [[nodiscard]] vulkan::Range range(const BufferView& view, std::int64_t elements) const {
        const std::int64_t words =
            view.stride == 0 ? elements : view.stride * (population - 1) + elements;
        return {address(view), static_cast<std::uint64_t>(words) * word_bytes};
    }
};

/// One node, with everything about shapes decided. Records its dispatches for a run.
class Kernel {
  public:
    virtual ~Kernel() = default;
    virtual void record(vulkan::Recorder& recorder, const Frame& frame) const = 0;
};

/// What a kernel's factory sees of the node it makes a kernel for.
struct KernelContext {
    const Graph& graph;
    const Node& node;
    std::span<const BufferView> operands;
    std::span<const BufferView> results;
    bool per_individual;  ///< Whether there is one result for each individual, or one for all.
    CompiledGraph& owner;

    [[nodiscard]] const ValueInfo& operand(std::size_t index = 0) const {
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

/// The kernel of a node, from the row of its op (kernels/kernel_table.cpp). Null for what needs
/// none.
[[nodiscard]] std::unique_ptr<Kernel> make_kernel(const KernelContext& context);
/// Whether the backend runs an op as it is; any other is replaced by its lowering first. Under
/// strict math a kernel counts only when its bits are those of the lowering.
[[nodiscard]] bool has_kernel(Op op, Math math);

struct Resources;

/// Copies a value of `elements` words, for each individual or once: also from a value that all
/// share to one for each, and between different strides. Null when the views are the same or there
/// is nothing to copy.
[[nodiscard]] std::unique_ptr<Kernel> make_view_copy(Resources& resources, const BufferView& target,
                                                     const BufferView& source,
                                                     std::int64_t elements, bool per_individual);

}  // namespace cambrian::gpu

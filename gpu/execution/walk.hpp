#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/tensor/nest.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// One word of the result from one word of each operand, over a nest of loops: the pipelines of
/// shaders/elementwise/elementwise.glsl for one function, and the dispatch that walks the nest.
/// View 0 is the result; there are one to three operands.
class Walk {
  public:
    struct View {
        BufferView buffer;
        std::int64_t elements = 0;  ///< Of one individual, from there on, that may be touched.
    };

    /// @param function of the words of the operands (codegen/fused/expressions.hpp).
    Walk(CompiledGraph& owner, bool per_individual, const Nest& nest, std::vector<View> views,
         std::string_view name, WordFunction function);

    void record(vulkan::Recorder& recorder, const Frame& frame) const;
    /// With what the recorder is to order it by: nothing for a part of a kernel whose first
    /// dispatch has declared all that the kernel touches.
    void record(vulkan::Recorder& recorder, const Frame& frame,
                std::span<const vulkan::Range> reads, std::span<const vulkan::Range> writes) const;
    /// What the walk touches in a run, result first.
    [[nodiscard]] std::vector<vulkan::Range> ranges(const Frame& frame) const;
    [[nodiscard]] bool empty() const { return nest_.empty; }

  private:
    [[nodiscard]] bool wide_in(const Frame& frame, std::int64_t total) const;
    [[nodiscard]] const vulkan::Pipeline& pipeline(bool wide) const;
    void dispatch(vulkan::Recorder& recorder, vulkan::Push& push, bool wide, std::int64_t words,
                  std::span<const vulkan::Range> reads,
                  std::span<const vulkan::Range> writes) const;

    Resources& resources_;
    bool per_individual_;
    Nest nest_;
    std::vector<View> views_;
    std::string name_;
    WordFunction function_;
    BufferView table_{};
    bool may_be_wide_ = false;
    /// Made when first needed: most walks need one of the two.
    mutable std::array<const vulkan::Pipeline*, 2> pipelines_{};
};

/// A count as a word of a push block.
[[nodiscard]] inline std::uint32_t word(std::int64_t value) {
    CAMBRIAN_EXPECT(value >= 0 && value <= UINT32_MAX);
    return static_cast<std::uint32_t>(value);
}

/// Words of a vector that a wide load fetches.
inline constexpr std::int64_t vector_words = 4;
/// The address of a push block that leads to the table of axes, after those of the views.
inline constexpr std::size_t table_address = 7;

/// Invocations of a workgroup in kernels without shared memory.
[[nodiscard]] std::uint32_t plain_group_width(const Resources& resources);

/// Turns of a loop that one invocation may do in a dispatch: llvmpipe ends all loops of an
/// invocation after 65,535 turns in total, without a word, and a real device must answer in time.
[[nodiscard]] std::int64_t max_turns(const Resources& resources);

/// Items in workgroups of a width, rounded up.
[[nodiscard]] constexpr std::uint64_t groups_for(std::int64_t items, std::uint32_t width) {
    return (static_cast<std::uint64_t>(items) + width - 1) / width;
}

}  // namespace cambrian::gpu

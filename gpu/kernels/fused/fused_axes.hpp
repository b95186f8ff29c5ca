#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// What shaders/fused/fused_axes.glsl divides by a number with: n / divisor for every n below 2^32.
struct MagicNumbers {
    explicit MagicNumbers(std::uint32_t divisor);
    std::uint32_t magic = 0;
    std::uint32_t shifts = 0;
};

/// Nested loops over any number of views of words, the population outermost, with neighbouring axes
/// merged wherever every view allows it. View 0 is the result of a node, then its operands.
class FusedAxes {
  public:
    struct Axis {
        std::int64_t extent = 1;            ///< Of the first axis: for each individual.
        std::vector<std::int64_t> strides;  ///< Words between its positions, for each view.
    };

    /// Over the axes of `shape` but the last `left_out` ones, to which all operands are broadcast.
    FusedAxes(const KernelContext& context, const Shape& shape, int left_out);

    /// Outermost first; at least one.
    [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
    /// Positions of all axes, for each individual (0: nothing to do).
    [[nodiscard]] std::int64_t positions() const;
    /// {extent, magic numbers, strides} of all axes but the `inner` innermost, the innermost first.
    [[nodiscard]] std::vector<std::uint32_t> table(std::size_t inner) const;

  private:
    void add(Axis axis);

    std::vector<Axis> axes_;
    bool one_individual_;
};

/// The result and operands of a node that a fusion group's kernel reads and writes.
struct FusedViews {
    explicit FusedViews(const KernelContext& context);
    /// What a run touches, the result first.
    [[nodiscard]] std::vector<vulkan::Range> ranges(const Frame& frame) const;

    std::vector<BufferView> buffers;
    std::vector<std::int64_t> elements;  ///< Of one individual.
};

}  // namespace cambrian::gpu

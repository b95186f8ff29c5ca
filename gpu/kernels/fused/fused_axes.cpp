#include "cambrian/gpu/kernels/fused/fused_axes.hpp"

#include <algorithm>
#include <bit>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::gpu {
namespace {

/// Words between positions of an axis (negative: counted from the last) of a value that is
/// broadcast along it where it has extent 1 or no such axis.
std::int64_t stride_along(const Shape& shape, int axis) {
    if (shape.rank() + axis < 0 || shape[axis] == 1) return 0;
    std::int64_t stride = 1;
    for (int inner = axis + 1; inner < 0; ++inner) stride *= shape[inner];
    return stride;
}

}  // namespace

MagicNumbers::MagicNumbers(std::uint32_t divisor) {
    CAMBRIAN_EXPECT(divisor > 0);
    const auto bits = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    const std::uint64_t power = std::uint64_t{1} << bits;
    magic = static_cast<std::uint32_t>(((power - divisor) << 32U) / divisor + 1);
    const std::uint32_t first = std::min(bits, 1U);
    shifts = first | (bits - first) << 8U;
}

FusedAxes::FusedAxes(const KernelContext& context, const Shape& shape, int left_out)
    : one_individual_(!context.per_individual) {
    Axis population;
    population.strides.push_back(context.results[0].stride);
    for (const BufferView& operand : context.operands) population.strides.push_back(operand.stride);
    axes_.push_back(std::move(population));
    for (int axis = -shape.rank(); axis < -left_out; ++axis) {
        Axis next{shape[axis], {stride_along(context.result().shape, axis)}};
        for (std::size_t i = 0; i < context.operands.size(); ++i)
            next.strides.push_back(stride_along(context.operand(i).shape, axis));
        add(std::move(next));
    }
}

void FusedAxes::add(Axis axis) {
    if (axis.extent == 1) return;
    Axis& outer = axes_.back();
    bool joins = true;
    for (std::size_t view = 0; view < axis.strides.size(); ++view)
        joins = joins && outer.strides[view] == axis.extent * axis.strides[view];
    // The axis of a single individual has one position: any axis may take its place.
    if (axes_.size() == 1 && one_individual_ && outer.extent == 1) joins = true;
    if (joins) {
        outer = {outer.extent * axis.extent, std::move(axis.strides)};
    } else {
        axes_.push_back(std::move(axis));
    }
}

std::int64_t FusedAxes::positions() const {
    std::int64_t count = 1;
    for (const Axis& axis : axes_) count *= axis.extent;
    return count;
}

std::vector<std::uint32_t> FusedAxes::table(std::size_t inner) const {
    std::vector<std::uint32_t> words;
    for (std::size_t i = axes_.size() - inner; i-- > 0;) {
        const auto extent = static_cast<std::uint32_t>(axes_[i].extent);
        const MagicNumbers numbers(extent);
        words.insert(words.end(), {extent, numbers.magic, numbers.shifts});
        for (const std::int64_t stride : axes_[i].strides)
            words.push_back(static_cast<std::uint32_t>(stride));
    }
    return words;
}

FusedViews::FusedViews(const KernelContext& context) {
    buffers.push_back(context.results[0]);
    elements.push_back(context.result().shape.elements());
    for (std::size_t i = 0; i < context.operands.size(); ++i) {
        buffers.push_back(context.operands[i]);
        elements.push_back(context.operand(i).shape.elements());
    }
}

std::vector<vulkan::Range> FusedViews::ranges(const Frame& frame) const {
    std::vector<vulkan::Range> ranges;
    for (std::size_t view = 0; view < buffers.size(); ++view) {
        ranges.push_back(frame.range(buffers[view], elements[view]));
        CAMBRIAN_ASSERT(ranges.back().bytes <= max_words * word_bytes);
    }
    return ranges;
}

}  // namespace cambrian::gpu

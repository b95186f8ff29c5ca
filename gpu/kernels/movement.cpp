#include <array>
#include <variant>
#include <vector>

#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

using AxisStrides = std::array<std::int64_t, Shape::max_rank>;

/// A value of one individual, or a part of it, and how a copy walks it.
struct Side {
    BufferView buffer;
    AxisStrides strides{};
    std::int64_t elements = 0;  ///< Of the whole value, from there on.
};

Side side_of(const BufferView& buffer, const Shape& shape) {
    return {buffer, row_major_strides(shape), shape.elements()};
}

/// Without its first words.
Side without_first(Side side, std::int64_t words) {
    side.buffer.offset += words;
    side.elements -= words;
    return side;
}

Nest nest_of(const KernelContext& context, const Shape& extents, const Side& result,
             const Side& operand) {
    Nest nest({result.buffer.stride, operand.buffer.stride}, context.per_individual);
    for (std::size_t axis = 0; axis < extents.extents().size(); ++axis)
        nest.add(extents.extents()[axis], {result.strides[axis], operand.strides[axis]});
    return nest;
}

Walk copy_walk(const KernelContext& context, const Shape& extents, const Side& result,
               const Side& operand) {
    return {context.owner,
            context.per_individual,
            nest_of(context, extents, result, operand),
            {{result.buffer, result.elements}, {operand.buffer, operand.elements}},
            "copy",
            copy_function};
}

/// Copies to disjoint parts of one result, which may run at the same time.
class CopyKernel : public Kernel {
  public:
    explicit CopyKernel(std::vector<Walk> parts) {
        for (Walk& part : parts)
            if (!part.empty()) parts_.push_back(std::move(part));
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        std::vector<vulkan::Range> reads;
        std::vector<vulkan::Range> writes;
        for (const Walk& part : parts_) {
            const std::vector<vulkan::Range> touched = part.ranges(frame);
            writes.push_back(touched[0]);
            reads.push_back(touched[1]);
        }
        for (const Walk& part : parts_) {
            part.record(recorder, frame, reads, writes);
            reads.clear();
            writes.clear();
        }
    }

  private:
    std::vector<Walk> parts_;
};

std::unique_ptr<Kernel> kernel_of(Walk walk) {
    std::vector<Walk> parts;
    parts.push_back(std::move(walk));
    return std::make_unique<CopyKernel>(std::move(parts));
}

/// How the operand is read along the axes of the result, by op.
Side view_of_operand(const KernelContext& context) {
    const Shape& shape = context.operand().shape;
    const AxisStrides own = row_major_strides(shape);
    Side side = side_of(context.operands[0], shape);
    if (const auto* permute = std::get_if<PermuteAttribute>(&context.node.attributes)) {
        for (int axis = 0; axis < context.result().shape.rank(); ++axis)
            side.strides[static_cast<std::size_t>(axis)] =
                own[static_cast<std::size_t>(permute->order[static_cast<std::size_t>(axis)])];
    } else if (const auto* slice = std::get_if<SliceAttribute>(&context.node.attributes)) {
        side = without_first(side, slice->start * own[static_cast<std::size_t>(slice->axis)]);
    } else if (context.node.op == Op::broadcast) {
        side.strides = broadcast_strides(shape, context.result().shape);
    } else {
        side.strides =
            row_major_strides(context.result().shape);  // reshape: the same words in order
    }
    return side;
}

Shape with_extent(const Shape& shape, std::size_t axis, std::int64_t extent) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents[axis] = extent;
    return Shape(extents);
}

}  // namespace

std::unique_ptr<Kernel> make_copy(const KernelContext& context) {
    const Shape& shape = context.result().shape;
    if (context.node.op == Op::permute) {
        const Side result = side_of(context.results[0], shape);
        auto tiled =
            make_transpose(context, nest_of(context, shape, result, view_of_operand(context)));
        if (tiled) return tiled;
    }
    return kernel_of(
        copy_walk(context, shape, side_of(context.results[0], shape), view_of_operand(context)));
}

std::unique_ptr<Kernel> make_pad(const KernelContext& context) {
    const auto& pad = context.attribute<PadAttribute>();
    const auto axis = static_cast<std::size_t>(pad.axis);
    const Shape& inside = context.operand().shape;
    const Side result = side_of(context.results[0], context.result().shape);
    constexpr std::array<std::uint32_t, 1> zero_word{0};
    const Side zero{context.owner.table(zero_word), {}, 1};
    const std::int64_t end = pad.before + inside.extents()[axis];
    std::vector<Walk> parts;
    parts.push_back(copy_walk(context, inside,
                              without_first(result, pad.before * result.strides[axis]),
                              side_of(context.operands[0], inside)));
    if (pad.before > 0)
        parts.push_back(copy_walk(context, with_extent(inside, axis, pad.before), result, zero));
    if (pad.after > 0)
        parts.push_back(copy_walk(context, with_extent(inside, axis, pad.after),
                                  without_first(result, end * result.strides[axis]), zero));
    return std::make_unique<CopyKernel>(std::move(parts));
}

std::unique_ptr<Kernel> make_concat(const KernelContext& context) {
    const auto axis = static_cast<std::size_t>(context.attribute<AxisAttribute>().axis);
    const Side result = side_of(context.results[0], context.result().shape);
    std::vector<Walk> parts;
    std::int64_t start = 0;
    for (std::size_t part = 0; part < context.operands.size(); ++part) {
        const Shape& shape = context.operand(part).shape;
        parts.push_back(copy_walk(context, shape,
                                  without_first(result, start * result.strides[axis]),
                                  side_of(context.operands[part], shape)));
        start += shape.extents()[axis];
    }
    return std::make_unique<CopyKernel>(std::move(parts));
}

}  // namespace cambrian::gpu

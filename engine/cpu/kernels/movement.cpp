#include <algorithm>
#include <cstring>

#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/execution/nest.hpp"

namespace cambrian::cpu {

namespace {

using AxisStrides = std::array<std::int64_t, Shape::max_rank>;

void copy_row(const Pointers& pointers, std::int64_t length, const Nest::Strides& strides) {
    Word* __restrict__ result = pointers[0];
    const Word* __restrict__ operand = pointers[1];
    if (strides[0] == 1 && strides[1] == 1) {
        std::memcpy(result, operand, static_cast<std::size_t>(length) * sizeof(Word));
    } else if (strides[0] == 1 && strides[1] == 0) {
        std::fill_n(result, length, *operand);
    } else {
        for (std::int64_t i = 0; i < length; ++i) {
            result[i * strides[0]] = operand[i * strides[1]];
        }
    }
}

BufferView moved(BufferView ref, std::int64_t words) {
    ref.offset += words;
    return ref;
}

/// A copy of a block of these extents between two tensors of each individual.
Copy strided_copy(const Shape& extents, const BufferView& result, const AxisStrides& result_strides,
                  const BufferView& operand, const AxisStrides& operand_strides,
                  bool per_individual) {
    Nest nest({result.stride, operand.stride}, per_individual);
    for (std::size_t axis = 0; axis < extents.extents().size(); ++axis) {
        nest.add(extents.extents()[axis], {result_strides[axis], operand_strides[axis]});
    }
    return {nest, result, operand};
}

/// Fills the whole result from an operand read with the given strides.
std::unique_ptr<Kernel> make_view_copy(const KernelContext& context, const BufferView& operand,
                                       const AxisStrides& operand_strides) {
    const Shape& shape = context.result().shape;
    std::vector<Copy> copies{strided_copy(shape, context.results[0], row_major_strides(shape),
                                          operand, operand_strides, context.per_individual)};
    return std::make_unique<CopyKernel>(std::move(copies));
}

}  // namespace

void CopyKernel::run(Frame& frame, std::int64_t count) const {
    if (zeroed_elements_ > 0) {
        Word* result = frame.at<Word>(zeroed_);
        for (std::int64_t i = 0; i < count; ++i) {
            std::fill_n(result + i * zeroed_.stride, zeroed_elements_, Word{0});
        }
    }
    for (const Copy& copy : copies_) {
        const Pointers pointers{frame.at<Word>(copy.result), frame.at<Word>(copy.operand)};
        for_each_row(copy.nest, count, frame.team, pointers,
                     [&](const Pointers& at, std::int64_t length) {
                         copy_row(at, length, copy.nest.inner().strides);
                     });
    }
}

std::unique_ptr<Kernel> make_copy(const BufferView& result, const BufferView& operand,
                                  std::int64_t elements, bool per_individual) {
    std::vector<Copy> copies{
        strided_copy(Shape{elements}, result, {1}, operand, {1}, per_individual)};
    return std::make_unique<CopyKernel>(std::move(copies));
}

std::unique_ptr<Kernel> make_reshape(const KernelContext& context) {
    return make_copy(context.results[0], context.operands[0], context.result().shape.elements(),
                     context.per_individual);
}

std::unique_ptr<Kernel> make_permute(const KernelContext& context) {
    const auto& order = context.attribute<PermuteAttribute>().order;
    const AxisStrides own = row_major_strides(context.operand(0).shape);
    AxisStrides strides{};
    for (std::size_t axis = 0; axis < context.result().shape.extents().size(); ++axis) {
        strides[axis] = own[static_cast<std::size_t>(order[axis])];
    }
    return make_view_copy(context, context.operands[0], strides);
}

std::unique_ptr<Kernel> make_broadcast(const KernelContext& context) {
    return make_view_copy(context, context.operands[0],
                          broadcast_strides(context.operand(0).shape, context.result().shape));
}

std::unique_ptr<Kernel> make_slice(const KernelContext& context) {
    const auto& slice = context.attribute<SliceAttribute>();
    const AxisStrides strides = row_major_strides(context.operand(0).shape);
    return make_view_copy(
        context,
        moved(context.operands[0], slice.start * strides[static_cast<std::size_t>(slice.axis)]),
        strides);
}

std::unique_ptr<Kernel> make_flip(const KernelContext& context) {
    const auto axis = static_cast<std::size_t>(context.attribute<AxisAttribute>().axis);
    const Shape& shape = context.operand(0).shape;
    AxisStrides strides = row_major_strides(shape);
    const std::int64_t last = (shape.extents()[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
    return make_view_copy(context, moved(context.operands[0], last), strides);
}

std::unique_ptr<Kernel> make_pad(const KernelContext& context) {
    const auto& pad = context.attribute<PadAttribute>();
    const Shape& shape = context.operand(0).shape;
    const AxisStrides strides = row_major_strides(context.result().shape);
    Copy copy = strided_copy(
        shape, moved(context.results[0], pad.before * strides[static_cast<std::size_t>(pad.axis)]),
        strides, context.operands[0], row_major_strides(shape), context.per_individual);
    return std::make_unique<CopyKernel>(std::vector<Copy>{copy}, context.results[0],
                                        context.result().shape.elements());
}

std::unique_ptr<Kernel> make_concat(const KernelContext& context) {
    const auto axis = static_cast<std::size_t>(context.attribute<AxisAttribute>().axis);
    const AxisStrides strides = row_major_strides(context.result().shape);
    std::vector<Copy> copies;
    std::int64_t start = 0;
    for (std::size_t part = 0; part < context.operands.size(); ++part) {
        const Shape& shape = context.operand(part).shape;
        copies.push_back(strided_copy(shape, moved(context.results[0], start * strides[axis]),
                                      strides, context.operands[part], row_major_strides(shape),
                                      context.per_individual));
        start += shape.extents()[axis];
    }
    return std::make_unique<CopyKernel>(std::move(copies));
}

}  // namespace cambrian::cpu

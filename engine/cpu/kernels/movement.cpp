#include <algorithm>
#include <cstring>

#include "cambrian/engine/cpu/execution/copy.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"

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

Ref moved(Ref ref, std::int64_t words) {
    ref.offset += words;
    return ref;
}

/// A copy of a block of these extents between two tensors of each individual.
Copy strided_copy(const Shape& extents, const Ref& result, const AxisStrides& result_strides,
                  const Ref& operand, const AxisStrides& operand_strides, bool per_individual) {
    Nest nest({result.stride, operand.stride}, per_individual);
    for (std::size_t axis = 0; axis < extents.extents().size(); ++axis) {
        nest.add(extents.extents()[axis], {result_strides[axis], operand_strides[axis]});
    }
    return {nest, result, operand};
}

/// Fills the whole result from an operand read with the given strides.
std::unique_ptr<Step> make_view_copy(const Site& site, const Ref& operand,
                                     const AxisStrides& operand_strides) {
    const Shape& shape = site.result().shape;
    std::vector<Copy> copies{strided_copy(shape, site.results[0], row_major_strides(shape), operand,
                                          operand_strides, site.per_individual)};
    return std::make_unique<CopyStep>(std::move(copies));
}

}  // namespace

void CopyStep::run(Frame& frame, std::int64_t count) const {
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

std::unique_ptr<Step> make_copy(const Ref& result, const Ref& operand, std::int64_t elements,
                                bool per_individual) {
    std::vector<Copy> copies{
        strided_copy(Shape{elements}, result, {1}, operand, {1}, per_individual)};
    return std::make_unique<CopyStep>(std::move(copies));
}

std::unique_ptr<Step> make_reshape(const Site& site) {
    return make_copy(site.results[0], site.operands[0], site.result().shape.elements(),
                     site.per_individual);
}

std::unique_ptr<Step> make_permute(const Site& site) {
    const auto& order = site.attribute<PermuteAttribute>().order;
    const AxisStrides own = row_major_strides(site.operand(0).shape);
    AxisStrides strides{};
    for (std::size_t axis = 0; axis < site.result().shape.extents().size(); ++axis) {
        strides[axis] = own[static_cast<std::size_t>(order[axis])];
    }
    return make_view_copy(site, site.operands[0], strides);
}

std::unique_ptr<Step> make_broadcast(const Site& site) {
    return make_view_copy(site, site.operands[0],
                          broadcast_strides(site.operand(0).shape, site.result().shape));
}

std::unique_ptr<Step> make_slice(const Site& site) {
    const auto& slice = site.attribute<SliceAttribute>();
    const AxisStrides strides = row_major_strides(site.operand(0).shape);
    return make_view_copy(
        site, moved(site.operands[0], slice.start * strides[static_cast<std::size_t>(slice.axis)]),
        strides);
}

std::unique_ptr<Step> make_flip(const Site& site) {
    const auto axis = static_cast<std::size_t>(site.attribute<AxisAttribute>().axis);
    const Shape& shape = site.operand(0).shape;
    AxisStrides strides = row_major_strides(shape);
    const std::int64_t last = (shape.extents()[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
    return make_view_copy(site, moved(site.operands[0], last), strides);
}

std::unique_ptr<Step> make_pad(const Site& site) {
    const auto& pad = site.attribute<PadAttribute>();
    const Shape& shape = site.operand(0).shape;
    const AxisStrides strides = row_major_strides(site.result().shape);
    Copy copy = strided_copy(
        shape, moved(site.results[0], pad.before * strides[static_cast<std::size_t>(pad.axis)]),
        strides, site.operands[0], row_major_strides(shape), site.per_individual);
    return std::make_unique<CopyStep>(std::vector<Copy>{copy}, site.results[0],
                                      site.result().shape.elements());
}

std::unique_ptr<Step> make_concat(const Site& site) {
    const auto axis = static_cast<std::size_t>(site.attribute<AxisAttribute>().axis);
    const AxisStrides strides = row_major_strides(site.result().shape);
    std::vector<Copy> copies;
    std::int64_t start = 0;
    for (std::size_t part = 0; part < site.operands.size(); ++part) {
        const Shape& shape = site.operand(part).shape;
        copies.push_back(strided_copy(shape, moved(site.results[0], start * strides[axis]), strides,
                                      site.operands[part], row_major_strides(shape),
                                      site.per_individual));
        start += shape.extents()[axis];
    }
    return std::make_unique<CopyStep>(std::move(copies));
}

}  // namespace cambrian::cpu

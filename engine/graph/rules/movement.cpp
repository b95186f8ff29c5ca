#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Shape rules of the ops that only move elements.
namespace cambrian::shape_rule {

Shape with_extent(const Shape& shape, int axis, std::int64_t extent) {
    std::array<std::int64_t, Shape::max_rank> extents{};
    for (int i = 0; i < shape.rank(); ++i)
        extents[static_cast<std::size_t>(i)] = i == axis ? extent : shape[i];
    return Shape(std::span(extents.data(), static_cast<std::size_t>(shape.rank())));
}

std::int64_t joined_extent(std::int64_t first, std::int64_t second) {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    if (first > most - second)
        reject(std::to_string(first) + " and " + std::to_string(second) +
                   " elements together are more than 2^62",
               "use smaller extents");
    return first + second;
}

// The count of positions is an integer as well: kernels look for the end of the last one.
void check_positions(std::int64_t extent) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (extent > most)
        reject("positions along an axis of extent " + std::to_string(extent) +
                   " are no 32-bit integers",
               "use at most " + std::to_string(most) + " elements");
}

void check_target(std::int64_t extent, const Shape& indices) {
    if (extent < 0)
        reject("the extent " + std::to_string(extent) + " is negative", "use 1 or more");
    if (extent == 0 && indices.elements() > 0)
        reject("no index fits an axis of extent 0", "give it at least one element");
    check_positions(extent);
}

Shape reshape(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const Shape& target = attribute<ShapeAttribute>(attributes).shape;
    const std::int64_t elements = operands[0].shape.elements();
    if (elements != target.elements())
        reject("it has " + std::to_string(elements) + " elements and " + target.text() + " has " +
                   std::to_string(target.elements()),
               "use a shape with as many elements");
    return target;
}

Shape permute(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& order = attribute<PermuteAttribute>(attributes).order;
    const Shape& shape = operands[0].shape;
    std::array<std::int64_t, Shape::max_rank> extents{};
    std::uint32_t seen = 0;
    for (int i = 0; i < shape.rank(); ++i) {
        const int axis = order[static_cast<std::size_t>(i)];
        check_axis(shape, axis);
        if ((seen >> axis & 1U) != 0)
            reject("axis " + std::to_string(axis) + " appears twice in the order",
                   "name each axis once");
        seen |= 1U << axis;
        extents[static_cast<std::size_t>(i)] = shape[axis];
    }
    return Shape(std::span(extents.data(), static_cast<std::size_t>(shape.rank())));
}

Shape broadcast(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const Shape& target = attribute<ShapeAttribute>(attributes).shape;
    const Shape& shape = operands[0].shape;
    bool fits = shape.rank() <= target.rank();
    for (int back = 1; fits && back <= shape.rank(); ++back)
        fits = shape[-back] == target[-back] || shape[-back] == 1;
    if (!fits)
        reject("it does not broadcast to " + target.text(),
               "only axes of extent 1 and new leading axes can be broadcast");
    return target;
}

Shape slice(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& [axis, start, length] = attribute<SliceAttribute>(attributes);
    const Shape& shape = operands[0].shape;
    check_axis(shape, axis);
    if (start < 0 || length < 0 || start > shape[axis] || length > shape[axis] - start)
        reject(std::to_string(length) + " elements from " + std::to_string(start) +
                   " on leave axis " + std::to_string(axis) + " of extent " +
                   std::to_string(shape[axis]),
               "keep start and start + length within the axis");
    return with_extent(shape, axis, length);
}

Shape pad(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& [axis, before, after] = attribute<PadAttribute>(attributes);
    const Shape& shape = operands[0].shape;
    check_axis(shape, axis);
    if (before < 0 || after < 0)
        reject(
            "the padding " + std::to_string(before) + ", " + std::to_string(after) + " is negative",
            "use slice to remove elements");
    return with_extent(shape, axis, joined_extent(joined_extent(shape[axis], before), after));
}

Shape concat(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    if (operands.size() == 0) reject("there is nothing to join", "pass at least one part");
    const int axis = attribute<AxisAttribute>(attributes).axis;
    const Shape& first = operands[0].shape;
    check_axis(first, axis);
    std::int64_t extent = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const Shape& shape = operands[i].shape;
        if (shape.rank() != first.rank() ||
            with_extent(shape, axis, 0) != with_extent(first, axis, 0))
            reject("part " + std::to_string(i) + " differs outside axis " + std::to_string(axis),
                   "make all other extents equal");
        extent = joined_extent(extent, shape[axis]);
    }
    return with_extent(first, axis, extent);
}

}  // namespace cambrian::shape_rule

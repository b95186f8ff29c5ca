#include "cambrian/engine/tensor/shape.hpp"

#include <algorithm>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 62;

std::string text_of(std::span<const std::int64_t> extents) {
    std::string text = "[";
    for (const std::int64_t extent : extents) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(extent);
    }
    return text + "]";
}

void check_element_count(std::span<const std::int64_t> extents) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) {
        if (extent < 0)
            throw ShapeError("shape " + text_of(extents) +
                             " has a negative extent (extents are counts) use 0 or more");
        const std::int64_t factor = std::max<std::int64_t>(extent, 1);
        if (count > max_elements / factor)
            throw ShapeError("shape " + text_of(extents) +
                             " is too large (more than 2^62 elements) use smaller extents");
        count *= factor;
    }
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> extents) {
    if (extents.size() > static_cast<std::size_t>(max_rank))
        throw ShapeError("shape " + text_of(extents) + " has too many axes (at most " +
                         std::to_string(max_rank) + " are supported) merge axes with reshape");
    check_element_count(extents);
    std::ranges::copy(extents, extents_.begin());
    rank_ = static_cast<int>(extents.size());
}

int Shape::normalise_axis(int axis) const {
    const int result = axis < 0 ? axis + rank_ : axis;
    if (result < 0 || result >= rank_)
        throw ShapeError("axis " + std::to_string(axis) + " is not an axis of shape " + text() +
                         " (its rank is " + std::to_string(rank_) + ") use an axis from " +
                         std::to_string(-rank_) + " to " + std::to_string(rank_ - 1));
    return result;
}

std::int64_t Shape::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents()) count *= extent;
    return count;
}

std::string Shape::text() const {
    return text_of(extents());
}

bool Shape::operator==(const Shape& other) const {
    return rank_ == other.rank_ && std::ranges::equal(extents(), other.extents());
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
    const int rank = std::max(a.rank(), b.rank());
    std::array<std::int64_t, Shape::max_rank> extents{};
    for (int back = 1; back <= rank; ++back) {
        const std::int64_t left = back <= a.rank() ? a[-back] : 1;
        const std::int64_t right = back <= b.rank() ? b[-back] : 1;
        if (left != right && left != 1 && right != 1)
            throw ShapeError("shapes " + a.text() + " and " + b.text() +
                             " do not broadcast (axis " + std::to_string(-back) + " has extents " +
                             std::to_string(left) + " and " + std::to_string(right) +
                             ") make the extents equal or one of them 1");
        extents[static_cast<std::size_t>(rank - back)] = left == 1 ? right : left;
    }
    return Shape(std::span(extents.data(), static_cast<std::size_t>(rank)));
}

std::array<std::int64_t, Shape::max_rank> row_major_strides(const Shape& shape) {
    std::array<std::int64_t, Shape::max_rank> strides{};
    std::int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        strides[static_cast<std::size_t>(axis)] = stride;
        stride *= shape[axis];
    }
    return strides;
}

}  // namespace cambrian

#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace cambrian {

/// Extents of a row-major tensor, rank 0 to 8, last axis contiguous. The population axis is never
/// part of a shape (see graph.hpp).
class Shape {
  public:
    static constexpr int max_rank = 8;

    Shape() = default;
    /// Throws ShapeError for a negative extent, a rank above max_rank or an element count above
    /// 2^62; an empty axis counts as one element there, so that strides fit as well.
    Shape(std::initializer_list<std::int64_t> extents)
        : Shape(std::span(extents.begin(), extents.size())) {}
    explicit Shape(std::span<const std::int64_t> extents);

    [[nodiscard]] int rank() const { return rank_; }
    /// Extent of an axis; a negative axis counts from the end. Throws ShapeError when out of range.
    [[nodiscard]] std::int64_t operator[](int axis) const {
        return extents_[static_cast<std::size_t>(normalise_axis(axis))];
    }
    /// 0 <= result < rank; throws ShapeError naming axis and shape when out of range.
    [[nodiscard]] int normalise_axis(int axis) const;
    [[nodiscard]] std::int64_t elements() const;
    [[nodiscard]] std::span<const std::int64_t> extents() const {
        return {extents_.data(), static_cast<std::size_t>(rank_)};
    }
    /// "[5, 4]"
    [[nodiscard]] std::string text() const;
    bool operator==(const Shape& other) const;

  private:
    std::array<std::int64_t, max_rank> extents_{};
    int rank_ = 0;
};

/// Counts a negative axis from the end; one that is out of range is left for the shape rule to
/// report.
[[nodiscard]] constexpr int from_start(int axis, int rank) {
    return axis < 0 && axis + rank >= 0 ? axis + rank : axis;
}

/// NumPy broadcasting of two shapes; throws ShapeError when they do not fit.
[[nodiscard]] Shape broadcast_shapes(const Shape& a, const Shape& b);

/// Element strides of a row-major tensor of that shape.
[[nodiscard]] std::array<std::int64_t, Shape::max_rank> row_major_strides(const Shape& shape);

/// A tensor of that shape seen as [outer, length, inner] around one axis.
struct AxisSplit {
    std::int64_t outer = 1;
    std::int64_t length = 1;
    std::int64_t inner = 1;

    AxisSplit(std::int64_t outer_positions, std::int64_t elements_along,
              std::int64_t inner_positions)
        : outer(outer_positions), length(elements_along), inner(inner_positions) {}
    AxisSplit(const Shape& shape, int axis) {
        const auto extents = shape.extents();
        for (int i = 0; i < shape.rank(); ++i) {
            const std::int64_t extent = extents[static_cast<std::size_t>(i)];
            (i < axis ? outer : i == axis ? length : inner) *= extent;
        }
    }
    /// Runs of elements along the axis.
    [[nodiscard]] std::int64_t lines() const { return outer * inner; }
    [[nodiscard]] std::int64_t elements() const { return outer * length * inner; }
};

}  // namespace cambrian

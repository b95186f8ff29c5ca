#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian {

/// A number for each axis of a window, or one for all of them. Files hold one as a plain number.
struct AxisValues {
    std::vector<std::int64_t> values;

    AxisValues() = default;
    AxisValues(std::int64_t all) : values{all} {}  // NOLINT: a number is meant for all axes
    AxisValues(std::initializer_list<std::int64_t> each) : values(each) {}

    [[nodiscard]] std::size_t size() const { return values.size(); }
    [[nodiscard]] auto begin() const { return values.begin(); }
    [[nodiscard]] auto end() const { return values.end(); }
    [[nodiscard]] std::int64_t operator[](int axis) const {
        return values[size() == 1 ? 0 : static_cast<std::size_t>(axis)];
    }
    /// Whether there is one number, or one for each of `rank` axes, none below `least`.
    [[nodiscard]] bool suits(int rank, std::int64_t least) const;
    /// As options of a window. Contract: it suits the rank of one.
    [[nodiscard]] PerAxis per_axis() const;

    bool operator==(const AxisValues&) const = default;
};

/// How a window slides over one axis.
struct WindowAxis {
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t dilation = 1;

    /// Windows on an axis of an extent; 0 or less when not even one fits.
    [[nodiscard]] std::int64_t windows(std::int64_t extent) const;
    /// Extent of what is scattered by windows of so many elements.
    [[nodiscard]] std::int64_t scattered(std::int64_t windows, std::int64_t output_padding) const;
};

/// Throws ShapeError unless the rows are [C, axes..] with `rank` axes after the channels.
void require_channels(std::string_view layer, const Shape& input, int rank);
/// Fills the channels of an input that were left at 0. Throws ShapeError when they differ.
void resolve_channels(std::string_view layer, std::string_view field, std::int64_t& channels,
                      const Shape& input);
/// [channels, extents..]; throws ShapeError naming the layer and its input when an extent is below
/// 1.
[[nodiscard]] Shape with_channels(std::string_view layer, const Shape& input, std::int64_t channels,
                                  const std::vector<std::int64_t>& extents);

}  // namespace cambrian

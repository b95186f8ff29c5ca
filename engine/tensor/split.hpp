#pragma once

#include <cstdint>

#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian::cpu {

/// A tensor seen as [outer, length, inner] around one axis.
struct Split {
    std::int64_t outer = 1;
    std::int64_t length = 1;
    std::int64_t inner = 1;

    Split(std::int64_t outer_positions, std::int64_t elements_along, std::int64_t inner_positions)
        : outer(outer_positions), length(elements_along), inner(inner_positions) {}
    Split(const Shape& shape, int axis) {
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

}  // namespace cambrian::cpu

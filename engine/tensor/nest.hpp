#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian {

/// Nested loops over up to four views of words, the population outermost, with neighbouring axes
/// merged wherever every view allows it.
struct Nest {
    static constexpr int max_axes = Shape::max_rank + 1;
    static constexpr std::size_t max_views = 4;
    using Strides = std::array<std::int64_t, max_views>;
    struct Axis {
        std::int64_t extent = 1;
        Strides strides{};
    };

    /// The first axis has `axes[0].extent` times the number of individuals.
    std::array<Axis, max_axes> axes{};
    int axis_count = 1;
    bool empty = false;

    /// Starts with the population axis, which has the views' strides between individuals. A nest
    /// that only ever runs for one individual merges it with any axis.
    Nest(const Strides& population_strides, bool per_individual);
    /// Adds the next inner axis.
    void add(std::int64_t extent, const Strides& strides);

    /// Runs of the innermost axis, of a nest of more than one.
    [[nodiscard]] std::int64_t rows(std::int64_t individuals) const {
        std::int64_t rows = individuals;
        for (int axis = 0; axis + 1 < axis_count; ++axis) {
            rows *= axes[static_cast<std::size_t>(axis)].extent;
        }
        return rows;
    }
    [[nodiscard]] const Axis& inner() const {
        return axes[static_cast<std::size_t>(axis_count) - 1];
    }

  private:
    bool population_is_one_;
};

/// Strides of an operand along the axes of a result it is broadcast to, right-aligned like NumPy.
[[nodiscard]] std::array<std::int64_t, Shape::max_rank> broadcast_strides(const Shape& operand,
                                                                          const Shape& result);

/// Values of one shape, one for each individual, `stride` words apart (0: all share one).
struct NestView {
    Shape shape;
    std::int64_t stride = 0;
};
/// The nest of an elementwise kernel: view 0 is the result, to whose shape the others are
/// broadcast.
[[nodiscard]] Nest elementwise_nest(std::span<const NestView> views, bool per_individual);

}  // namespace cambrian

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cambrian/engine/cpu/step.hpp"

namespace cambrian::cpu {

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

    [[nodiscard]] const Axis& inner() const {
        return axes[static_cast<std::size_t>(axis_count) - 1];
    }

  private:
    bool population_is_one_;
};

/// Words of the views of a nest at the start of an inner loop.
using Pointers = std::array<Word*, Nest::max_views>;

/// Calls row(pointers, length) for every run of the innermost axis.
template <class Row>
void for_each_row(const Nest& nest, std::int64_t count, Pointers pointers, Row&& row) {
    if (nest.empty) {
        return;
    }
    if (nest.axis_count == 1) {
        row(pointers, nest.axes[0].extent * count);
        return;
    }
    std::array<std::int64_t, Nest::max_axes> position{};
    const int outer = nest.axis_count - 1;
    const std::int64_t length = nest.inner().extent;
    for (;;) {
        row(pointers, length);
        int axis = outer - 1;
        for (;; --axis) {
            const auto index = static_cast<std::size_t>(axis);
            const Nest::Axis& a = nest.axes[index];
            const std::int64_t extent = axis == 0 ? a.extent * count : a.extent;
            for (std::size_t view = 0; view < Nest::max_views; ++view) {
                pointers[view] += a.strides[view];
            }
            if (++position[index] < extent) {
                break;
            }
            if (axis == 0) {
                return;
            }
            for (std::size_t view = 0; view < Nest::max_views; ++view) {
                pointers[view] -= extent * a.strides[view];
            }
            position[index] = 0;
        }
    }
}

/// Strides of an operand along the axes of a result it is broadcast to, right-aligned like NumPy.
[[nodiscard]] std::array<std::int64_t, Shape::max_rank> broadcast_strides(const Shape& operand,
                                                                          const Shape& result);

/// The nest of an elementwise step: view 0 is the result, then the operands.
[[nodiscard]] Nest elementwise_nest(const Site& site);

}  // namespace cambrian::cpu

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "cambrian/engine/cpu/execution/kernel.hpp"

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

/// Words of the views of a nest at the start of an inner loop.
using Pointers = std::array<Word*, Nest::max_views>;

/// Calls row(pointers, length) for `count` runs of the innermost axis from run `first` on, in a
/// nest of more than one axis.
template <class Row>
void for_rows(const Nest& nest, std::int64_t first, std::int64_t count, Pointers pointers,
              Row&& row) {
    std::array<std::int64_t, Nest::max_axes> position{};
    const int outer = nest.axis_count - 1;
    const std::int64_t length = nest.inner().extent;
    for (int axis = outer - 1; axis >= 0 && first > 0; --axis) {
        const auto index = static_cast<std::size_t>(axis);
        const Nest::Axis& a = nest.axes[index];
        position[index] = axis == 0 ? first : first % a.extent;
        first /= a.extent;
        for (std::size_t view = 0; view < Nest::max_views; ++view) {
            pointers[view] += position[index] * a.strides[view];
        }
    }
    for (std::int64_t done = 0;;) {
        row(pointers, length);
        if (++done == count) {
            return;
        }
        for (int axis = outer - 1;; --axis) {
            const auto index = static_cast<std::size_t>(axis);
            const Nest::Axis& a = nest.axes[index];
            for (std::size_t view = 0; view < Nest::max_views; ++view) {
                pointers[view] += a.strides[view];
            }
            if (++position[index] < a.extent || axis == 0) {
                break;
            }
            for (std::size_t view = 0; view < Nest::max_views; ++view) {
                pointers[view] -= a.extent * a.strides[view];
            }
            position[index] = 0;
        }
    }
}

/// Calls row(pointers, length) for every run of the innermost axis, in parts of many elements that
/// the threads of a team share.
template <class Row>
void for_each_row(const Nest& nest, std::int64_t count, const Team& team, Pointers pointers,
                  Row&& row) {
    constexpr std::int64_t part_elements = 32768;
    if (nest.empty) {
        return;
    }
    if (nest.axis_count == 1) {
        const std::int64_t length = nest.axes[0].extent * count;
        if (team.pool == nullptr || length <= part_elements) {
            row(pointers, length);
            return;
        }
        for_each_part(team, (length + part_elements - 1) / part_elements, [&](std::int64_t part) {
            const std::int64_t first = part * part_elements;
            Pointers at = pointers;
            for (std::size_t view = 0; view < Nest::max_views; ++view) {
                at[view] += first * nest.axes[0].strides[view];
            }
            row(at, std::min(part_elements, length - first));
        });
        return;
    }
    const std::int64_t rows = nest.rows(count);
    const std::int64_t part_rows = std::max<std::int64_t>(1, part_elements / nest.inner().extent);
    if (team.pool == nullptr || rows <= part_rows) {
        for_rows(nest, 0, rows, pointers, row);
        return;
    }
    for_each_part(team, (rows + part_rows - 1) / part_rows, [&](std::int64_t part) {
        const std::int64_t first = part * part_rows;
        for_rows(nest, first, std::min(part_rows, rows - first), pointers, row);
    });
}

/// Strides of an operand along the axes of a result it is broadcast to, right-aligned like NumPy.
[[nodiscard]] std::array<std::int64_t, Shape::max_rank> broadcast_strides(const Shape& operand,
                                                                          const Shape& result);

/// The nest of an elementwise step: view 0 is the result, then the operands.
[[nodiscard]] Nest elementwise_nest(const KernelContext& context);

}  // namespace cambrian::cpu

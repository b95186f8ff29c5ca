#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/tensor/nest.hpp"

namespace cambrian::cpu {

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

/// The nest of an elementwise kernel: view 0 is the result, then the operands.
[[nodiscard]] Nest elementwise_nest(const KernelContext& context);

/// A strided copy from view 1 to view 0 of a nest.
struct Copy {
    Nest nest;
    BufferView result;
    BufferView operand;
};

/// Copies words, after zeroing `zeroed_elements` words of each individual at `zeroed`.
class CopyKernel : public Kernel {
  public:
    explicit CopyKernel(std::vector<Copy> copies, const BufferView& zeroed = {},
                        std::int64_t zeroed_elements = 0)
        : copies_(std::move(copies)), zeroed_(zeroed), zeroed_elements_(zeroed_elements) {}

    void run(Frame& frame, std::int64_t count) const override;

  private:
    std::vector<Copy> copies_;
    BufferView zeroed_;
    std::int64_t zeroed_elements_;
};

/// A copy of `elements` consecutive words for each individual.
[[nodiscard]] std::unique_ptr<Kernel> make_copy(const BufferView& result, const BufferView& operand,
                                                std::int64_t elements, bool per_individual);

}  // namespace cambrian::cpu

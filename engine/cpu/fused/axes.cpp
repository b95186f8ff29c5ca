#include "cambrian/engine/cpu/fused/code.hpp"

#include <algorithm>

#include "cambrian/engine/cpu/execution/nest.hpp"

namespace cambrian::cpu {

namespace {

using Axis = FusedAxes::Axis;

/// The shape without leading extents of 1 that make its rank larger than that of the rows' shape.
Shape fitted(const Shape& shape, int rank) {
    const auto extents = shape.extents();
    const auto extra = static_cast<std::size_t>(std::max(0, shape.rank() - rank));
    return Shape(extents.subspan(extra));
}

/// Appends the next inner axis, to the last one where that leaves every view as it is.
void add(std::vector<Axis>& axes, Axis axis, std::size_t unmerged = 0) {
    if (axis.extent == 1) return;
    bool joins = axes.size() > unmerged;
    for (std::size_t view = 0; joins && view < axis.strides.size(); ++view)
        joins = axes.back().strides[view] == axis.extent * axis.strides[view];
    if (joins)
        axes.back() = {axes.back().extent * axis.extent, std::move(axis.strides)};
    else
        axes.push_back(std::move(axis));
}

/// The axes of one individual, merged; the last stays apart on request.
std::vector<Axis> own_axes(const KernelContext& context, const Shape& shape, bool last_apart) {
    const std::size_t views = context.operands.size() + 1;
    std::vector<std::array<std::int64_t, Shape::max_rank>> strides(views);
    strides[0] = broadcast_strides(fitted(context.result().shape, shape.rank()), shape);
    for (std::size_t view = 1; view < views; ++view)
        strides[view] =
            broadcast_strides(fitted(context.operand(view - 1).shape, shape.rank()), shape);
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < shape.extents().size(); ++i) {
        Axis axis{shape.extents()[i], {}};
        for (const auto& view : strides) axis.strides.push_back(view[i]);
        const bool apart = last_apart && i + 1 == shape.extents().size();
        if (apart)
            axes.push_back(std::move(axis));
        else
            add(axes, std::move(axis));
    }
    return axes;
}

}  // namespace

FusedAxes::FusedAxes(const KernelContext& context, const Shape& shape, bool reduces) {
    std::vector<Axis> own = own_axes(context, shape, reduces);
    const std::size_t views = context.operands.size() + 1;
    inner_.strides.assign(views, 0);
    if (!own.empty()) {
        inner_ = std::move(own.back());
        own.pop_back();
    }
    if (inner_.extent == 1) std::ranges::fill(inner_.strides, 0);
    Axis population;
    population.strides.assign(views, 0);
    if (context.per_individual) {
        population.strides[0] = context.results[0].stride;
        for (std::size_t view = 1; view < views; ++view)
            population.strides[view] = context.operands[view - 1].stride;
        outer_.push_back(std::move(population));
    } else if (own.empty()) {
        outer_.push_back(std::move(population));
    }
    for (Axis& axis : own) add(outer_, std::move(axis));
}

std::int64_t FusedAxes::rows(std::int64_t individuals) const {
    std::int64_t rows = individuals;
    for (const Axis& axis : outer_) rows *= axis.extent;
    return rows;
}

Level FusedAxes::level(std::size_t view) const {
    if (inner_.strides[view] != 0) return Level::full;
    const bool varies =
        std::ranges::any_of(outer_, [&](const Axis& axis) { return axis.strides[view] != 0; });
    return varies ? Level::row : Level::one;
}

void FusedAxes::offsets(std::size_t view, std::int64_t first, std::int64_t count,
                        std::int64_t* result) const {
    if (even()) {
        for (std::int64_t r = 0; r < count; ++r) result[r] = (first + r) * row_stride(view);
        return;
    }
    std::array<std::int64_t, Shape::max_rank + 1> position{};
    std::int64_t offset = 0;
    std::int64_t rest = first;
    for (std::size_t axis = outer_.size(); axis-- > 0;) {
        const std::int64_t extent = outer_[axis].extent;
        position[axis] = axis == 0 ? rest : rest % extent;
        rest /= extent;
        offset += position[axis] * outer_[axis].strides[view];
    }
    for (std::int64_t r = 0; r < count; ++r) {
        result[r] = offset;
        for (std::size_t axis = outer_.size(); axis-- > 0;) {
            offset += outer_[axis].strides[view];
            if (++position[axis] < outer_[axis].extent || axis == 0) break;
            offset -= outer_[axis].extent * outer_[axis].strides[view];
            position[axis] = 0;
        }
    }
}

}  // namespace cambrian::cpu

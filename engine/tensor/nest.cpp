#include "cambrian/engine/tensor/nest.hpp"

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

Nest::Nest(const Strides& population_strides, bool per_individual)
    : population_is_one_(!per_individual) {
    axes[0] = {1, population_strides};
}

void Nest::add(std::int64_t extent, const Strides& strides) {
    if (extent == 0) {
        empty = true;
    }
    if (extent == 1) {
        return;
    }
    Axis& last = axes[static_cast<std::size_t>(axis_count) - 1];
    bool merges = true;
    for (std::size_t view = 0; view < max_views; ++view) {
        merges = merges && last.strides[view] == extent * strides[view];
    }
    if (merges || (population_is_one_ && axis_count == 1 && last.extent == 1)) {
        last = {last.extent * extent, strides};
    } else {
        axes[static_cast<std::size_t>(axis_count++)] = {extent, strides};
    }
}

std::array<std::int64_t, Shape::max_rank> broadcast_strides(const Shape& operand,
                                                            const Shape& result) {
    std::array<std::int64_t, Shape::max_rank> strides{};
    const auto own = row_major_strides(operand);
    const int lead = result.rank() - operand.rank();
    for (int axis = 0; axis < operand.rank(); ++axis) {
        const auto index = static_cast<std::size_t>(axis);
        strides[static_cast<std::size_t>(axis + lead)] =
            operand.extents()[index] == 1 ? 0 : own[index];
    }
    return strides;
}

Nest elementwise_nest(std::span<const NestView> views, bool per_individual) {
    CAMBRIAN_ASSERT(!views.empty() && views.size() <= Nest::max_views);
    const Shape& shape = views[0].shape;
    Nest::Strides population{};
    std::array<std::array<std::int64_t, Shape::max_rank>, Nest::max_views> strides{};
    for (std::size_t view = 0; view < views.size(); ++view) {
        population[view] = views[view].stride;
        strides[view] = broadcast_strides(views[view].shape, shape);
    }
    Nest nest(population, per_individual);
    for (std::size_t axis = 0; axis < shape.extents().size(); ++axis)
        nest.add(shape.extents()[axis],
                 {strides[0][axis], strides[1][axis], strides[2][axis], strides[3][axis]});
    return nest;
}

}  // namespace cambrian

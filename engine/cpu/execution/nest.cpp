#include "cambrian/engine/cpu/execution/nest.hpp"

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::cpu {

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

Nest elementwise_nest(const KernelContext& context) {
    const Shape& shape = context.result().shape;
    const std::size_t views = context.operands.size() + 1;
    CAMBRIAN_ASSERT(views <= Nest::max_views);
    Nest::Strides population{context.results[0].stride};
    std::array<std::array<std::int64_t, Shape::max_rank>, Nest::max_views> strides{};
    strides[0] = row_major_strides(shape);
    for (std::size_t view = 1; view < views; ++view) {
        population[view] = context.operands[view - 1].stride;
        strides[view] = broadcast_strides(context.operand(view - 1).shape, shape);
    }
    Nest nest(population, context.per_individual);
    for (std::size_t axis = 0; axis < shape.extents().size(); ++axis) {
        nest.add(shape.extents()[axis],
                 {strides[0][axis], strides[1][axis], strides[2][axis], strides[3][axis]});
    }
    return nest;
}

}  // namespace cambrian::cpu

#include "cambrian/engine/graph/rules/gradient_context.hpp"

#include <algorithm>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"

namespace cambrian {
namespace {

/// Sums away the axes that broadcasting added or repeated.
Var sum_to_shape(Var gradient, const Shape& shape) {
    const auto extra = static_cast<std::size_t>(std::max(gradient.rank() - shape.rank(), 0));
    if (extra > 0) {
        const auto extents = gradient.shape().extents();
        std::vector<std::int64_t> folded(extents.begin() + static_cast<std::ptrdiff_t>(extra) - 1,
                                         extents.end());
        folded[0] = Shape(extents.first(extra)).elements();
        gradient = sum_along(reshape(gradient, Shape(std::span<const std::int64_t>(folded))), 0);
    }
    for (int axis = 0; axis < gradient.rank(); ++axis)
        if (shape.rank() == gradient.rank() && shape[axis] == 1 && gradient.shape()[axis] != 1)
            // Sums of single rows are computed with what gives the rows.
            gradient = extra > 0 || axis + 1 < gradient.rank() ? sum_along(gradient, axis, true)
                                                               : reduce_sum(gradient, axis, true);
    return broadcast(gradient, shape);
}

}  // namespace

Var GradientContext::upstream(std::size_t index) const {
    return arrived(index) ? upstream_[index] : filled(graph_, results_[index].shape(), 0.0);
}

void GradientContext::accumulate(std::size_t operand_index, Var gradient) {
    if (!wants(operand_index)) return;
    const Var fitted = sum_to_shape(gradient, operands_[operand_index].shape());
    Var& adjoint = adjoints_[operand_index];
    adjoint = adjoint.graph == nullptr ? fitted : adjoint + fitted;
}

}  // namespace cambrian

#include "cambrian/engine/graph/builders/index.hpp"

#include <array>

#include "cambrian/engine/graph/rules/op_rules.hpp"

namespace cambrian {
namespace {

Ordered results_of(Var first) {
    return {first, {first.graph, ValueId{static_cast<std::uint32_t>(first.id) + 1}}};
}

}  // namespace

Var cumsum(Var x, int axis, bool exclusive, bool reverse, Where where) {
    const CumsumAttribute attribute{from_start(axis, x.rank()), exclusive, reverse};
    return x.graph->add(Op::cumsum, std::span(&x, 1), attribute, where);
}

Ordered sort(Var x, int axis, bool descending, Where where) {
    const SortAttribute attribute{from_start(axis, x.rank()), descending};
    return results_of(x.graph->add(Op::sort, std::span(&x, 1), attribute, where));
}

Var argsort(Var x, int axis, bool descending, Where where) {
    return sort(x, axis, descending, where).indices;
}

Ordered topk(Var x, std::int64_t count, int axis, Where where) {
    const TopkAttribute attribute{from_start(axis, x.rank()), count};
    return results_of(x.graph->add(Op::topk, std::span(&x, 1), attribute, where));
}

Var flip(Var x, int axis, Where where) {
    const AxisAttribute attribute{from_start(axis, x.rank()), false};
    return x.graph->add(Op::flip, std::span(&x, 1), attribute, where);
}

Var take_along_axis(Var x, Var indices, int axis, Where where) {
    const std::array operands{x, indices};
    const AxisAttribute attribute{from_start(axis, x.rank()), false};
    return x.graph->add(Op::take_along_axis, operands, attribute, where);
}

Var scatter_add_along_axis(Var values, Var indices, std::int64_t extent, int axis, Where where) {
    const std::array operands{values, indices};
    const ScatterAlongAttribute attribute{from_start(axis, values.rank()), extent};
    return values.graph->add(Op::scatter_add_along_axis, operands, attribute, where);
}

Var one_hot(Var indices, std::int64_t depth, Where where) {
    const auto outer = indices.shape().extents();
    std::vector<std::int64_t> extents(outer.begin(), outer.end());
    extents.push_back(1);
    const Shape shape(extents);
    const Var ones = broadcast(constant(*indices.graph, 1.0), shape, where);
    return scatter_add_along_axis(ones, reshape(indices, shape, where), depth, -1, where);
}

}  // namespace cambrian

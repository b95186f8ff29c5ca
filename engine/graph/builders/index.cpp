#include "cambrian/engine/graph/builders/index.hpp"

#include <array>
#include <vector>

#include "cambrian/engine/graph/builders/movement.hpp"

namespace cambrian {
namespace {

/// The position, after an InputError where `rows` of them do not fit after it.
Var checked_position(Var position, std::int64_t length, std::int64_t rows, Where where) {
    return gather(iota(*position.graph, length - rows + 1, where), position, where);
}

}  // namespace

Var iota(Graph& graph, std::int64_t length, Where where) {
    return graph.add(Op::iota, {}, LengthAttribute{length}, where);
}

Var gather(Var table, Var indices, Where where) {
    const std::array operands{table, indices};
    return table.graph->add(Op::gather, operands, {}, where);
}

Var scatter_add(Var rows, Var indices, std::int64_t row_count, Where where) {
    const std::array operands{rows, indices};
    return rows.graph->add(Op::scatter_add, operands, LengthAttribute{row_count}, where);
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

Var put_row(Var rows, Var row, Var position, Where where) {
    const std::array operands{rows, row, position};
    return rows.graph->add(Op::put_row, operands, {}, where);
}

Var append_rows(Var cache, Var rows, Var position, Where where) {
    Graph& graph = *cache.graph;
    const std::int64_t length = cache.shape()[-2];
    const std::int64_t count = rows.shape()[-2];
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var first = checked_position(position, length, count, where);
    // Row i of the cache takes row i - first, where there is one.
    const Var source = at(iota(graph, length, where)) - at(first);
    const Var last = constant(graph, static_cast<double>(count - 1), ValueType::integer);
    const Var none = constant(graph, 0.0, ValueType::integer);
    const Var inside = logical_and(less(constant(graph, -1.0, ValueType::integer), source, where),
                                   less(source, at(last) + 1.0, where), where);
    Var taken = rows;
    if (count > 1) {
        std::vector<std::int64_t> indices(cache.shape().extents().size(), 1);
        indices[indices.size() - 2] = length;
        const Var clamped = min(max(source, none, where), last, where);
        taken = take_along_axis(
            rows, broadcast(reshape(clamped, Shape(indices), where), cache.shape(), where), -2,
            where);
    }
    return select(reshape(inside, {length, 1}, where), taken, cache, where);
}

}  // namespace cambrian

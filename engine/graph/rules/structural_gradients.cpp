#include <algorithm>
#include <vector>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Gradient rules of reductions, movement, contraction and indexing.
namespace cambrian::gradient_rule {
namespace {

/// A shape with one axis replaced by extent 1.
Shape with_unit_axis(const Shape& shape, int axis) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents[static_cast<std::size_t>(axis)] = 1;
    return Shape(std::span<const std::int64_t>(extents));
}

/// The upstream gradient of a reduction with the reduced axis kept as extent 1.
Var kept_upstream(const GradientContext& c) {
    const int axis = attribute<AxisAttribute>(c.attributes()).axis;
    return cambrian::reshape(c.upstream(), with_unit_axis(c.operand().shape(), axis));
}

/// [.., m, k] seen as one matrix [.. m, k].
Var as_matrix(Var x) {
    return cambrian::reshape(x, {x.shape().elements() / x.shape()[-1], x.shape()[-1]});
}

/// Rows [I.., ..] added at indices [I..] into those of a table. Where there are many times as many,
/// each part of them has sums of its own: one row of the table may be the target of nearly all.
Var add_rows(Var rows, Var indices, const Shape& table) {
    const std::int64_t added = indices.shape().elements();
    const std::int64_t count = table[0];
    // All sums are then no larger than the rows are.
    const std::int64_t parts = added / std::max(count, short_chain);
    if (added <= longest_chain || parts < 2 || rows.shape().elements() == 0)
        return cambrian::scatter_add(rows, indices, count);
    Graph& graph = *rows.graph;
    const std::int64_t each = (added + parts - 1) / parts;
    const Var part = cambrian::slice(repeat_each(iota(graph, parts), 0, each), 0, 0, added);
    // Taken from a list of those that there are: one that is not would be of another part.
    const Var index = cambrian::gather(iota(graph, count), cambrian::reshape(indices, {added}));
    const Var first = part * constant(graph, static_cast<double>(count), ValueType::integer);
    const std::int64_t width = rows.shape().elements() / added;
    const Var sums = cambrian::scatter_add(cambrian::reshape(rows, {added, width}), first + index,
                                           parts * count);
    return cambrian::reshape(sum_along(cambrian::reshape(sums, {parts, count, width}), 0), table);
}

}  // namespace

void reduce_sum(GradientContext& c) {
    c.accumulate(0, cambrian::broadcast(kept_upstream(c), c.operand().shape()));
}

void reduce_max(GradientContext& c) {
    const int axis = attribute<AxisAttribute>(c.attributes()).axis;
    const Shape& shape = c.operand().shape();
    std::vector<std::int64_t> along(static_cast<std::size_t>(shape.rank()), 1);
    along[static_cast<std::size_t>(axis)] = shape[axis];
    const Var positions = cambrian::reshape(iota(c.graph(), shape[axis]),
                                            Shape(std::span<const std::int64_t>(along)));
    const Var first = cambrian::reshape(argmax(c.operand(), axis), with_unit_axis(shape, axis));
    c.accumulate(
        0, cambrian::select(equal(positions, first), kept_upstream(c), constant(c.graph(), 0.0)));
}

void reshape(GradientContext& c) {
    c.accumulate(0, cambrian::reshape(c.upstream(), c.operand().shape()));
}

void permute(GradientContext& c) {
    const auto& order = attribute<PermuteAttribute>(c.attributes()).order;
    PermuteAttribute inverse;
    for (int i = 0; i < c.operand().rank(); ++i)
        inverse.order[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] =
            static_cast<std::int8_t>(i);
    const Var g = c.upstream();
    c.accumulate(0, c.graph().add(Op::permute, std::span(&g, 1), inverse));
}

void broadcast(GradientContext& c) {
    c.accumulate(0, c.upstream());
}

void slice(GradientContext& c) {
    const auto& [axis, start, length] = attribute<SliceAttribute>(c.attributes());
    c.accumulate(
        0, cambrian::pad(c.upstream(), axis, start, c.operand().shape()[axis] - start - length));
}

void pad(GradientContext& c) {
    const auto& [axis, before, after] = attribute<PadAttribute>(c.attributes());
    c.accumulate(0, cambrian::slice(c.upstream(), axis, before, c.operand().shape()[axis]));
}

void concat(GradientContext& c) {
    const int axis = attribute<AxisAttribute>(c.attributes()).axis;
    std::int64_t start = 0;
    for (std::size_t part = 0; part < c.operand_count(); ++part) {
        const std::int64_t length = c.operand(part).shape()[axis];
        if (c.wants(part)) c.accumulate(part, cambrian::slice(c.upstream(), axis, start, length));
        start += length;
    }
}

void matmul(GradientContext& c) {
    const auto& [left_flag, right_flag] = attribute<MatmulAttribute>(c.attributes());
    const Var a = c.operand(0);
    const Var b = c.operand(1);
    const Var g = c.upstream();
    if (c.wants(0))
        c.accumulate(0, left_flag ? cambrian::matmul(b, g, right_flag, true)
                                  : cambrian::matmul(g, b, false, !right_flag));
    if (!c.wants(1)) return;
    // One weight matrix under many leading axes: fold them into one contraction instead of a sum of
    // many.
    const bool fold = b.rank() == 2 && a.rank() > 2 && !left_flag && g.shape().elements() > 0 &&
                      a.shape().elements() > 0;
    const Var x = fold ? as_matrix(a) : a;
    const Var y = fold ? as_matrix(g) : g;
    c.accumulate(1, right_flag ? cambrian::matmul(y, x, true, left_flag)
                               : cambrian::matmul(x, y, !left_flag, false));
}

void gather(GradientContext& c) {
    c.accumulate(0, add_rows(c.upstream(), c.operand(1), c.operand(0).shape()));
}

void scatter_add(GradientContext& c) {
    c.accumulate(0, cambrian::gather(c.upstream(), c.operand(1)));
}

}  // namespace cambrian::gradient_rule

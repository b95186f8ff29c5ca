#include "cambrian/engine/graph/builders/movement.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"

namespace cambrian {
namespace {

[[noreturn]] void fail(Op op, Var x, const std::string& reason, Where where) {
    fail_node(op, std::span(&x, 1), reason, where);
}

/// The axis of x between all axes before and all after it.
struct AxisExtents {
    int axis = 0;
    std::int64_t before = 1;
    std::int64_t extent = 1;
    std::int64_t after = 1;
};
AxisExtents extents_around(Var x, int axis, Where where) {
    AxisExtents extents{.axis = from_start(axis, x.rank())};
    checked(Op::broadcast, x, where, [&] { check_axis(x.shape(), extents.axis); });
    extents.extent = x.shape()[extents.axis];
    for (int i = 0; i < extents.axis; ++i) extents.before *= x.shape()[i];
    for (int i = extents.axis + 1; i < x.rank(); ++i) extents.after *= x.shape()[i];
    return extents;
}

/// [before, after] with every row `count` times, in the shape of x but for its axis.
Var repeat_rows(Var x, int axis, std::int64_t count, std::int64_t before, std::int64_t after,
                Where where) {
    if (count < 1)
        fail(Op::broadcast, x,
             "(it is to be repeated " + std::to_string(count) + " times) use a count of 1 or more",
             where);
    const Var rows = reshape(x, Shape{before, 1, after}, where);
    const Var repeated = broadcast(rows, Shape{before, count, after}, where);
    std::vector<std::int64_t> extents(x.shape().extents().begin(), x.shape().extents().end());
    extents[static_cast<std::size_t>(axis)] *= count;
    return reshape(repeated, Shape(extents), where);
}

}  // namespace

Var reshape(Var x, std::initializer_list<std::int64_t> extents, Where where) {
    std::vector<std::int64_t> full(extents);
    const auto open = std::ranges::count(full, -1);
    if (open > 1)
        fail(Op::reshape, x, "(more than one extent is -1) leave at most one extent open", where);
    if (std::ranges::any_of(full, [](std::int64_t extent) { return extent < -1; }))
        fail(Op::reshape, x, "(an extent is negative) use 0 or more, or one -1", where);
    const auto shape = [&] {
        return checked(Op::reshape, x, where,
                       [&] { return Shape(std::span<const std::int64_t>(full)); });
    };
    if (open == 1) {
        std::int64_t& unknown = *std::ranges::find(full, -1);
        unknown = 1;
        const std::int64_t known = shape().elements();
        const std::int64_t elements = x.shape().elements();
        if (known == 0 || elements % known != 0)
            fail(Op::reshape, x,
                 "(its " + std::to_string(elements) + " elements are not a multiple of " +
                     std::to_string(known) + ") change the other extents",
                 where);
        unknown = elements / known;
    }
    return reshape(x, shape(), where);
}

Var reshape(Var x, const Shape& shape, Where where) {
    if (shape == x.shape()) return x;
    return x.graph->add(Op::reshape, std::span(&x, 1), ShapeAttribute{shape}, where);
}

Var permute(Var x, std::initializer_list<int> order, Where where) {
    if (order.size() != static_cast<std::size_t>(x.rank()))
        fail(Op::permute, x,
             "(the order names " + std::to_string(order.size()) + " of " +
                 std::to_string(x.rank()) + " axes) name each axis once",
             where);
    PermuteAttribute attribute;
    std::ranges::transform(order, attribute.order.begin(), [&](int axis) {
        return static_cast<std::int8_t>(from_start(axis, x.rank()));
    });
    return x.graph->add(Op::permute, std::span(&x, 1), attribute, where);
}

Var transpose(Var x, Where where) {
    if (x.rank() < 2)
        fail(Op::permute, x, "(transpose needs at least two axes) reshape it to a matrix", where);
    PermuteAttribute attribute;
    for (int i = 0; i < x.rank(); ++i)
        attribute.order[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i);
    const auto last = static_cast<std::size_t>(x.rank()) - 1;
    std::swap(attribute.order[last], attribute.order[last - 1]);
    return x.graph->add(Op::permute, std::span(&x, 1), attribute, where);
}

Var broadcast(Var x, const Shape& shape, Where where) {
    if (shape == x.shape()) return x;
    return x.graph->add(Op::broadcast, std::span(&x, 1), ShapeAttribute{shape}, where);
}

Var filled(Graph& graph, const Shape& shape, double value) {
    return broadcast(constant(graph, value), shape);
}

Var slice(Var x, int axis, std::int64_t start, std::int64_t length, Where where) {
    const int from = from_start(axis, x.rank());
    return x.graph->add(Op::slice, std::span(&x, 1), SliceAttribute{from, start, length}, where);
}

Var pad(Var x, int axis, std::int64_t before, std::int64_t after, Where where) {
    const int from = from_start(axis, x.rank());
    return x.graph->add(Op::pad, std::span(&x, 1), PadAttribute{from, before, after}, where);
}

Var concat(std::span<const Var> parts, int axis, Where where) {
    CAMBRIAN_ASSERT(!parts.empty());
    return parts[0].graph->add(Op::concat, parts, AxisAttribute{from_start(axis, parts[0].rank())},
                               where);
}

Var stack(std::span<const Var> parts, Where where) {
    std::vector<Var> rows;
    for (const Var part : parts) {
        std::vector<std::int64_t> extents{1};
        extents.insert(extents.end(), part.shape().extents().begin(), part.shape().extents().end());
        rows.push_back(reshape(part, Shape(std::span<const std::int64_t>(extents)), where));
    }
    return concat(rows, 0, where);
}

Var flip(Var x, int axis, Where where) {
    const AxisAttribute attribute{from_start(axis, x.rank()), false};
    return x.graph->add(Op::flip, std::span(&x, 1), attribute, where);
}

Var tile(Var x, int axis, std::int64_t count, Where where) {
    const auto [positive, before, extent, after] = extents_around(x, axis, where);
    return repeat_rows(x, positive, count, before, extent * after, where);
}

Var repeat_each(Var x, int axis, std::int64_t count, Where where) {
    const auto [positive, before, extent, after] = extents_around(x, axis, where);
    return repeat_rows(x, positive, count, before * extent, after, where);
}

}  // namespace cambrian

#include "cambrian/engine/graph/builders/reduce.hpp"

#include "cambrian/engine/graph/builders/movement.hpp"

namespace cambrian {
namespace {

Ordered results_of(Var first) {
    return {first, {first.graph, ValueId{static_cast<std::uint32_t>(first.id) + 1}}};
}

Var along(Op op, Var x, int axis, bool keep, Where where) {
    return x.graph->add(op, std::span(&x, 1), AxisAttribute{from_start(axis, x.rank()), keep},
                        where);
}

/// In the opposite order: -x, and for integers -1 - x, which cannot overflow.
Var reversed(Var x, Where where) {
    if (x.info().type == ValueType::real) return -Operand(x, where);
    return Operand(constant(*x.graph, -1.0, ValueType::integer), where) - x;
}

/// Sum along the middle axis of [outer, length, inner], in chains where it is long: [outer, inner].
Var sum_in_chains(Var x, Where where) {
    std::vector<Var> rests;  // What whole chains leave over.
    while (x.shape()[1] > longest_chain) {
        const std::int64_t length = x.shape()[1];
        const std::int64_t chains = length / short_chain;
        const std::int64_t whole = chains * short_chain;
        if (whole < length)
            rests.push_back(reduce_sum(slice(x, 1, whole, length - whole, where), 1, false, where));
        const Shape parts{x.shape()[0], chains, short_chain, x.shape()[2]};
        x = reduce_sum(reshape(slice(x, 1, 0, whole, where), parts, where), 2, false, where);
    }
    Var sum = reduce_sum(x, 1, false, where);
    for (const Var rest : rests) sum = Operand(sum, where) + rest;
    return sum;
}

}  // namespace

Var reduce_sum(Var x, int axis, bool keep, Where where) {
    return along(Op::reduce_sum, x, axis, keep, where);
}

Var reduce_max(Var x, int axis, bool keep, Where where) {
    return along(Op::reduce_max, x, axis, keep, where);
}

Var argmax(Var x, int axis, Where where) {
    return along(Op::argmax, x, axis, false, where);
}

Var reduce_mean(Var x, int axis, bool keep, Where where) {
    const Var sum = reduce_sum(x, axis, keep, where);
    const auto count = static_cast<double>(x.shape()[axis]);
    return sum * Operand(constant(*x.graph, 1.0 / count), where);
}

Var sum_along(Var x, int axis, bool keep, Where where) {
    const int at = from_start(axis, x.rank());
    const Shape shape = x.shape();
    if (at < 0 || at >= shape.rank() || shape[at] <= longest_chain)
        return reduce_sum(x, at, keep, where);
    const auto before = shape.extents().first(static_cast<std::size_t>(at));
    const auto after = shape.extents().subspan(static_cast<std::size_t>(at) + 1);
    const Var rows =
        reshape(x, {Shape(before).elements(), shape[at], Shape(after).elements()}, where);
    std::vector<std::int64_t> rest(before.begin(), before.end());
    if (keep) rest.push_back(1);
    rest.insert(rest.end(), after.begin(), after.end());
    return reshape(sum_in_chains(rows, where), Shape(std::span<const std::int64_t>(rest)), where);
}

Var sum_all(Var x, Where where) {
    while (x.rank() > 0) x = sum_along(x, -1, false, where);
    return x;
}

Var mean_all(Var x, Where where) {
    const auto count = static_cast<double>(x.shape().elements());
    return Operand(sum_all(x, where), where) * (1.0 / count);
}

Var reduce_min(Var x, int axis, bool keep, Where where) {
    return reversed(reduce_max(reversed(x, where), axis, keep, where), where);
}

Var argmin(Var x, int axis, Where where) {
    return argmax(reversed(x, where), axis, where);
}

Var reduce_any(Var x, int axis, bool keep, Where where) {
    const Var true_ones = logical_and(x, x, where);  // Booleans only.
    const Var count = reduce_sum(cast(true_ones, ValueType::integer, where), axis, keep, where);
    return cast(count, ValueType::boolean, where);
}

Var reduce_all(Var x, int axis, bool keep, Where where) {
    return logical_not(reduce_any(logical_not(x, where), axis, keep, where), where);
}

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

}  // namespace cambrian

#include "cambrian/engine/graph/builders/softmax.hpp"

#include <limits>
#include <vector>

#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"

namespace cambrian {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

Exponentials exponentials(Var x, int axis, Where where) {
    Graph& graph = *x.graph;
    const Var largest = stop_gradient(reduce_max(x, axis, true, where), where);
    Exponentials e;
    e.shift = select(equal(largest, constant(graph, -infinity), where), constant(graph, 0.0),
                     largest, where);
    e.values = exp(Operand(x, where) - Operand(e.shift, where), where);
    e.sum = reduce_sum(e.values, axis, true, where);
    return e;
}

Var reciprocal_of_sum(const Exponentials& e, Where where) {
    Graph& graph = *e.sum.graph;
    const Var none = equal(e.sum, constant(graph, 0.0), where);
    return reciprocal(select(none, constant(graph, 1.0), e.sum, where), where);
}

Var softmax(Var x, int axis, Where where) {
    const Var shifted =
        Operand(x, where) - Operand(stop_gradient(reduce_max(x, axis, true, where), where));
    const Var weights = exp(shifted, where);
    return Operand(weights, where) *
           Operand(reciprocal(reduce_sum(weights, axis, true, where), where));
}

Var log_softmax(Var x, int axis, Where where) {
    const Var shifted =
        Operand(x, where) - Operand(stop_gradient(reduce_max(x, axis, true, where), where));
    return Operand(shifted, where) -
           Operand(log(reduce_sum(exp(shifted, where), axis, true, where), where));
}

Var scaled_softmax(Var x, double scale, int axis, Where where) {
    return softmax(Operand(x, where) * scale, axis, where);
}

Var masked_softmax(Var x, Var mask, int axis, Where where) {
    const Var scores = select(mask, x, constant(*x.graph, -infinity), where);
    const Exponentials e = exponentials(scores, axis, where);
    return Operand(e.values, where) * Operand(reciprocal_of_sum(e, where), where);
}

Var causal_softmax(Var scores, Where where) {
    Graph& graph = *scores.graph;
    const std::int64_t queries = scores.shape()[-2];
    const std::int64_t keys = scores.shape()[-1];
    const Var end =
        Operand(iota(graph, queries, where), where) + static_cast<double>(1 + keys - queries);
    const Var sees = less(iota(graph, keys, where), reshape(end, {queries, 1}, where), where);
    return masked_softmax(scores, sees, -1, where);
}

Var log_sum_exp(Var x, int axis, bool keep, Where where) {
    const Exponentials e = exponentials(x, axis, where);
    const Var kept = Operand(e.shift, where) + Operand(log(e.sum, where), where);
    if (keep) return kept;
    std::vector<std::int64_t> extents(x.shape().extents().begin(), x.shape().extents().end());
    extents.erase(extents.begin() + x.shape().normalise_axis(axis));
    return reshape(kept, Shape(std::span<const std::int64_t>(extents)), where);
}

}  // namespace cambrian

#include "cambrian/engine/graph/builders/attention.hpp"

#include <cmath>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/exponentials.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/norms.hpp"

namespace cambrian {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Extents = std::vector<std::int64_t>;

Extents extents_of(const Shape& shape) {
    return {shape.extents().begin(), shape.extents().end()};
}

Var reshaped(Var x, const Extents& extents, Where where) {
    return reshape(x, Shape(std::span<const std::int64_t>(extents)), where);
}

/// Pairs of x turned by angles: see rope. x is as wide as all pairs.
Var turn_pairs(Var x, const RotaryTables& tables, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const std::int64_t half = x.shape()[-1] / 2;
    Extents pairs = extents_of(x.shape());
    pairs.back() = 2;
    pairs.push_back(half);
    const auto beside_pairs = [&](Var table) {
        Extents extents = extents_of(table.shape());
        extents.insert(extents.end() - 1, 1);
        return reshaped(table, extents, where);
    };
    const Var halves = reshaped(x, pairs, where);
    const Var signs = x.graph->constant(Tensor(ValueType::real, {2, 1}, {-1.0, 1.0}));
    const Var sine = at(beside_pairs(tables.sine)) * at(signs);
    const Var turned = at(at(halves) * at(beside_pairs(tables.cosine))) +
                       at(at(flip(halves, -2, where)) * at(sine));
    return reshape(turned, x.shape(), where);
}

/// The position, after an InputError where `rows` of them do not fit after it.
Var checked_position(Var position, std::int64_t length, std::int64_t rows, Where where) {
    return gather(iota(*position.graph, length - rows + 1, where), position, where);
}

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

Attention attention(Var q, Var k, Var v, const AttentionOptions& options, Where where) {
    AttentionAttribute attribute;
    attribute.causal = options.causal;
    attribute.valid = options.valid.has_value();
    const auto width = static_cast<double>(q.rank() > 0 ? q.shape()[-1] : 1);
    attribute.scale = options.scale.value_or(1.0 / std::sqrt(std::max(width, 1.0)));
    std::vector<Var> operands{q, k, v};
    if (options.valid) operands.push_back(*options.valid);
    const Var output = q.graph->add(Op::attention, operands, attribute, where);
    return {output, {q.graph, ValueId{static_cast<std::uint32_t>(output.id) + 1}}};
}

RotaryTables rotary_tables(Graph& graph, std::int64_t length, std::int64_t rotary, double base) {
    if (length < 1 || rotary < 2 || rotary % 2 != 0 || !(base > 0.0))
        throw ShapeError("rotary tables of " + std::to_string(length) + " positions and width " +
                         std::to_string(rotary) +
                         " cannot be made (elements turn in pairs) use at least one position, an "
                         "even width and a positive base");
    const Shape shape{length, rotary / 2};
    Tensor cosine(ValueType::real, shape);
    Tensor sine(ValueType::real, shape);
    for (std::int64_t position = 0; position < length; ++position)
        for (std::int64_t pair = 0; pair < rotary / 2; ++pair) {
            const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(rotary);
            const double angle = static_cast<double>(position) * std::pow(base, exponent);
            const auto at = static_cast<std::size_t>(position * (rotary / 2) + pair);
            cosine.elements[at] = std::cos(angle);
            sine.elements[at] = std::sin(angle);
        }
    return {graph.constant(std::move(cosine)), graph.constant(std::move(sine))};
}

RotaryTables at_positions(const RotaryTables& tables, Var positions, Where where) {
    return {gather(tables.cosine, positions, where), gather(tables.sine, positions, where)};
}

Var rope(Var x, const RotaryTables& tables, Where where) {
    const std::int64_t rotary = 2 * tables.cosine.shape()[-1];
    const std::int64_t width = x.shape()[-1];
    if (rotary == width) return turn_pairs(x, tables, where);
    const std::array parts{turn_pairs(slice(x, -1, 0, rotary, where), tables, where),
                           slice(x, -1, rotary, width - rotary, where)};
    return concat(parts, -1, where);
}

QueriesAndKeys qk_norm_rope(Var q, Var k, Var q_gain, Var k_gain, const RotaryTables& tables,
                            double epsilon, Where where) {
    return {rope(rms_norm(q, q_gain, epsilon, where), tables, where),
            rope(rms_norm(k, k_gain, epsilon, where), tables, where)};
}

Var swiglu_gate(Var gate, Var up, Where where) {
    return Operand(activate(gate, Activation::silu, where), where) * Operand(up, where);
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
        const Extents own = extents_of(cache.shape());
        Extents indices(own.size(), 1);
        indices[own.size() - 2] = length;
        const Var clamped = min(max(source, none, where), last, where);
        taken = take_along_axis(
            rows, broadcast(reshaped(clamped, indices, where), cache.shape(), where), -2, where);
    }
    return select(reshape(inside, {length, 1}, where), taken, cache, where);
}

}  // namespace cambrian

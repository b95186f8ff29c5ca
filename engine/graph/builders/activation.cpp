#include "cambrian/engine/graph/builders/activation.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"

namespace cambrian {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Var relu(Operand x) {
    return max(x.value, constant(*x.value.graph, 0.0), x.where);
}

Var silu(Operand x) {
    return x * Operand(sigmoid(x.value, x.where), x.where);
}

Var gelu(Operand x) {
    const auto at = [&](Var value) { return Operand(value, x.where); };
    const Var cube = at(x * x) * x;
    const Var inner = x + at(0.044715 * at(cube));
    const Var bend = tanh(std::sqrt(2.0 / std::numbers::pi) * at(inner), x.where);
    const Var half = 0.5 * x;
    const Var lifted = 1.0 + at(bend);
    return at(half) * at(lifted);
}

Var between(Operand x, double low, double high) {
    Graph& graph = *x.value.graph;
    return min(max(x.value, constant(graph, low), x.where), constant(graph, high), x.where);
}

Var steep_sigmoid(Operand x) {
    return sigmoid(4.9 * x, x.where);
}

Var square_of(Operand x) {
    return x * x;
}

Var gauss(Operand x) {
    return exp(-Operand(square_of(x), x.where), x.where);
}

Var hat(Operand x) {
    const Var height = 1.0 - Operand(abs(x.value, x.where), x.where);
    return max(height, constant(*x.value.graph, 0.0), x.where);
}

Var step(Operand x) {
    Graph& graph = *x.value.graph;
    const Var positive = less(constant(graph, 0.0), x.value, x.where);
    return select(positive, constant(graph, 1.0), constant(graph, 0.0), x.where);
}

/// In the order of the codes.
constexpr std::array<Var (*)(Operand), activation_names.size()> activations{
    [](Operand x) { return x.value; },
    relu,
    silu,
    gelu,
    [](Operand x) { return tanh(x.value, x.where); },
    [](Operand x) { return sigmoid(x.value, x.where); },
    steep_sigmoid,
    [](Operand x) { return sin(x.value, x.where); },
    [](Operand x) { return cos(x.value, x.where); },
    gauss,
    [](Operand x) { return abs(x.value, x.where); },
    square_of,
    [](Operand x) { return Operand(square_of(x), x.where) * x; },
    [](Operand x) { return elu(x.value, 1.0, x.where); },
    [](Operand x) { return leaky_relu(x.value, 0.01, x.where); },
    [](Operand x) { return softplus(x.value, x.where); },
    [](Operand x) { return between(x, -1.0, 1.0); },
    hat,
    [](Operand x) { return sign(x.value, x.where); },
    step,
    [](Operand x) { return between(x, 0.0, 6.0); },
    [](Operand x) { return hard_swish(x.value, x.where); },
    [](Operand x) { return mish(x.value, x.where); },
    [](Operand x) { return exact_gelu(x.value, x.where); },
};

}  // namespace

Var activate(Var x, Activation activation, Where where) {
    return activations[static_cast<std::size_t>(activation)]({x, where});
}

Var activate(Var x, Var code, ActivationSet set, Where where) {
    const Node& producer = x.graph->producer(code.id);
    if (producer.op == Op::constant && code.rank() == 0 && code.info().type == ValueType::integer) {
        const double value = std::get<ConstantAttribute>(producer.attributes).value->elements[0];
        const std::int32_t known = known_code(static_cast<std::int32_t>(value), ActivationSet::any);
        return activate(x, static_cast<Activation>(known), where);
    }
    const std::array operands{x, code};
    return x.graph->add(activation_op(set), operands, {}, where);
}

SoftplusTerms softplus_terms(Var x, Where where) {
    // At 0, and for NaN, both choices take x: the slope there is 1 - 1/2.
    const Var minus_magnitude = min(x, -Operand(x, where), where);
    const Var bend = log1p(exp(minus_magnitude, where), where);
    return {.ramp = max(constant(*x.graph, 0.0), x, where), .bend = bend};
}

Var softplus(Var x, Where where) {
    const SoftplusTerms terms = softplus_terms(x, where);
    return Operand(terms.ramp, where) + Operand(terms.bend, where);
}

Var leaky_relu(Var x, double slope, Where where) {
    return select(less(constant(*x.graph, 0.0, x.info().type), x, where), x,
                  slope * Operand(x, where), where);
}

Var elu(Var x, double scale, Where where) {
    // Limited, so that the side not chosen is finite and its gradient 0.
    const Var zero = constant(*x.graph, 0.0);
    const Var below = expm1(min(zero, x, where), where);
    return select(less(zero, x, where), x, scale * Operand(below, where), where);
}

Var clipped_relu(Var x, double ceiling, Where where) {
    return clamp(x, 0.0, ceiling, where);
}

Var hard_swish(Var x, Where where) {
    const Operand moved(x + Operand(constant(*x.graph, 3.0), where), where);
    const Operand lifted(x * Operand(between(moved, 0.0, 6.0), where), where);
    return (1.0 / 6.0) * lifted;
}

Var mish(Var x, Where where) {
    return x * Operand(tanh(softplus(x, where), where), where);
}

Var exact_gelu(Var x, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var scaled = (std::numbers::sqrt2 / 2.0) * at(x);
    const Var twice_probability = 1.0 + at(erf(scaled, where));
    return at(0.5 * at(x)) * twice_probability;
}

Var swiglu_gate(Var gate, Var up, Where where) {
    return Operand(activate(gate, Activation::silu, where), where) * Operand(up, where);
}

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

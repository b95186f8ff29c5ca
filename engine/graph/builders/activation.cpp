#include "cambrian/engine/graph/builders/activation.hpp"

#include <array>
#include <cmath>
#include <numbers>

namespace cambrian {
namespace {

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

}  // namespace

Var activate(Var x, Activation activation, Where where) {
    switch (activation) {
        case Activation::identity:
            return x;
        case Activation::relu:
            return relu({x, where});
        case Activation::silu:
            return silu({x, where});
        case Activation::gelu:
            return gelu({x, where});
        case Activation::tanh:
            return tanh(x, where);
        case Activation::sigmoid:
            return sigmoid(x, where);
    }
    return x;
}

Var activate(Var x, Var code, Where where) {
    const Node& producer = x.graph->producer(code.id);
    if (producer.op == Op::constant && code.rank() == 0 && code.info().type == ValueType::integer) {
        const double value = std::get<ConstantAttribute>(producer.attributes).value->elements[0];
        const bool known = value >= 0.0 && value < static_cast<double>(activation_names.size());
        return activate(
            x, known ? static_cast<Activation>(static_cast<int>(value)) : Activation::identity,
            where);
    }
    const std::array operands{x, code};
    return x.graph->add(Op::activate, operands, {}, where);
}

Var softplus(Var x, Where where) {
    // At 0, and for NaN, both choices take x: the slope there is 1 - 1/2.
    const Var positive = max(constant(*x.graph, 0.0), x, where);
    const Var minus_magnitude = min(x, -Operand(x, where), where);
    return Operand(positive, where) + log1p(exp(minus_magnitude, where), where);
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

Var exact_gelu(Var x, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var scaled = (std::numbers::sqrt2 / 2.0) * at(x);
    const Var twice_probability = 1.0 + at(erf(scaled, where));
    return at(0.5 * at(x)) * twice_probability;
}

Var swiglu_gate(Var gate, Var up, Where where) {
    return Operand(activate(gate, Activation::silu, where), where) * Operand(up, where);
}

}  // namespace cambrian

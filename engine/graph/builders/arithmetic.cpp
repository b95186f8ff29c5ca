#include "cambrian/engine/graph/builders/arithmetic.hpp"

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Elementwise vocabulary and sources.
namespace cambrian {
namespace {

Var unary(Op op, Var x, Where where) {
    return x.graph->add(op, std::span(&x, 1), {}, where);
}

Var binary(Op op, Var a, Var b, Where where) {
    const std::array operands{a, b};
    return a.graph->add(op, operands, {}, where);
}

/// A number beside an operand: an integer constant when both are integers, so that x + 1 needs no
/// cast.
Var number(Var beside, double value) {
    const bool integral =
        beside.info().type == ValueType::integer && is_element(ValueType::integer, value);
    return constant(*beside.graph, value, integral ? ValueType::integer : ValueType::real);
}

}  // namespace

Var constant(Graph& graph, double value, ValueType type) {
    return graph.constant(Tensor::scalar(value, type));
}

Var operator-(Operand x) {
    return unary(Op::neg, x.value, x.where);
}
Var operator+(Operand a, Operand b) {
    return binary(Op::add, a.value, b.value, a.where);
}
Var operator-(Operand a, Operand b) {
    return binary(Op::sub, a.value, b.value, a.where);
}
Var operator*(Operand a, Operand b) {
    return binary(Op::mul, a.value, b.value, a.where);
}
Var operator/(Operand a, Operand b) {
    return binary(Op::div, a.value, b.value, a.where);
}
Var operator+(Operand a, double b) {
    return binary(Op::add, a.value, number(a.value, b), a.where);
}
Var operator+(double a, Operand b) {
    return binary(Op::add, number(b.value, a), b.value, b.where);
}
Var operator-(Operand a, double b) {
    return binary(Op::sub, a.value, number(a.value, b), a.where);
}
Var operator-(double a, Operand b) {
    return binary(Op::sub, number(b.value, a), b.value, b.where);
}
Var operator*(Operand a, double b) {
    return binary(Op::mul, a.value, number(a.value, b), a.where);
}
Var operator*(double a, Operand b) {
    return binary(Op::mul, number(b.value, a), b.value, b.where);
}
Var operator/(Operand a, double b) {
    return binary(Op::div, a.value, number(a.value, b), a.where);
}
Var operator/(double a, Operand b) {
    return binary(Op::div, number(b.value, a), b.value, b.where);
}

Var abs(Var x, Where where) {
    return unary(Op::abs, x, where);
}
Var sign(Var x, Where where) {
    return unary(Op::sign, x, where);
}
Var round(Var x, Where where) {
    return unary(Op::round, x, where);
}
Var floor(Var x, Where where) {
    return unary(Op::floor, x, where);
}
Var exp(Var x, Where where) {
    return unary(Op::exp, x, where);
}
Var log(Var x, Where where) {
    return unary(Op::log, x, where);
}
Var sqrt(Var x, Where where) {
    return unary(Op::sqrt, x, where);
}
Var rsqrt(Var x, Where where) {
    return unary(Op::rsqrt, x, where);
}
Var reciprocal(Var x, Where where) {
    return unary(Op::reciprocal, x, where);
}
Var sin(Var x, Where where) {
    return unary(Op::sin, x, where);
}
Var cos(Var x, Where where) {
    return unary(Op::cos, x, where);
}
Var tanh(Var x, Where where) {
    return unary(Op::tanh, x, where);
}
Var sigmoid(Var x, Where where) {
    return unary(Op::sigmoid, x, where);
}
Var erf(Var x, Where where) {
    return unary(Op::erf, x, where);
}
Var log1p(Var x, Where where) {
    return unary(Op::log1p, x, where);
}
Var expm1(Var x, Where where) {
    return unary(Op::expm1, x, where);
}
Var square(Var x, Where where) {
    return binary(Op::mul, x, x, where);
}
Var is_finite(Var x, Where where) {
    return unary(Op::is_finite, x, where);
}
Var logical_not(Var a, Where where) {
    return unary(Op::logical_not, a, where);
}
Var stop_gradient(Var x, Where where) {
    return unary(Op::stop_gradient, x, where);
}

Var pow(Var a, Var b, Where where) {
    return binary(Op::pow, a, b, where);
}
Var pow(Var a, double b, Where where) {
    return binary(Op::pow, a, number(a, b), where);
}
Var min(Var a, Var b, Where where) {
    return binary(Op::min, a, b, where);
}
Var max(Var a, Var b, Where where) {
    return binary(Op::max, a, b, where);
}
Var less(Var a, Var b, Where where) {
    return binary(Op::less, a, b, where);
}
Var less(Var a, double b, Where where) {
    return binary(Op::less, a, number(a, b), where);
}
Var less(double a, Var b, Where where) {
    return binary(Op::less, number(b, a), b, where);
}
Var equal(Var a, Var b, Where where) {
    return binary(Op::equal, a, b, where);
}
Var logical_and(Var a, Var b, Where where) {
    return binary(Op::logical_and, a, b, where);
}
Var logical_or(Var a, Var b, Where where) {
    return binary(Op::logical_or, a, b, where);
}

Var select(Var condition, Var a, Var b, Where where) {
    const std::array operands{condition, a, b};
    return condition.graph->add(Op::select, operands, {}, where);
}

Var cast(Var x, ValueType type, Where where) {
    return x.graph->add(Op::cast, std::span(&x, 1), CastAttribute{type}, where);
}

Var gather(Var table, Var indices, Where where) {
    return binary(Op::gather, table, indices, where);
}

Var scatter_add(Var rows, Var indices, std::int64_t row_count, Where where) {
    const std::array operands{rows, indices};
    return rows.graph->add(Op::scatter_add, operands, LengthAttribute{row_count}, where);
}

Var matmul(Var a, Var b, bool transpose_left, bool transpose_right, Where where) {
    const std::array operands{a, b};
    return a.graph->add(Op::matmul, operands, MatmulAttribute{transpose_left, transpose_right},
                        where);
}

Var iota(Graph& graph, std::int64_t length, Where where) {
    return graph.add(Op::iota, {}, LengthAttribute{length}, where);
}

Var random(Var key, Var ids, std::int64_t draws, Where where) {
    const std::array operands{key, ids};
    return key.graph->add(Op::random, operands, LengthAttribute{draws}, where);
}

}  // namespace cambrian

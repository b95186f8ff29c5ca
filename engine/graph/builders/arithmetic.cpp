#include "cambrian/engine/graph/builders/arithmetic.hpp"

#include <array>
#include <string>

#include "cambrian/engine/graph/graph_errors.hpp"

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

/// A number of the type of x.
Var number_like(Var x, double value) {
    return constant(*x.graph, value, x.info().type);
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

#define CAMBRIAN_UNARY(name, ...)         \
    Var name(Var x, Where where) {        \
        return unary(Op::name, x, where); \
    }
#define CAMBRIAN_BINARY(name, ...)            \
    Var name(Var a, Var b, Where where) {     \
        return binary(Op::name, a, b, where); \
    }
#include "cambrian/engine/graph/op_table.inl"

Var pow(Var a, double b, Where where) {
    return binary(Op::pow, a, number(a, b), where);
}
Var less(Var a, double b, Where where) {
    return binary(Op::less, a, number(a, b), where);
}
Var less(double a, Var b, Where where) {
    return binary(Op::less, number(b, a), b, where);
}

Var select(Var condition, Var a, Var b, Where where) {
    const std::array operands{condition, a, b};
    return condition.graph->add(Op::select, operands, {}, where);
}

Var cast(Var x, ValueType type, Where where) {
    return x.graph->add(Op::cast, std::span(&x, 1), CastAttribute{type}, where);
}

Var square(Var x, Where where) {
    return binary(Op::mul, x, x, where);
}
Var ceil(Var x, Where where) {
    return -Operand(floor(-Operand(x, where), where), where);
}

Var clamp(Var x, double low, double high, Where where) {
    if (!(low <= high))
        fail_node(Op::select, std::span(&x, 1),
                  "(the bounds " + std::to_string(low) + " and " + std::to_string(high) +
                      " enclose nothing) pass the lower one first",
                  where);
    const ValueType type = x.info().type;
    if (type == ValueType::integer && !(is_element(type, low) && is_element(type, high)))
        fail_node(Op::select, std::span(&x, 1),
                  "(a bound is no 32-bit integer) limit integers by integers", where);
    const Var lower = number_like(x, low);
    const Var upper = number_like(x, high);
    const Var from_above = select(less(upper, x, where), upper, x, where);
    return select(less(x, lower, where), lower, from_above, where);
}

Var less_equal(Var a, Var b, Where where) {
    return logical_or(less(a, b, where), equal(a, b, where), where);
}
Var greater(Var a, Var b, Where where) {
    return less(b, a, where);
}
Var greater_equal(Var a, Var b, Where where) {
    return less_equal(b, a, where);
}
Var not_equal(Var a, Var b, Where where) {
    return logical_not(equal(a, b, where), where);
}
Var logical_xor(Var a, Var b, Where where) {
    const Var either = logical_or(a, b, where);
    return logical_and(either, logical_not(logical_and(a, b, where), where), where);
}

Var encode(Var x, NumberFormat format, Where where) {
    const FormatAttribute attribute{format, x.rank() == 0 ? 0 : x.shape()[-1]};
    return x.graph->add(Op::encode, std::span(&x, 1), attribute, where);
}

Var decode(Var words, NumberFormat format, std::int64_t length, Where where) {
    const FormatAttribute attribute{format, length};
    return words.graph->add(Op::decode, std::span(&words, 1), attribute, where);
}

Var unpack(std::span<const Var> parts, const PackedAttribute& packed, Where where) {
    CAMBRIAN_EXPECT(!parts.empty());
    return parts[0].graph->add(Op::unpack, parts, packed, where);
}

}  // namespace cambrian

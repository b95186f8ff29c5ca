#include "cambrian/engine/graph/builders/functions.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

namespace cambrian {
namespace {

/// A number of the type of x.
Var number_like(Var x, double value) {
    return constant(*x.graph, value, x.info().type);
}

[[noreturn]] void fail(Op op, Var x, const std::string& reason, Where where) {
    const std::deque<ValueInfo> infos{x.info()};
    const std::array ids{ValueId{0}};
    fail_node(op, OperandInfos(infos, ids), reason, where);
}

/// In the opposite order: -x, and for integers -1 - x, which cannot overflow.
Var reversed(Var x, Where where) {
    if (x.info().type == ValueType::real) return -Operand(x, where);
    return Operand(number_like(x, -1.0), where) - x;
}

/// The axis of x between all axes before and all after it.
struct AxisExtents {
    int axis = 0;
    std::int64_t before = 1;
    std::int64_t extent = 1;
    std::int64_t behind = 1;
};
AxisExtents extents_around(Var x, int axis, Where where) {
    AxisExtents extents{.axis = from_start(axis, x.rank())};
    checked(Op::broadcast, x, where, [&] { shape_rule::check_axis(x.shape(), extents.axis); });
    extents.extent = x.shape()[extents.axis];
    for (int i = 0; i < extents.axis; ++i) extents.before *= x.shape()[i];
    for (int i = extents.axis + 1; i < x.rank(); ++i) extents.behind *= x.shape()[i];
    return extents;
}

/// [before, after] with every row `count` times, in the shape of x but for its axis.
Var repeat_rows(Var x, int axis, std::int64_t count, std::int64_t before, std::int64_t behind,
                Where where) {
    if (count < 1)
        fail(Op::broadcast, x,
             "(it is to be repeated " + std::to_string(count) + " times) use a count of 1 or more",
             where);
    const Var rows = reshape(x, Shape{before, 1, behind}, where);
    const Var repeated = broadcast(rows, Shape{before, count, behind}, where);
    std::vector<std::int64_t> extents(x.shape().extents().begin(), x.shape().extents().end());
    extents[static_cast<std::size_t>(axis)] *= count;
    return reshape(repeated, Shape(extents), where);
}

/// Rows of length 1, of zeros where they were.
Var unit_rows(Var x, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var zero = constant(*x.graph, 0.0);
    const Var one = constant(*x.graph, 1.0);
    const Var largest = stop_gradient(reduce_max(abs(x, where), -1, true, where), where);
    const Var nonzero = less(zero, largest, where);
    const Var scaled = at(x) / at(select(nonzero, largest, one, where));
    const Var squares = reduce_sum(square(scaled, where), -1, true, where);
    const Var inverse = rsqrt(select(nonzero, squares, one, where), where);
    return at(scaled) * at(select(nonzero, inverse, zero, where));
}

/// The matrix of signs (-1)^(number of bits that i and j share).
Tensor hadamard_matrix(std::int64_t size) {
    std::vector<double> signs;
    for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t j = 0; j < size; ++j)
            signs.push_back(std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 0 ? 1.0 : -1.0);
    return {ValueType::real, Shape{size, size}, std::move(signs)};
}

}  // namespace

Var ceil(Var x, Where where) {
    return -Operand(floor(-Operand(x, where), where), where);
}

Var clamp(Var x, double low, double high, Where where) {
    if (!(low <= high))
        fail(Op::select, x,
             "(the bounds " + std::to_string(low) + " and " + std::to_string(high) +
                 " enclose nothing) pass the lower one first",
             where);
    const ValueType type = x.info().type;
    if (type == ValueType::integer && !(is_element(type, low) && is_element(type, high)))
        fail(Op::select, x, "(a bound is no 32-bit integer) limit integers by integers", where);
    const Var lower = number_like(x, low);
    const Var upper = number_like(x, high);
    const Var from_above = select(less(upper, x, where), upper, x, where);
    return select(less(x, lower, where), lower, from_above, where);
}

Var mse(Var prediction, Var target, Where where) {
    const Var difference = Operand(prediction, where) - target;
    return mean_all(square(difference, where), where);
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

Var softplus(Var x, Where where) {
    // At 0, and for NaN, both choices take x: the slope there is 1 - 1/2.
    const Var positive = max(constant(*x.graph, 0.0), x, where);
    const Var minus_magnitude = min(x, -Operand(x, where), where);
    return Operand(positive, where) + log1p(exp(minus_magnitude, where), where);
}

Var leaky_relu(Var x, double slope, Where where) {
    return select(less(number_like(x, 0.0), x, where), x, slope * Operand(x, where), where);
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

Var tile(Var x, int axis, std::int64_t count, Where where) {
    const auto [positive, before, extent, behind] = extents_around(x, axis, where);
    return repeat_rows(x, positive, count, before, extent * behind, where);
}

Var repeat_each(Var x, int axis, std::int64_t count, Where where) {
    const auto [positive, before, extent, behind] = extents_around(x, axis, where);
    return repeat_rows(x, positive, count, before * extent, behind, where);
}

Var cosine_similarity(Var a, Var b, Where where) {
    return matmul(unit_rows(a, where), unit_rows(b, where), false, true, where);
}

Var hadamard(Var x, Where where) {
    const Shape shape = x.shape();
    if (shape.rank() == 0 || !std::has_single_bit(static_cast<std::uint64_t>(shape[-1])))
        fail(Op::matmul, x, "(the last axis is no power of two) pad it", where);
    // The matrix is a Kronecker product: one small product for six bits of the position at a time.
    constexpr std::int64_t largest_factor = 64;
    Var value = x;
    std::int64_t behind = 1;
    for (std::int64_t rest = shape[-1]; rest > 1;) {
        const std::int64_t factor = std::min(rest, largest_factor);
        const std::int64_t before = shape.elements() / (factor * behind);
        const Var matrix = x.graph->constant(hadamard_matrix(factor));
        value = reshape(value, Shape{before, factor, behind}, where);
        value = behind == 1 ? matmul(reshape(value, Shape{before, factor}, where), matrix, false,
                                     false, where)
                            : matmul(matrix, value, false, false, where);
        behind *= factor;
        rest /= factor;
    }
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape[-1]));
    return reshape(scale * Operand(value, where), shape, where);
}

}  // namespace cambrian

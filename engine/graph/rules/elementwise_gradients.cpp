#include <numbers>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Gradient rules of elementwise ops: y = f(x), g = upstream.
namespace cambrian::gradient_rule {
namespace {

/// g where the condition holds and zero elsewhere, without touching what is not chosen.
Var where_true(Var condition, Var g) {
    return cambrian::select(condition, g, constant(*g.graph, 0.0));
}
Var where_false(Var condition, Var g) {
    return cambrian::select(condition, constant(*g.graph, 0.0), g);
}
/// g where the function of an angle is not constant.
Var of_angle(const GradientContext& c, Var g) {
    return where_true(less(cambrian::abs(c.operand()), elementary::largest_angle), g);
}

}  // namespace

void neg(GradientContext& c) {
    c.accumulate(0, -c.upstream());
}

void abs(GradientContext& c) {
    c.accumulate(0, c.upstream() * sign(c.operand()));
}

void exp(GradientContext& c) {
    c.accumulate(0, c.upstream() * c.result());
}

void log(GradientContext& c) {
    c.accumulate(0, c.upstream() / c.operand());
}

void sqrt(GradientContext& c) {
    c.accumulate(0, 0.5 * c.upstream() / c.result());
}

void rsqrt(GradientContext& c) {
    const Var cube = square(c.result()) * c.result();
    c.accumulate(0, -0.5 * c.upstream() * cube);
}

void reciprocal(GradientContext& c) {
    c.accumulate(0, -c.upstream() * square(c.result()));
}

void sin(GradientContext& c) {
    c.accumulate(0, of_angle(c, c.upstream() * cambrian::cos(c.operand())));
}

void cos(GradientContext& c) {
    c.accumulate(0, of_angle(c, -c.upstream() * cambrian::sin(c.operand())));
}

void tanh(GradientContext& c) {
    c.accumulate(0, c.upstream() * (1.0 - square(c.result())));
}

void sigmoid(GradientContext& c) {
    const Var slope = c.result() * (1.0 - c.result());
    c.accumulate(0, c.upstream() * slope);
}

void erf(GradientContext& c) {
    const Var bell = cambrian::exp(-square(c.operand()));
    c.accumulate(0, (2.0 * std::numbers::inv_sqrtpi) * c.upstream() * bell);
}

void log1p(GradientContext& c) {
    c.accumulate(0, c.upstream() / (1.0 + c.operand()));
}

void expm1(GradientContext& c) {
    // Not result + 1, which has lost what a small e^x is.
    c.accumulate(0, c.upstream() * cambrian::exp(c.operand()));
}

void cast(GradientContext& c) {
    c.accumulate(0, c.upstream());
}

void add(GradientContext& c) {
    c.accumulate(0, c.upstream());
    c.accumulate(1, c.upstream());
}

void sub(GradientContext& c) {
    c.accumulate(0, c.upstream());
    if (c.wants(1)) c.accumulate(1, -c.upstream());
}

void mul(GradientContext& c) {
    if (c.wants(0)) c.accumulate(0, c.upstream() * c.operand(1));
    if (c.wants(1)) c.accumulate(1, c.upstream() * c.operand(0));
}

void div(GradientContext& c) {
    const Var share = c.upstream() / c.operand(1);
    c.accumulate(0, share);
    if (c.wants(1)) c.accumulate(1, -(share * c.result()));
}

void pow(GradientContext& c) {
    const Var base = c.operand(0);
    const Var exponent = c.operand(1);
    const Var zero = constant(*base.graph, 0.0);
    if (c.wants(0)) {
        const Var slope = exponent * cambrian::pow(base, exponent - 1.0);
        c.accumulate(0, where_false(equal(exponent, zero), c.upstream() * slope));
    }
    if (c.wants(1)) {
        const Var slope = c.result() * cambrian::log(base);
        c.accumulate(1, where_false(equal(base, zero), c.upstream() * slope));
    }
}

void min(GradientContext& c) {
    const Var first = less(c.operand(0), c.operand(1));
    if (c.wants(0)) c.accumulate(0, where_true(first, c.upstream()));
    if (c.wants(1)) c.accumulate(1, where_false(first, c.upstream()));
}

void max(GradientContext& c) {
    const Var first = less(c.operand(1), c.operand(0));
    if (c.wants(0)) c.accumulate(0, where_true(first, c.upstream()));
    if (c.wants(1)) c.accumulate(1, where_false(first, c.upstream()));
}

void select(GradientContext& c) {
    if (c.wants(1)) c.accumulate(1, where_true(c.operand(0), c.upstream()));
    if (c.wants(2)) c.accumulate(2, where_false(c.operand(0), c.upstream()));
}

}  // namespace cambrian::gradient_rule

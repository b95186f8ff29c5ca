#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Activation functions, elementwise, and softmaxes along an axis.
namespace cambrian {

/// The activation of a gene code (integer scalar, per individual or shared), elementwise; codes
/// outside the set are linear. A constant code becomes the plain function, whichever it names.
Var activate(Var x, Var code, ActivationSet set = ActivationSet::common,
             Where where = Where::current());
Var activate(Var x, Activation activation, Where where = Where::current());

/// What softplus is the sum of.
struct SoftplusTerms {
    Var ramp;  ///< max(0, x), a later node than the other one.
    Var bend;  ///< log1p(e^-|x|).
};
[[nodiscard]] SoftplusTerms softplus_terms(Var x, Where where);

/// ln(1 + e^x) as max(0, x) + log1p(e^-|x|), which does not overflow.
Var softplus(Var x, Where where = Where::current());
/// x > 0 ? x : slope x.
Var leaky_relu(Var x, double slope = 0.01, Where where = Where::current());
/// x > 0 ? x : scale (e^x - 1).
Var elu(Var x, double scale = 1.0, Where where = Where::current());
/// x limited to [0, ceiling].
Var clipped_relu(Var x, double ceiling = 6.0, Where where = Where::current());
/// (x clipped_relu(x + 3)) / 6.
Var hard_swish(Var x, Where where = Where::current());
/// x tanh(softplus(x)).
Var mish(Var x, Where where = Where::current());
/// x times the probability that a standard normal is below x: x / 2 (1 + erf(x / sqrt(2))).
Var exact_gelu(Var x, Where where = Where::current());
/// gate sigmoid(gate) up, of equal shapes.
Var swiglu_gate(Var gate, Var up, Where where = Where::current());

/// Softmax along an axis, shifted by the maximum.
Var softmax(Var x, int axis = -1, Where where = Where::current());
/// log(softmax(x)).
Var log_softmax(Var x, int axis = -1, Where where = Where::current());
/// softmax(scale x).
Var scaled_softmax(Var x, double scale, int axis = -1, Where where = Where::current());
/// Softmax over the elements where a boolean mask, broadcast to x, is true; zeros elsewhere, also
/// where there are none.
Var masked_softmax(Var x, Var mask, int axis = -1, Where where = Where::current());
/// Softmax along the last axis of scores [.., queries, keys], where the last query is as late as
/// the last key and none sees a later one.
Var causal_softmax(Var scores, Where where = Where::current());
/// log Σ exp(x) along an axis, shifted by the largest element.
Var log_sum_exp(Var x, int axis = -1, bool keep = false, Where where = Where::current());

/// What every softmax is made of: e^(x - shift) along an axis, where shift is the largest element.
/// Where all elements are −∞ the shift is 0 and the exponentials are zeros, as if of nothing.
struct Exponentials {
    Var shift;  ///< Axis kept; no gradient flows through it.
    Var values;
    Var sum;  ///< Axis kept.
};
[[nodiscard]] Exponentials exponentials(Var x, int axis, Where where);

/// 1 / sum, 1 where there was nothing to sum.
[[nodiscard]] Var reciprocal_of_sum(const Exponentials& e, Where where);

}  // namespace cambrian

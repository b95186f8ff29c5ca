#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Activation functions, elementwise.
namespace cambrian {

/// The activation of a gene code (integer scalar, per individual or shared), elementwise. A
/// constant code becomes the plain function.
Var activate(Var x, Var code, Where where = Where::current());
Var activate(Var x, Activation activation, Where where = Where::current());

/// ln(1 + e^x) as max(0, x) + log1p(e^-|x|), which does not overflow.
Var softplus(Var x, Where where = Where::current());
/// x > 0 ? x : slope x.
Var leaky_relu(Var x, double slope = 0.01, Where where = Where::current());
/// x > 0 ? x : scale (e^x - 1).
Var elu(Var x, double scale = 1.0, Where where = Where::current());
/// x limited to [0, ceiling].
Var clipped_relu(Var x, double ceiling = 6.0, Where where = Where::current());
/// x times the probability that a standard normal is below x: x / 2 (1 + erf(x / sqrt(2))).
Var exact_gelu(Var x, Where where = Where::current());
/// gate sigmoid(gate) up, of equal shapes.
Var swiglu_gate(Var gate, Var up, Where where = Where::current());

}  // namespace cambrian

#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Functions made of the vocabulary of ops.hpp. Where nothing else is said they are elementwise, and
// NaN gives NaN.
namespace cambrian {

/// The smallest integer not below x.
Var ceil(Var x, Where where = Where::current());
/// x limited to [low, high]. The gradient passes where low <= x <= high, the ends included. Throws
/// ShapeError for bounds that are NaN, in the wrong order or, beside integers, no 32-bit integers.
Var clamp(Var x, double low, double high, Where where = Where::current());
/// The mean of (prediction - target)^2 over all elements, rank 0.
Var mse(Var prediction, Var target, Where where = Where::current());

// Comparisons to booleans: with a NaN all but not_equal are false.
/// a <= b.
Var less_equal(Var a, Var b, Where where = Where::current());
/// a > b.
Var greater(Var a, Var b, Where where = Where::current());
/// a >= b.
Var greater_equal(Var a, Var b, Where where = Where::current());
Var not_equal(Var a, Var b, Where where = Where::current());
/// Of booleans: one of the two, not both.
Var logical_xor(Var a, Var b, Where where = Where::current());

// Reductions along an axis. Without keep it disappears.
/// The smallest element; its gradient goes to the first minimum.
Var reduce_min(Var x, int axis, bool keep = false, Where where = Where::current());
/// Index of the first minimum, integer.
Var argmin(Var x, int axis, Where where = Where::current());
/// Of booleans: whether one of them is true; false when there is none.
Var reduce_any(Var x, int axis, bool keep = false, Where where = Where::current());
/// Of booleans: whether none of them is false; true when there is none.
Var reduce_all(Var x, int axis, bool keep = false, Where where = Where::current());

// Activations.
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

// Repetition: an axis of extent n becomes one of count n.
/// The whole axis, `count` times one after another: a b a b.
Var tile(Var x, int axis, std::int64_t count, Where where = Where::current());
/// Each of its elements `count` times: a a b b.
Var repeat_each(Var x, int axis, std::int64_t count, Where where = Where::current());

/// Cosines between rows: [M, D] and [N, D] to [M, N]; 0, with gradient 0, for a row of zeros. Rows
/// are scaled by their largest element first, so that squares neither overflow nor vanish.
Var cosine_similarity(Var a, Var b, Where where = Where::current());

/// The Walsh-Hadamard transform of the last axis, whose extent n is a power of two: the product
/// with the matrix of (-1)^(number of bits that i and j share) / sqrt(n). Its own inverse and
/// adjoint.
Var hadamard(Var x, Where where = Where::current());

}  // namespace cambrian

#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Random variables from the counter-based stream of Op::random: `key` is integer [2], and equal
// keys, ids and draws give equal numbers anywhere.
namespace cambrian {

/// Uniforms in [0, 1): key is integer [2] (low and high word of a RandomKey), ids integer [I..];
/// → real [I.., draws], draw d of id i = word d of RandomStream(key, i).
Var random(Var key, Var ids, std::int64_t draws, Where where = Where::current());

/// Standard normals [I.., draws] for integer ids [I..], by Box and Muller: draws 2k and 2k + 1 are
/// r cos(2 pi v) and r sin(2 pi v) with r = sqrt(-2 ln(1 - u)), of the uniforms u = 2k and
/// v = 2k + 1 of the same id.
Var normal(Var key, Var ids, std::int64_t draws, Where where = Where::current());

/// An index of the last axis of logits [I.., n] for each id [I..], integer [I..], with probability
/// softmax(logits): the largest of logits - ln(-ln(1 - u)), of uniforms u = 0 to n - 1 of that id.
Var categorical(Var logits, Var key, Var ids, Where where = Where::current());

/// x / (1 - p) where the uniform of an element is at least p, else 0; the gradient passes by the
/// same mask. The uniform of element i in row-major order is draw i of `id`, an integer scalar: a
/// new mask needs a new id. Throws ShapeError unless 0 <= p < 1; p = 0 is x itself.
Var dropout(Var x, Var key, Var id, double p, Where where = Where::current());

}  // namespace cambrian

#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Matrix products and what is made of them.
namespace cambrian {

/// [.., m, k] × [.., k, n] → [.., m, n]; leading axes broadcast like NumPy. The flags read an
/// operand transposed in its last two axes.
Var matmul(Var a, Var b, bool transpose_left = false, bool transpose_right = false,
           Where where = Where::current());

/// Cosines between rows: [M, D] and [N, D] to [M, N]; 0, with gradient 0, for a row of zeros. Rows
/// are scaled by their largest element first, so that squares neither overflow nor vanish.
Var cosine_similarity(Var a, Var b, Where where = Where::current());

/// The Walsh-Hadamard transform of the last axis, whose extent n is a power of two: the product
/// with the matrix of (-1)^(number of bits that i and j share) / sqrt(n). Its own inverse and
/// adjoint.
Var hadamard(Var x, Where where = Where::current());

}  // namespace cambrian

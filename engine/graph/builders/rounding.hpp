#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/weights/dtype.hpp"

namespace cambrian {

/// The numbers that the codes of a format with some scales stand for, of rows along the last axis:
/// what round_to_codes() gives (quantised_matrix.hpp), in float32 where that one divides in double,
/// so a number near the middle of two codes may become the other one. Formats that hold every
/// float32 within its precision give x itself. It has no gradient: see straight_through.
[[nodiscard]] Var rounded_to(Var x, Dtype dtype, Scales scales = Scales::format,
                             Where where = Where::current());

/// What x is rounded to, with the gradient of x itself (Bengio, Léonard and Courville, "Estimating
/// or Propagating Gradients Through Stochastic Neurons for Conditional Computation", 2013).
[[nodiscard]] Var straight_through(Var x, Var rounded, Where where = Where::current());
[[nodiscard]] Var straight_through(Var x, Dtype dtype, Scales scales = Scales::format,
                                   Where where = Where::current());

}  // namespace cambrian

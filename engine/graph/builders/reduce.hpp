#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Reductions along an axis, which counts from the end when negative. Without keep it disappears.
namespace cambrian {

Var reduce_sum(Var x, int axis, bool keep = false, Where where = Where::current());
Var reduce_mean(Var x, int axis, bool keep = false, Where where = Where::current());
/// The largest element; its gradient goes to the first maximum.
Var reduce_max(Var x, int axis, bool keep = false, Where where = Where::current());
/// The smallest element; its gradient goes to the first minimum.
Var reduce_min(Var x, int axis, bool keep = false, Where where = Where::current());
/// Index of the first maximum, integer.
Var argmax(Var x, int axis, Where where = Where::current());
/// Index of the first minimum, integer.
Var argmin(Var x, int axis, Where where = Where::current());
/// Of booleans: whether one of them is true; false when there is none.
Var reduce_any(Var x, int axis, bool keep = false, Where where = Where::current());
/// Of booleans: whether none of them is false; true when there is none.
Var reduce_all(Var x, int axis, bool keep = false, Where where = Where::current());
/// Sum of every element, rank 0. Reduces the last axis first.
Var sum_all(Var x, Where where = Where::current());
Var mean_all(Var x, Where where = Where::current());

}  // namespace cambrian

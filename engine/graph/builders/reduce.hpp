#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Reductions and order along an axis, which counts from the end when negative.
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

/// Running sums along an axis, in order: element i is the sum of elements 0 to i, exclusive of
/// those before i (0 for the first). Reverse: of elements i to the last, added from the last one.
/// Under fast math a GPU adds reals up as a tree whose form depends on the shape alone; under
/// strict math, and on the CPU, one after the other.
Var cumsum(Var x, int axis, bool exclusive = false, bool reverse = false,
           Where where = Where::current());

/// Elements in order and the index along the axis each of them came from.
struct Ordered {
    Var values;
    Var indices;  ///< Integer.
};
/// A stable order: equal elements (the two zeros are) keep theirs. NaN counts as above every
/// number, so it comes last, descending first. The gradient goes to where the values came from.
Ordered sort(Var x, int axis = -1, bool descending = false, Where where = Where::current());
/// The indices of `sort`.
Var argsort(Var x, int axis = -1, bool descending = false, Where where = Where::current());
/// The `count` largest elements, largest first, of equal ones the first.
Ordered topk(Var x, std::int64_t count, int axis = -1, Where where = Where::current());

}  // namespace cambrian

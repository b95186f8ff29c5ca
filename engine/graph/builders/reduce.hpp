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
/// Elements that `sum_all` adds up one after another at most: beside the sum of many in float32 the
/// next one is lost. So few are one reduction, which is fused with what computes them.
inline constexpr std::int64_t longest_chain = 1024;
/// Elements of each chain where there are more.
inline constexpr std::int64_t short_chain = 64;
/// Sum of every element, rank 0: along each axis, the last one first, an axis of more than
/// `longest_chain` elements in chains of `short_chain`, whose sums are added up in the same way.
Var sum_all(Var x, Where where = Where::current());
Var mean_all(Var x, Where where = Where::current());
/// Sum along an axis, in chains as `sum_all` has them where it is long.
Var sum_along(Var x, int axis, bool keep = false, Where where = Where::current());

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

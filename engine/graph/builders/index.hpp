#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Order along an axis and elements by their index. Negative axes count from the end.
namespace cambrian {

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

/// An axis from its end.
Var flip(Var x, int axis, Where where = Where::current());

/// Elements of an axis at integer indices: y[.., i, ..] = x[.., indices[.., i, ..], ..]. The
/// indices have x's extents but for the axis; one outside of x's is an InputError at run time.
Var take_along_axis(Var x, Var indices, int axis, Where where = Where::current());
/// Adds values into zeros of `extent` elements along an axis, each at its index (of the shape of
/// the values), in order of position: y[.., indices[.., i, ..], ..] += values[.., i, ..]. An index
/// outside [0, extent) is an InputError at run time.
Var scatter_add_along_axis(Var values, Var indices, std::int64_t extent, int axis,
                           Where where = Where::current());

/// [..] → real [.., depth]: 1 at the index, 0 elsewhere. An index outside [0, depth) is an
/// InputError at run time.
Var one_hot(Var indices, std::int64_t depth, Where where = Where::current());

}  // namespace cambrian

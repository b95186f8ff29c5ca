#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Elements and rows by their index. Negative axes count from the end.
namespace cambrian {

/// 0, 1, .. length - 1 as integers.
Var iota(Graph& graph, std::int64_t length, Where where = Where::current());
/// Rows of table [V, ..] at integer indices [I..] → [I.., ..]. An index outside [0, V) is an
/// InputError at run time.
Var gather(Var table, Var indices, Where where = Where::current());
/// Adds rows [I.., ..] at integer indices [I..] into zeros [rows, ..], in index order.
Var scatter_add(Var rows, Var indices, std::int64_t row_count, Where where = Where::current());
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

/// Rows [.., heads, positions, width] with another one [.., heads, 1, width] at an integer position
/// [..]; at one that is not there nothing changes. Where the result replaces the rows
/// (Graph::update) nothing else is written.
Var put_row(Var rows, Var row, Var position, Where where = Where::current());

/// A cache [.., length, width] with rows [.., n, width] in the place of those from an integer
/// position (rank 0) on. Rows that do not fit are an InputError at run time.
Var append_rows(Var cache, Var rows, Var position, Where where = Where::current());

}  // namespace cambrian

#pragma once

#include <initializer_list>
#include <span>

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// The same elements at other positions. Axes count from the end when negative.
namespace cambrian {

/// One extent may be -1 and is inferred.
Var reshape(Var x, std::initializer_list<std::int64_t> extents, Where where = Where::current());
Var reshape(Var x, const Shape& shape, Where where = Where::current());
Var permute(Var x, std::initializer_list<int> order, Where where = Where::current());
/// Swaps the last two axes.
Var transpose(Var x, Where where = Where::current());
/// Repeats axes of extent 1 and adds leading axes.
Var broadcast(Var x, const Shape& shape, Where where = Where::current());
/// One number in every element.
Var filled(Graph& graph, const Shape& shape, double value);
/// Elements [start, start + length) of an axis.
Var slice(Var x, int axis, std::int64_t start, std::int64_t length, Where where = Where::current());
/// Zeros before and after an axis.
Var pad(Var x, int axis, std::int64_t before, std::int64_t after, Where where = Where::current());
/// Parts joined along an axis.
Var concat(std::span<const Var> parts, int axis, Where where = Where::current());
/// New leading axis over equal shapes.
Var stack(std::span<const Var> parts, Where where = Where::current());
/// An axis from its end.
Var flip(Var x, int axis, Where where = Where::current());

// Repetition: an axis of extent n becomes one of count n.
/// The whole axis, `count` times one after another: a b a b.
Var tile(Var x, int axis, std::int64_t count, Where where = Where::current());
/// Each of its elements `count` times: a a b b.
Var repeat_each(Var x, int axis, std::int64_t count, Where where = Where::current());

}  // namespace cambrian

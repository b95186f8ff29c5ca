#pragma once

#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// Appends the gradients of `value` (any shape, weighted by `upstream` of the same shape) with
/// respect to each of `with_respect_to`; zeros where the value does not depend on one. Reverse
/// mode, graph to graph, from the op table; fused ops are differentiated through their lowering.
/// Nothing flows through piecewise constant ops, integers and booleans. Throws ShapeError when
/// value and upstream differ in shape or are not real.
[[nodiscard]] std::vector<Var> gradient(Var value, Var upstream,
                                        std::span<const Var> with_respect_to);
/// Of a rank-0 value, with upstream 1.
[[nodiscard]] std::vector<Var> gradient(Var value, std::span<const Var> with_respect_to);

/// Of several values at once: the gradients of the sum of all values, each weighted by its
/// upstream.
[[nodiscard]] std::vector<Var> gradient(std::span<const Var> values, std::span<const Var> upstream,
                                        std::span<const Var> with_respect_to);

// Values with names (Graph::capture), of a graph and of the bodies of its scans.

/// All names in the order in which the values are computed; those of a scan's body stand where the
/// scan does. Throws ShapeError when a graph and a body, or two bodies, use one name.
[[nodiscard]] std::vector<std::string> capture_names(const Graph& graph);

/// The same graph with the values of these names as further outputs, in this order, after its own.
/// A value of a scan's body becomes what it is at every step, stacked along a new leading axis; a
/// scan that may stop early then takes all its steps, with the same results and data errors. Throws
/// ShapeError for a name that nothing has.
[[nodiscard]] Graph with_captures(const Graph& graph, std::span<const std::string> names);

/// Appends the gradients of a rank-0 value with respect to what these names stand for, captures of
/// its graph or inputs, and captures each of them as "<name>.gradient": zeros where the value does
/// not depend on it. Nodes that another sweep over the same value has made are merged with these,
/// and all are dropped again unless they are asked for. Throws ShapeError for a name that nothing
/// real has.
void capture_gradients(Var value, std::span<const std::string> names);

}  // namespace cambrian

#pragma once

#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// Values with names (Graph::capture), of a graph and of the bodies of its scans.
namespace cambrian {

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

#pragma once

#include <optional>
#include <span>

#include "cambrian/engine/graph/graph.hpp"

// Internal to engine/graph.
namespace cambrian {

/// A node that is about to be appended to a graph.
struct IdentitySite {
    Graph& graph;
    const Node& node;         ///< Op, attributes and place; its operands are those of the source.
    const ValueInfo& result;  ///< Of the node's only result.
    std::span<const Var> operands;  ///< In `graph`.
};

/// A value of the graph that has every bit of the node's result (any NaN counts as any other),
/// found or made from simpler nodes, or nothing. It has the result's type, shape and batch axis.
[[nodiscard]] std::optional<Var> simpler_value(const IdentitySite& site);

/// The number that every element of a value is, where that shows: a constant of one element, or a
/// broadcast of one.
[[nodiscard]] std::optional<double> uniform_number(Var value);

}  // namespace cambrian

#pragma once

#include <string_view>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian {

/// What an InputError says of an integer divisor of zero, on every backend.
inline constexpr std::string_view division_by_zero =
    "integer division by zero (a divisor of div is 0) replace zeros before dividing";

/// Whether the elements of a node's divisor must be looked at: a division of integers by anything
/// but a number other than 0. Such a node is no part of a fusion group.
[[nodiscard]] bool may_divide_by_zero(const Graph& graph, const Node& node);

/// Whether a node, or one in the body of a scan, may report a data error at run time. What such an
/// op checks is its second operand.
[[nodiscard]] bool may_fail(const Graph& graph, const Node& node);

}  // namespace cambrian

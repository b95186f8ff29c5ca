#pragma once

#include <array>
#include <deque>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/graph.hpp"

// How rules and builders refuse operands. Internal to engine/graph.
namespace cambrian {

/// Throws the reason of a rule: "(why) suggestion". Graph::add puts op and operands in front.
[[noreturn]] void reject(const std::string& why, const std::string& suggestion);

/// Throws ShapeError: `<op>: <operands> (<why>) <suggestion> at <file>:<line>`, where `reason` is
/// the text a rule threw.
[[noreturn]] void fail_node(Op op, const OperandInfos& operands, std::string_view reason,
                            std::source_location where);
[[noreturn]] void fail_node(Op op, std::span<const Var> operands, std::string_view reason,
                            std::source_location where);

/// The result of `rule`, whose reason to throw becomes the error of an op on x.
template <class Rule>
auto checked(Op op, Var x, std::source_location where, Rule rule) {
    try {
        return rule();
    } catch (const ShapeError& error) {
        fail_node(op, std::span(&x, 1), error.what(), where);
    }
}

/// Throws the reason unless the shape has the axis.
void check_axis(const Shape& shape, int axis);

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

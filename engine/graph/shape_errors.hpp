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

}  // namespace cambrian

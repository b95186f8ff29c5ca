#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian::launch {

/// A function that writes several ops into a graph, which backends fuse into few kernels: its
/// gradient, population rule and bits are those of the ops.
struct FunctionRow {
    std::string_view name;
    std::string_view formula;
    std::string_view source;  ///< Where the definition comes from.
    /// Writes a small one: its inputs are the operands, its outputs the results.
    void (*example)(Graph& graph);
};
[[nodiscard]] std::span<const FunctionRow> function_table();

/// What the example of a function tells of it.
struct FunctionExample {
    std::string operands;   ///< "x [2, 4], gain [4]".
    std::string results;    ///< "[2, 4]".
    std::string ops;        ///< Names of the ops it is written in, in order.
    bool may_fail = false;  ///< Whether data can make one of them fail.
};
[[nodiscard]] FunctionExample example_of(const FunctionRow& row);

}  // namespace cambrian::launch

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian {

enum class Precision { f32, f64 };

/// The oracle: one plain loop per primitive, no planning, no threads. In f64 with the C++ standard
/// library's functions; in f32 with our own elementwise functions and ordered sums, which is what
/// every other backend must reproduce under strict math.
[[nodiscard]] std::unique_ptr<Backend> make_reference_backend(Precision precision);

/// One node in f32, for constant folding: see EvaluateNode of engine/graph/passes/passes.hpp.
[[nodiscard]] bool evaluate_node(const Graph& graph, const Node& node,
                                 std::span<const std::vector<double>* const> operands,
                                 std::span<std::vector<double>> results);

}  // namespace cambrian

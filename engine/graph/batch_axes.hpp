#pragma once

#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// How the population mark spreads. Internal to engine/graph.
namespace cambrian {

/// Marks of all values of a graph whose inputs (by position) carry the given marks.
[[nodiscard]] std::vector<bool> propagate_batch_axes(const Graph& graph,
                                                     const std::vector<bool>& inputs);

/// Marks of the inputs of a scan's body, given the marks of the operands: the fixed point over
/// carries.
[[nodiscard]] std::vector<bool> scan_body_batch_axes(const ScanAttribute& scan,
                                                     std::vector<bool> operands);

/// Marks of the results of a scan whose body inputs carry the given marks.
[[nodiscard]] std::vector<bool> scan_result_batch_axes(const ScanAttribute& scan,
                                                       const std::vector<bool>& body_inputs);

/// Stores a body in the attribute whose inputs carry the given marks. Throws ShapeError where a
/// carry that all share would change while some individuals are done.
void set_scan_body_batch_axes(ScanAttribute& scan, const std::vector<bool>& body_inputs);

}  // namespace cambrian

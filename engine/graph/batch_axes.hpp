#pragma once

#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// How batch axes, one element for each individual of a population, spread. Internal to
// engine/graph.
namespace cambrian {

/// Which values of a graph have a batch axis when these inputs (by position) have one.
[[nodiscard]] std::vector<bool> propagate_batch_axes(const Graph& graph,
                                                     const std::vector<bool>& inputs);

/// Which inputs of a scan's body have a batch axis, given those of the operands that do: the fixed
/// point over carries.
[[nodiscard]] std::vector<bool> scan_body_batch_axes(const ScanAttribute& scan,
                                                     std::vector<bool> operands);

/// Which results of a scan have a batch axis, given those of its body's inputs that do.
[[nodiscard]] std::vector<bool> scan_result_batch_axes(const ScanAttribute& scan,
                                                       const std::vector<bool>& body_inputs);

/// Stores a body in the attribute whose inputs have these batch axes. Throws ShapeError where a
/// carry that all share would change while some individuals are done.
void set_scan_body_batch_axes(ScanAttribute& scan, const std::vector<bool>& body_inputs);

}  // namespace cambrian

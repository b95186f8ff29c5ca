#pragma once

#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// Scans written anew so that their plain gradient is the one that truncate and checkpoint_every ask
// for. Internal to engine/graph.
namespace cambrian {

/// A scan that is not yet a node.
struct ScanParts {
    ScanAttribute scan;
    std::vector<Var> operands;
};

/// Whether the rule of a scan's gradient is another one than the plain.
[[nodiscard]] bool has_gradient_steps(const ScanAttribute& scan);

/// The same values, in a scan whose real carries pass no gradient into steps k, 2k, .. (truncate =
/// k), told by one more sequence.
[[nodiscard]] ScanParts with_cuts(ScanParts parts);

/// The results of a scan as a scan over segments of checkpoint_every steps, each a scan itself, and
/// the steps that are left.
[[nodiscard]] std::vector<Var> in_segments(const ScanParts& parts);

}  // namespace cambrian

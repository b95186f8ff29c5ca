#pragma once

#include <span>
#include <vector>

#include "cambrian/engine/graph/builders/arithmetic.hpp"

namespace cambrian {

/// How far a gradient walks back through a scan and what it keeps; see ScanAttribute.
struct GradientSteps {
    std::int64_t truncate = 0;
    std::int64_t checkpoint_every = 0;
};
/// How a scan walks; see ScanAttribute.
struct ScanOptions {
    std::int64_t length = 0;  ///< Must agree with the sequences.
    bool reverse = false;
    int alive_carry = -1;
    GradientSteps gradient{};
};
struct ScanResult {
    std::vector<Var> carries;  ///< Final values.
    std::vector<Var> stacked;  ///< [length, ...] each.
};
/// Appends a loop over a body whose inputs are the carries, one step of each sequence and the
/// invariants, in this order.
ScanResult scan(Graph body, std::span<const Var> carries, std::span<const Var> sequences,
                std::span<const Var> invariants, const ScanOptions& options,
                Where where = Where::current());

}  // namespace cambrian

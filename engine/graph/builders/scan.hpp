#pragma once

#include <span>
#include <vector>

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Loops.
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

/// The tensors of a selective state space (Gu and Dao, 2023): D channels with N states each.
struct SelectiveScanOperands {
    Var u;          ///< Input [.., L, D].
    Var raw_delta;  ///< [.., L, D]; the step size is Δ = softplus(raw_delta).
    Var log_decay;  ///< [D, N]; the decay rate is A = −exp(log_decay).
    Var b;          ///< Input weights [.., L, N].
    Var c;          ///< Output weights [.., L, N].
    Var skip;       ///< [D].
    Var state;      ///< Before the first step [.., D, N].
};

struct SelectiveScan {
    Var y;      ///< [.., L, D].
    Var state;  ///< After the last step [.., D, N].
};

/// h ← exp(Δ A) h + w B u; y = Σₙ C h + skip u, with w = (exp(Δ A) − 1) / A (zero-order hold) or
/// w = Δ (Euler, as in the paper's code). The state of one call is the next one's, so that a
/// sequence may be cut anywhere: decoding is a scan of length 1.
SelectiveScan selective_scan(const SelectiveScanOperands& operands,
                             Discretization discretization = Discretization::zero_order_hold,
                             Where where = Where::current());

}  // namespace cambrian

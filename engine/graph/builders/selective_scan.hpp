#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

namespace cambrian {

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

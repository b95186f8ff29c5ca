#pragma once

#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/graph/op.hpp"

namespace cambrian::cpu {

/// The loops of outer(inner(a, b), c), or outer(c, inner(a, b)) where the product of the inner op
/// is the second operand, of real sums, differences and products: the same two roundings, without
/// storing what lies between. Operands: a, b, c. Null for other ops.
[[nodiscard]] const LoopSet* pair_rows(Op outer, Op inner, bool second);

}  // namespace cambrian::cpu

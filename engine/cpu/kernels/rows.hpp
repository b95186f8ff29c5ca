#pragma once

#include <cstdint>

#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/graph/op.hpp"

namespace cambrian::cpu {

/// Sums and maxima along rows have one order everywhere, from the first element to the last, each
/// row on its own; rows side by side hide the latency.
///
/// Folds `width` >= 0 elements of each of `rows` rows, `stride` words apart, into folded[row]; the
/// first element of a row starts it where `starts` is true (then width >= 1).
void fold_sum(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
              float* folded, bool starts);
void fold_sum(const std::int32_t* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
              std::int32_t* folded, bool starts);
void fold_max(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
              float* folded, bool starts);
void fold_max(const std::int32_t* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
              std::int32_t* folded, bool starts);

/// y[i] = activation(x[i]) for i < count, by gene code; any unknown code is linear. y may be x.
void activate(std::int32_t code, const float* x, float* y, std::int64_t count);

/// The loops of outer(inner(a, b), c), or outer(c, inner(a, b)) where the product of the inner op
/// is the second operand, of real sums, differences and products: the same two roundings, without
/// storing what lies between. Operands: a, b, c. Null for other ops.
[[nodiscard]] const LoopSet* pair_rows(Op outer, Op inner, bool second);

/// The sum of two elements; integers wrap around like the registers of every device.
[[nodiscard]] inline float add(float a, float b) {
    return a + b;
}
[[nodiscard]] inline std::int32_t add(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

}  // namespace cambrian::cpu

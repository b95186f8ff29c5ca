#pragma once

#include <cstdint>

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

}  // namespace cambrian::cpu

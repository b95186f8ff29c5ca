#pragma once

#include <cstdint>

namespace cambrian::cpu {

/// A matrix whose element (i, j) is data[i * row + j * column].
struct MatrixView {
    const float* data = nullptr;
    std::int64_t row = 0;
    std::int64_t column = 0;
};

/// c[m, n] = a[m, k] b[k, n]: every element is 0 plus its products in ascending k, each product and
/// each sum rounded. b's rows are contiguous (b.column is 1), c is row-major.
void ordered_product(const MatrixView& a, const MatrixView& b, float* c, std::int64_t m,
                     std::int64_t n, std::int64_t k);

/// Writes the transpose of b[n, k] as [k, n].
void transpose(const float* b, float* transposed, std::int64_t n, std::int64_t k);

}  // namespace cambrian::cpu

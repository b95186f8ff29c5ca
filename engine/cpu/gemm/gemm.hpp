#pragma once

#include <cstdint>
#include <string_view>

#include "cambrian/engine/cpu/execution/parallel.hpp"
#include "cambrian/engine/cpu/gemm/product.hpp"

namespace cambrian::cpu {

/// C [m, n] = factor op(A) op(B), or added to C, in fast math: A, B and C row-major, dense unless
/// their rows are said to be further apart. Every element sums blocks of k in ascending order, each
/// a chain of multiply_add from 0, and each block times `factor`. So a row has the same bits
/// whatever rows there are beside it, on any number of threads.
///
/// The structure is that of K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix
/// Multiplication" (2008): tiles of C in registers, B and A packed in the order tiles read them.
struct Gemm {
    static const std::string_view name;

    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    bool transpose_a = false;
    bool transpose_b = false;
    float factor = 1.0F;
    bool adds = false;
    std::int64_t a_row = 0;  ///< Words between stored rows of A; 0: they are dense.
    std::int64_t b_row = 0;
    std::int64_t c_row = 0;

    /// Words a call uses: for itself ...
    [[nodiscard]] std::int64_t scratch_words() const;
    /// ... and for each thread of its team.
    [[nodiscard]] std::int64_t part_words() const;
    /// Words for a call on one thread, of this product or any of smaller extents.
    [[nodiscard]] std::int64_t enough_words() const;
    /// Whether it is one call of a plain_kernel, or of a transposed_kernel if B is transposed.
    [[nodiscard]] bool is_one_tile() const;
    void operator()(const Team& team, float* scratch, const float* a, const float* b,
                    float* c) const;
    /// On this thread alone, which has scratch_words() + part_words().
    void operator()(float* scratch, const float* a, const float* b, float* c) const;
};

}  // namespace cambrian::cpu

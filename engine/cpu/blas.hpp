#pragma once

#include <cstdint>

namespace cambrian::cpu {

/// C [m, n] = factor op(A) op(B), or added to C, all row-major and dense.
struct BlasProduct {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    bool transpose_a = false;
    bool transpose_b = false;
    float factor = 1.0F;
    bool adds = false;

    /// By OpenBLAS, one call of the process at a time: the serial library hands the same buffer to
    /// two threads that ask at once, and both get wrong sums.
    void operator()(const float* a, const float* b, float* c) const;
};

}  // namespace cambrian::cpu

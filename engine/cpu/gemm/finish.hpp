#pragma once

#include <immintrin.h>

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/gemm/tile.hpp"

namespace cambrian::cpu {

/// Stores or adds one vector of a row, of which the first `count` lanes are in C.
[[gnu::always_inline]] inline void finish(const GemmTile& tile, float* to, __m256 sum,
                                          std::int64_t count) {
    __m256 result = _mm256_mul_ps(_mm256_set1_ps(tile.factor), sum);
    if (tile.adds) {
        const __m256 old =
            count < lanes ? _mm256_maskload_ps(to, lane_mask(count)) : _mm256_loadu_ps(to);
        result = _mm256_add_ps(old, result);
    }
    if (count < lanes) {
        store_first(to, result, count);
    } else {
        _mm256_storeu_ps(to, result);
    }
}

}  // namespace cambrian::cpu

#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace cambrian::cpu {

/// Words of a vector.
constexpr std::int64_t lanes = 8;

/// First word of a vector of a row.
constexpr std::int64_t lane(std::size_t vector) {
    return static_cast<std::int64_t>(vector) * lanes;
}

/// All lanes below `count`.
inline __m256i lane_mask(std::int64_t count) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), index);
}

/// Stores the lanes below `count`, which is below `lanes`. Masked stores take many cycles on some
/// processors.
[[gnu::always_inline]] inline void store_first(float* to, __m256 values, std::int64_t count) {
    __m128 part = _mm256_castps256_ps128(values);
    if ((count & 4) != 0) {
        _mm_storeu_ps(to, part);
        part = _mm256_extractf128_ps(values, 1);
        to += 4;
    }
    if ((count & 2) != 0) {
        _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
        part = _mm_movehl_ps(part, part);
        to += 2;
    }
    if ((count & 1) != 0) {
        _mm_store_ss(to, part);
    }
}

}  // namespace cambrian::cpu

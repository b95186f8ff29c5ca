#pragma once

#include <immintrin.h>

#include <cstdint>

namespace cambrian::cpu {

struct FourVectors {
    __m256 vectors[4];
};

/// The columns of eight rows of four words each, which load(0) to load(7) give.
template <class Load>
[[gnu::always_inline]] inline FourVectors transposed(const Load& load) {
    // Row r and row r + 4 side by side, so that the rest stays inside halves.
    const auto pair = [&](std::int64_t r) __attribute__((always_inline)) {
        return _mm256_insertf128_ps(_mm256_castps128_ps256(load(r)), load(r + 4), 1);
    };
    const __m256 row0 = pair(0);
    const __m256 row1 = pair(1);
    const __m256 row2 = pair(2);
    const __m256 row3 = pair(3);
    const __m256 a = _mm256_unpacklo_ps(row0, row1);
    const __m256 b = _mm256_unpackhi_ps(row0, row1);
    const __m256 c = _mm256_unpacklo_ps(row2, row3);
    const __m256 d = _mm256_unpackhi_ps(row2, row3);
    return {{_mm256_shuffle_ps(a, c, _MM_SHUFFLE(1, 0, 1, 0)),
             _mm256_shuffle_ps(a, c, _MM_SHUFFLE(3, 2, 3, 2)),
             _mm256_shuffle_ps(b, d, _MM_SHUFFLE(1, 0, 1, 0)),
             _mm256_shuffle_ps(b, d, _MM_SHUFFLE(3, 2, 3, 2))}};
}

/// The same of rows that begin at row(0) to row(7).
template <class Row>
[[gnu::always_inline]] inline FourVectors load_transposed(const Row& row) {
    return transposed([&](std::int64_t r)
                          __attribute__((always_inline)) { return _mm_loadu_ps(row(r)); });
}

/// The same of rows that have `count` words, below four; the others are 0.
template <class Row>
[[gnu::always_inline]] inline FourVectors load_transposed(const Row& row, std::int64_t count) {
    const __m128i mask =
        _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_setr_epi32(0, 1, 2, 3));
    return transposed([&](std::int64_t r)
                          __attribute__((always_inline)) { return _mm_maskload_ps(row(r), mask); });
}

}  // namespace cambrian::cpu

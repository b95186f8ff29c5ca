#pragma once

#include <immintrin.h>

#include <cstdint>

namespace cambrian::cpu {

struct EightVectors {
    __m256 vectors[8];
};

/// The columns of eight rows of eight words each, of which load(row, column) gives four.
template <class Load>
[[gnu::always_inline]] inline EightVectors transposed(const Load& load) {
    // Row r and row r + 4 side by side, so that the rest stays inside halves.
    const auto pair = [&](std::int64_t r, std::int64_t column) __attribute__((always_inline)) {
        return _mm256_insertf128_ps(_mm256_castps128_ps256(load(r, column)), load(r + 4, column),
                                    1);
    };
    EightVectors columns;
    const auto half = [&](std::int64_t column) __attribute__((always_inline)) {
        const __m256 row0 = pair(0, column);
        const __m256 row1 = pair(1, column);
        const __m256 row2 = pair(2, column);
        const __m256 row3 = pair(3, column);
        const __m256 a = _mm256_unpacklo_ps(row0, row1);
        const __m256 b = _mm256_unpackhi_ps(row0, row1);
        const __m256 c = _mm256_unpacklo_ps(row2, row3);
        const __m256 d = _mm256_unpackhi_ps(row2, row3);
        columns.vectors[column] = _mm256_shuffle_ps(a, c, _MM_SHUFFLE(1, 0, 1, 0));
        columns.vectors[column + 1] = _mm256_shuffle_ps(a, c, _MM_SHUFFLE(3, 2, 3, 2));
        columns.vectors[column + 2] = _mm256_shuffle_ps(b, d, _MM_SHUFFLE(1, 0, 1, 0));
        columns.vectors[column + 3] = _mm256_shuffle_ps(b, d, _MM_SHUFFLE(3, 2, 3, 2));
    };
    half(0);
    half(4);
    return columns;
}

/// The columns of eight rows of eight words each, which begin at row(0) to row(7).
template <class Row>
[[gnu::always_inline]] inline EightVectors load_transposed(const Row& row) {
    return transposed([&](std::int64_t r, std::int64_t column)
                          __attribute__((always_inline)) { return _mm_loadu_ps(row(r) + column); });
}

/// The same of rows that have `count` words, at most eight; the others are 0.
template <class Row>
[[gnu::always_inline]] inline EightVectors load_transposed(const Row& row, std::int64_t count) {
    const __m128i index = _mm_setr_epi32(0, 1, 2, 3);
    const auto mask = [&](std::int64_t words) {
        return _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(words)), index);
    };
    const __m128i masks[] = {mask(count), mask(count - 4)};
    return transposed([&](std::int64_t r, std::int64_t column) __attribute__((always_inline)) {
        return _mm_maskload_ps(row(r) + column, masks[column / 4]);
    });
}

}  // namespace cambrian::cpu

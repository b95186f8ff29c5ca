#include "cambrian/engine/cpu/product.hpp"

#include <immintrin.h>

#include <cstddef>

namespace cambrian::cpu {

namespace {

constexpr std::int64_t lanes = 8;

/// First element of a vector of a row.
constexpr std::int64_t lane(std::size_t vector) {
    return static_cast<std::int64_t>(vector) * lanes;
}

/// All lanes below `count`.
__m256i lane_mask(std::int64_t count) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), index);
}

/// A tile of c: `rows` rows of `vectors` whole vectors, kept in registers over all k.
template <std::size_t rows, std::size_t vectors>
void whole_tile(const MatrixView& a, const MatrixView& b, float* c, std::int64_t n,
                std::int64_t k) {
    __m256 sums[rows][vectors];
    for (auto& row : sums) {
        for (__m256& sum : row) {
            sum = _mm256_setzero_ps();
        }
    }
    for (std::int64_t step = 0; step < k; ++step) {
        __m256 right[vectors];
        for (std::size_t v = 0; v < vectors; ++v) {
            right[v] = _mm256_loadu_ps(b.data + step * b.row + lane(v));
        }
        for (std::size_t r = 0; r < rows; ++r) {
            const __m256 left =
                _mm256_set1_ps(a.data[static_cast<std::int64_t>(r) * a.row + step * a.column]);
            for (std::size_t v = 0; v < vectors; ++v) {
                sums[r][v] = _mm256_add_ps(sums[r][v], _mm256_mul_ps(left, right[v]));
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t v = 0; v < vectors; ++v) {
            _mm256_storeu_ps(c + static_cast<std::int64_t>(r) * n + lane(v), sums[r][v]);
        }
    }
}

/// The same for the last, incomplete vector of the rows.
template <std::size_t rows>
void edge_tile(const MatrixView& a, const MatrixView& b, float* c, std::int64_t n, std::int64_t k,
               __m256i mask) {
    __m256 sums[rows];
    for (__m256& sum : sums) {
        sum = _mm256_setzero_ps();
    }
    for (std::int64_t step = 0; step < k; ++step) {
        const __m256 right = _mm256_maskload_ps(b.data + step * b.row, mask);
        for (std::size_t r = 0; r < rows; ++r) {
            const __m256 left =
                _mm256_set1_ps(a.data[static_cast<std::int64_t>(r) * a.row + step * a.column]);
            sums[r] = _mm256_add_ps(sums[r], _mm256_mul_ps(left, right));
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        _mm256_maskstore_ps(c + static_cast<std::int64_t>(r) * n, mask, sums[r]);
    }
}

/// `rows` rows of c, in tiles of `vectors` vectors while they fit.
template <std::size_t rows, std::size_t vectors>
void row_band(const MatrixView& a, const MatrixView& b, float* c, std::int64_t n, std::int64_t k) {
    std::int64_t column = 0;
    const auto right = [&] { return MatrixView{b.data + column, b.row, 1}; };
    for (; column + lane(vectors) <= n; column += lane(vectors)) {
        whole_tile<rows, vectors>(a, right(), c + column, n, k);
    }
    for (; column + lanes <= n; column += lanes) {
        whole_tile<rows, 1>(a, right(), c + column, n, k);
    }
    if (column < n) {
        edge_tile<rows>(a, right(), c + column, n, k, lane_mask(n - column));
    }
}

/// A square of `lanes` rows of `from` as columns of `to`.
void transpose_tile(const float* from, std::int64_t from_row, float* to, std::int64_t to_row) {
    __m256 rows[lanes];
    // Row r and row r + 4 side by side, so that the rest stays inside halves.
    for (std::int64_t r = 0; r < lanes / 2; ++r) {
        const float* low = from + r * from_row;
        const float* high = low + lanes / 2 * from_row;
        const auto pair = [&](std::int64_t column) {
            return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low + column)),
                                        _mm_loadu_ps(high + column), 1);
        };
        rows[r] = pair(0);
        rows[r + lanes / 2] = pair(lanes / 2);
    }
    for (std::int64_t half = 0; half < lanes; half += lanes / 2) {
        const __m256 a = _mm256_unpacklo_ps(rows[half], rows[half + 1]);
        const __m256 b = _mm256_unpackhi_ps(rows[half], rows[half + 1]);
        const __m256 c = _mm256_unpacklo_ps(rows[half + 2], rows[half + 3]);
        const __m256 d = _mm256_unpackhi_ps(rows[half + 2], rows[half + 3]);
        float* out = to + half * to_row;
        _mm256_storeu_ps(out, _mm256_shuffle_ps(a, c, _MM_SHUFFLE(1, 0, 1, 0)));
        _mm256_storeu_ps(out + to_row, _mm256_shuffle_ps(a, c, _MM_SHUFFLE(3, 2, 3, 2)));
        _mm256_storeu_ps(out + 2 * to_row, _mm256_shuffle_ps(b, d, _MM_SHUFFLE(1, 0, 1, 0)));
        _mm256_storeu_ps(out + 3 * to_row, _mm256_shuffle_ps(b, d, _MM_SHUFFLE(3, 2, 3, 2)));
    }
}

}  // namespace

void ordered_product(const MatrixView& a, const MatrixView& b, float* c, std::int64_t m,
                     std::int64_t n, std::int64_t k) {
    constexpr std::int64_t band = 4;
    std::int64_t row = 0;
    const auto left = [&] { return MatrixView{a.data + row * a.row, a.row, a.column}; };
    for (; row + band <= m; row += band) {
        row_band<band, 2>(left(), b, c + row * n, n, k);
    }
    for (; row < m; ++row) {
        row_band<1, 4>(left(), b, c + row * n, n, k);
    }
}

void transpose(const float* b, float* transposed, std::int64_t n, std::int64_t k) {
    const std::int64_t whole_n = n / lanes * lanes;
    const std::int64_t whole_k = k / lanes * lanes;
    for (std::int64_t i = 0; i < whole_n; i += lanes) {
        for (std::int64_t j = 0; j < whole_k; j += lanes) {
            transpose_tile(b + i * k + j, k, transposed + j * n + i, n);
        }
    }
    for (std::int64_t j = 0; j < k; ++j) {
        for (std::int64_t i = j < whole_k ? whole_n : 0; i < n; ++i) {
            transposed[j * n + i] = b[i * k + j];
        }
    }
}

}  // namespace cambrian::cpu

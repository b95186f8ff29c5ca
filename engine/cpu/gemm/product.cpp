#include "cambrian/engine/cpu/gemm/product.hpp"

#include <cstddef>

#include "cambrian/engine/core/simd/lanes.hpp"

namespace cambrian::cpu {

namespace {

/// A tile of c: `rows` rows of `vectors` whole vectors, kept in registers over all k.
template <std::size_t rows, std::size_t vectors>
void whole_tile(const MatrixView& a, const MatrixView& b, float* c, std::int64_t n,
                std::int64_t k) {
    FloatVector sums[rows][vectors];
    unrolled<rows>([&](auto r) __attribute__((always_inline)) {
        unrolled<vectors>([&](auto v)
                              __attribute__((always_inline)) { sums[r][v] = FloatVector{}; });
    });
    for (std::int64_t step = 0; step < k; ++step) {
        FloatVector right[vectors];
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
            right[v] = load(b.data + step * b.row + lane(v));
        });
        unrolled<rows>([&](auto r) __attribute__((always_inline)) {
            const FloatVector left =
                repeated(a.data[static_cast<std::int64_t>(r.value) * a.row + step * a.column]);
            unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
                sums[r][v] = sums[r][v] + left * right[v];
            });
        });
    }
    unrolled<rows>([&](auto r) __attribute__((always_inline)) {
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
            store(c + static_cast<std::int64_t>(r.value) * n + lane(v), sums[r][v]);
        });
    });
}

/// The same for the last, incomplete vector of the rows.
template <std::size_t rows>
void edge_tile(const MatrixView& a, const MatrixView& b, float* c, std::int64_t n, std::int64_t k,
               std::int64_t count) {
    const IntVector mask = lane_mask(count);
    FloatVector sums[rows];
    unrolled<rows>([&](auto r) __attribute__((always_inline)) { sums[r] = FloatVector{}; });
    for (std::int64_t step = 0; step < k; ++step) {
        const FloatVector right = load_masked(b.data + step * b.row, mask);
        unrolled<rows>([&](auto r) __attribute__((always_inline)) {
            const FloatVector left =
                repeated(a.data[static_cast<std::int64_t>(r.value) * a.row + step * a.column]);
            sums[r] = sums[r] + left * right;
        });
    }
    unrolled<rows>([&](auto r) __attribute__((always_inline)) {
        store_first(c + static_cast<std::int64_t>(r.value) * n, sums[r], count);
    });
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
        edge_tile<rows>(a, right(), c + column, n, k, n - column);
    }
}

/// A square of `lanes` rows of `from` as columns of `to`.
void transpose_tile(const float* from, std::int64_t from_row, float* to, std::int64_t to_row) {
    constexpr std::int64_t half = 4;
    for (std::int64_t first = 0; first < lanes; first += half) {
        const auto columns =
            load_transposed([&](std::int64_t row) { return from + row * from_row + first; });
        unrolled<static_cast<std::size_t>(half)>([&](auto column) {
            store(to + (first + std::int64_t{column}) * to_row, columns.vectors[column]);
        });
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

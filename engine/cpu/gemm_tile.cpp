#include "cambrian/engine/cpu/gemm_tile.hpp"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "cambrian/engine/cpu/lanes.hpp"
#include "cambrian/engine/cpu/transpose_tile.hpp"
#include "cambrian/engine/cpu/unrolled.hpp"

namespace cambrian::cpu {

namespace {

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

enum class Operands : std::uint8_t { packed, half_packed, plain };

template <Operands operands, std::size_t rows, std::size_t vectors, bool whole>
void tile_of(const GemmTile& tile) {
    const std::int64_t last = tile.columns - lane(vectors - 1);
    __m256 sums[rows][vectors];
    unrolled<rows>([&](auto r) __attribute__((always_inline)) {
        unrolled<vectors>([&](auto v)
                              __attribute__((always_inline)) { sums[r][v] = _mm256_setzero_ps(); });
    });
    constexpr bool packs_a = operands == Operands::packed;
    constexpr bool packs_b = operands != Operands::plain;
    const std::int64_t a_row = packs_a ? 1 : tile.a_row;
    const std::int64_t a_step = packs_a ? GemmTile::most_rows : tile.a_step;
    const std::int64_t b_step = packs_b ? GemmTile::most_columns : tile.b_step;
    const __m256i mask = lane_mask(last);
    const float* a = tile.a;
    const float* b = tile.b;
    const std::int64_t depth = tile.depth;
#pragma GCC unroll 4
    for (std::int64_t p = 0; p < depth; ++p) {
        __m256 right[vectors];
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
            right[v] = !whole && !packs_b && v + 1 == vectors
                           ? _mm256_maskload_ps(b + lane(v), mask)
                           : _mm256_loadu_ps(b + lane(v));
        });
        unrolled<rows>([&](auto r) __attribute__((always_inline)) {
            const __m256 left = _mm256_broadcast_ss(a + static_cast<std::int64_t>(r.value) * a_row);
            unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
                sums[r][v] = _mm256_fmadd_ps(left, right[v], sums[r][v]);
            });
        });
        a += a_step;
        b += b_step;
    }
    unrolled<rows>([&](auto r) __attribute__((always_inline)) {
        float* c = tile.c + static_cast<std::int64_t>(r.value) * tile.c_row;
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
            finish(tile, c + lane(v), sums[r][v], !whole && v + 1 == vectors ? last : lanes);
        });
    });
}

/// Kernels of `rows` rows: of as many vectors as the first index says, and one more, the last of
/// them in part (0) or whole (1).
template <Operands operands, std::size_t rows, std::size_t... vector>
constexpr auto kernels_of(std::index_sequence<vector...>) {
    return std::array<std::array<GemmKernel, 2>, sizeof...(vector)>{std::array<GemmKernel, 2>{
        tile_of<operands, rows, vector + 1, false>, tile_of<operands, rows, vector + 1, true>}...};
}

template <Operands operands, std::size_t rows>
constexpr auto kernels = kernels_of<operands, rows>(
    std::make_index_sequence<static_cast<std::size_t>(
        (operands == Operands::plain ? GemmTile::plain_columns(rows) : GemmTile::most_columns) /
        lanes)>{});

template <Operands operands, std::size_t... row>
GemmKernel choose(std::int64_t rows, std::int64_t columns, std::index_sequence<row...>) {
    static constexpr std::array<const std::array<GemmKernel, 2>*, sizeof...(row)> table{
        kernels<operands, row + 1>.data()...};
    const auto& of_vectors = table[static_cast<std::size_t>(rows - 1)][(columns - 1) / lanes];
    return of_vectors[columns % lanes == 0 ? 1 : 0];
}

/// Eight columns of a tile whose B lies transposed, turned in registers.
template <std::size_t rows>
void transposed_columns(const GemmTile& tile, std::int64_t column, std::int64_t count) {
    __m256 sums[rows];
    unrolled<rows>([&](auto r) __attribute__((always_inline)) { sums[r] = _mm256_setzero_ps(); });
    const float* a = tile.a;
    const auto multiply = [&](const __m256& right, std::int64_t p) __attribute__((always_inline)) {
        unrolled<rows>([&](auto r) __attribute__((always_inline)) {
            const __m256 left = _mm256_broadcast_ss(
                a + static_cast<std::int64_t>(r.value) * tile.a_row + p * tile.a_step);
            sums[r] = _mm256_fmadd_ps(left, right, sums[r]);
        });
    };
    const std::int64_t depth = tile.depth;
    std::int64_t p = 0;
    // Rows of B that are missing in the last columns repeat the last one.
    const auto row = [&](std::int64_t r) __attribute__((always_inline)) {
        return tile.b + (column + std::min(r, count - 1)) * tile.b_step + p;
    };
    for (; p + lanes <= depth; p += lanes) {
        const EightVectors right = load_transposed(row);
        unrolled<static_cast<std::size_t>(lanes)>([&](auto i) __attribute__((always_inline)) {
            multiply(right.vectors[i], p + std::int64_t{i});
        });
    }
    if (p < depth) {
        const EightVectors right = load_transposed(row, depth - p);
        for (std::int64_t i = 0; i < depth - p; ++i) {
            multiply(right.vectors[i], p + i);
        }
    }
    unrolled<rows>([&](auto r) __attribute__((always_inline)) {
        finish(tile, tile.c + static_cast<std::int64_t>(r.value) * tile.c_row + column, sums[r],
               count);
    });
}

template <std::size_t rows>
void transposed_tile(const GemmTile& tile) {
    for (std::int64_t column = 0; column < tile.columns; column += lanes) {
        transposed_columns<rows>(tile, column, std::min(lanes, tile.columns - column));
    }
}

template <std::size_t... row>
GemmKernel choose_transposed(std::int64_t rows, std::index_sequence<row...>) {
    static constexpr std::array<GemmKernel, sizeof...(row)> table{transposed_tile<row + 1>...};
    return table[static_cast<std::size_t>(rows - 1)];
}

using Rows = std::make_index_sequence<static_cast<std::size_t>(GemmTile::most_rows)>;

}  // namespace

GemmKernel packed_kernel(std::int64_t rows, std::int64_t columns) {
    return choose<Operands::packed>(rows, columns, Rows{});
}

GemmKernel half_packed_kernel(std::int64_t rows, std::int64_t columns) {
    return choose<Operands::half_packed>(rows, columns, Rows{});
}

GemmKernel plain_kernel(std::int64_t rows, std::int64_t columns) {
    return choose<Operands::plain>(rows, columns, Rows{});
}

GemmKernel transposed_kernel(std::int64_t rows) {
    return choose_transposed(rows, Rows{});
}

}  // namespace cambrian::cpu

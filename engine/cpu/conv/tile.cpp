#include "cambrian/engine/cpu/conv/tile.hpp"

#include <immintrin.h>

#include <array>
#include <utility>

namespace cambrian::cpu {

namespace {

// Sums, one row of windows and one weight fill the 16 or 32 registers there are.
constexpr std::size_t vectors = 3;
constexpr std::size_t narrow_rows = 4;
constexpr std::size_t wide_rows = 8;

template <std::size_t rows, std::size_t columns, bool fused>
void narrow_tile(const ConvTileCall& call) {
    __m256 sums[rows][columns];
    for (auto& row : sums) {
        for (__m256& sum : row) {
            sum = _mm256_setzero_ps();
        }
    }
    for (std::int64_t k = 0; k < call.depth; ++k) {
        __m256 right[columns];
        for (std::size_t v = 0; v < columns; ++v) {
            right[v] = _mm256_loadu_ps(call.windows + call.offsets[k] + 8 * v);
        }
        for (std::size_t r = 0; r < rows; ++r) {
            const __m256 left =
                _mm256_set1_ps(call.weights[static_cast<std::int64_t>(r) * call.depth + k]);
            for (std::size_t v = 0; v < columns; ++v) {
                sums[r][v] = fused ? _mm256_fmadd_ps(left, right[v], sums[r][v])
                                   : _mm256_add_ps(sums[r][v], _mm256_mul_ps(left, right[v]));
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t v = 0; v < columns; ++v) {
            _mm256_storeu_ps(call.sums + 8 * (r * columns + v), sums[r][v]);
        }
    }
}

template <std::size_t rows, std::size_t columns, bool fused>
[[gnu::target("avx512f")]] void wide_tile(const ConvTileCall& call) {
    __m512 sums[rows][columns];
    for (auto& row : sums) {
        for (__m512& sum : row) {
            sum = _mm512_setzero_ps();
        }
    }
    for (std::int64_t k = 0; k < call.depth; ++k) {
        __m512 right[columns];
        for (std::size_t v = 0; v < columns; ++v) {
            right[v] = _mm512_loadu_ps(call.windows + call.offsets[k] + 16 * v);
        }
        for (std::size_t r = 0; r < rows; ++r) {
            const __m512 left =
                _mm512_set1_ps(call.weights[static_cast<std::int64_t>(r) * call.depth + k]);
            for (std::size_t v = 0; v < columns; ++v) {
                sums[r][v] = fused ? _mm512_fmadd_ps(left, right[v], sums[r][v])
                                   : _mm512_add_ps(sums[r][v], _mm512_mul_ps(left, right[v]));
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t v = 0; v < columns; ++v) {
            _mm512_storeu_ps(call.sums + 16 * (r * columns + v), sums[r][v]);
        }
    }
}

template <bool fused, std::size_t... index>
constexpr std::array<ConvTiles::Kernel, sizeof...(index)> narrow_kernels(
    std::index_sequence<index...>) {
    return {narrow_tile<index / vectors + 1, index % vectors + 1, fused>...};
}

template <bool fused, std::size_t... index>
constexpr std::array<ConvTiles::Kernel, sizeof...(index)> wide_kernels(
    std::index_sequence<index...>) {
    return {wide_tile<index / vectors + 1, index % vectors + 1, fused>...};
}

using NarrowIndices = std::make_index_sequence<narrow_rows * vectors>;
using WideIndices = std::make_index_sequence<wide_rows * vectors>;
constexpr auto narrow_fused = narrow_kernels<true>(NarrowIndices{});
constexpr auto narrow_ordered = narrow_kernels<false>(NarrowIndices{});
constexpr auto wide_fused = wide_kernels<true>(WideIndices{});
constexpr auto wide_ordered = wide_kernels<false>(WideIndices{});

}  // namespace

std::span<const ConvTiles> all_conv_tiles() {
    static const std::array tiles{
        ConvTiles{"avx2", 8, narrow_rows, vectors, narrow_fused, narrow_ordered, true},
        ConvTiles{"avx512", 16, wide_rows, vectors, wide_fused, wide_ordered,
                  __builtin_cpu_supports("avx512f") != 0}};
    return tiles;
}

const ConvTiles& conv_tiles() {
    const std::span<const ConvTiles> tiles = all_conv_tiles();
    return tiles.back().supported ? tiles.back() : tiles.front();
}

}  // namespace cambrian::cpu

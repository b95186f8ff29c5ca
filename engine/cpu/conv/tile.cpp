#include "cambrian/engine/cpu/conv/tile.hpp"

#include <array>
#include <utility>

#include "cambrian/engine/core/simd/lanes.hpp"

namespace cambrian::cpu {

namespace {

// Sums, one row of windows and one weight fill the 16 or 32 registers there are.
constexpr std::size_t vectors = 3;
constexpr std::size_t narrow_rows = 4;

template <std::size_t rows, std::size_t columns, bool fused>
void narrow_tile(const ConvTileCall& call) {
    FloatVector sums[rows][columns];
    for (auto& row : sums) {
        for (FloatVector& sum : row) {
            sum = FloatVector{};
        }
    }
    for (std::int64_t k = 0; k < call.depth; ++k) {
        FloatVector right[columns];
        for (std::size_t v = 0; v < columns; ++v) {
            right[v] = load(call.windows + call.offsets[k] + lane(v));
        }
        for (std::size_t r = 0; r < rows; ++r) {
            const FloatVector left =
                repeated(call.weights[static_cast<std::int64_t>(r) * call.depth + k]);
            for (std::size_t v = 0; v < columns; ++v) {
                sums[r][v] =
                    fused ? multiply_add(left, right[v], sums[r][v]) : sums[r][v] + left * right[v];
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t v = 0; v < columns; ++v) {
            store(call.sums + lane(r * columns + v), sums[r][v]);
        }
    }
}

#if CAMBRIAN_AVX2
constexpr std::size_t wide_tile_rows = 8;

template <std::size_t rows, std::size_t columns, bool fused>
[[gnu::target("avx512f")]] void wide_tile(const ConvTileCall& call) {
    WideVector sums[rows][columns];
    for (auto& row : sums) {
        for (WideVector& sum : row) {
            sum = WideVector{};
        }
    }
    for (std::int64_t k = 0; k < call.depth; ++k) {
        WideVector right[columns];
        for (std::size_t v = 0; v < columns; ++v) {
            right[v] = wide_load(call.windows + call.offsets[k] + wide_lanes * v);
        }
        for (std::size_t r = 0; r < rows; ++r) {
            const WideVector left =
                wide_repeated(call.weights[static_cast<std::int64_t>(r) * call.depth + k]);
            for (std::size_t v = 0; v < columns; ++v) {
                sums[r][v] = fused ? wide_multiply_add(left, right[v], sums[r][v])
                                   : wide_add(sums[r][v], wide_multiply(left, right[v]));
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t v = 0; v < columns; ++v) {
            wide_store(call.sums + wide_lanes * (r * columns + v), sums[r][v]);
        }
    }
}

template <bool fused, std::size_t... index>
constexpr std::array<ConvTiles::Kernel, sizeof...(index)> wide_kernels(
    std::index_sequence<index...>) {
    return {wide_tile<index / vectors + 1, index % vectors + 1, fused>...};
}

using WideIndices = std::make_index_sequence<wide_tile_rows * vectors>;
constexpr auto wide_fused = wide_kernels<true>(WideIndices{});
constexpr auto wide_ordered = wide_kernels<false>(WideIndices{});
#endif

template <bool fused, std::size_t... index>
constexpr std::array<ConvTiles::Kernel, sizeof...(index)> narrow_kernels(
    std::index_sequence<index...>) {
    return {narrow_tile<index / vectors + 1, index % vectors + 1, fused>...};
}

using NarrowIndices = std::make_index_sequence<narrow_rows * vectors>;
constexpr auto narrow_fused = narrow_kernels<true>(NarrowIndices{});
constexpr auto narrow_ordered = narrow_kernels<false>(NarrowIndices{});

}  // namespace

std::span<const ConvTiles> all_conv_tiles() {
    static const std::array tiles {
        ConvTiles{"8 lanes", lanes, narrow_rows, vectors, narrow_fused, narrow_ordered, true},
#if CAMBRIAN_AVX2
            ConvTiles{"16 lanes", wide_lanes,   wide_tile_rows,    vectors,
                      wide_fused, wide_ordered, has_wide_vectors()},
#endif
    };
    return tiles;
}

const ConvTiles& conv_tiles() {
    const std::span<const ConvTiles> tiles = all_conv_tiles();
    return tiles.back().supported ? tiles.back() : tiles.front();
}

}  // namespace cambrian::cpu

#include "cambrian/engine/cpu/gemm/tile.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "cambrian/engine/core/prefetch.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"

namespace cambrian::cpu {

namespace {

enum class Operands : std::uint8_t { packed, half_packed, plain };

template <Operands operands, std::size_t rows, std::size_t vectors, bool whole>
void tile_of(const GemmTile& tile) {
    const std::int64_t last = tile.columns - lane(vectors - 1);
    FloatVector sums[rows][vectors];
    unrolled<rows>([&](auto r) __attribute__((always_inline)) {
        unrolled<vectors>([&](auto v)
                              __attribute__((always_inline)) { sums[r][v] = FloatVector{}; });
    });
    constexpr bool packs_a = operands == Operands::packed;
    constexpr bool packs_b = operands != Operands::plain;
    const std::int64_t a_row = packs_a ? 1 : tile.a_row;
    const std::int64_t a_step = packs_a ? GemmTile::max_rows : tile.a_step;
    const std::int64_t b_step = packs_b ? GemmTile::max_columns : tile.b_step;
    const IntVector mask = lane_mask(last);
    const float* a = tile.a;
    const float* b = tile.b;
    const std::int64_t depth = tile.depth;
    if constexpr (packs_a) {
        // C comes while the sums run.
        unrolled<rows>([&](auto r) __attribute__((always_inline)) {
            const float* c = tile.c + static_cast<std::int64_t>(r.value) * tile.c_row;
            prefetch(c);
        });
    }
#pragma GCC unroll 4
    for (std::int64_t p = 0; p < depth; ++p) {
        FloatVector right[vectors];
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
            right[v] = !whole && !packs_b && v + 1 == vectors ? load_masked(b + lane(v), mask)
                                                              : load(b + lane(v));
        });
        unrolled<rows>([&](auto r) __attribute__((always_inline)) {
            const FloatVector left = load_repeated(a + static_cast<std::int64_t>(r.value) * a_row);
            unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
                sums[r][v] = multiply_add(left, right[v], sums[r][v]);
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
        (operands == Operands::plain ? GemmTile::plain_columns(rows) : GemmTile::max_columns) /
        lanes)>{});

template <Operands operands, std::size_t... row>
GemmKernel choose(std::int64_t rows, std::int64_t columns, std::index_sequence<row...>) {
    static constexpr std::array<const std::array<GemmKernel, 2>*, sizeof...(row)> table{
        kernels<operands, row + 1>.data()...};
    const auto& of_vectors = table[static_cast<std::size_t>(rows - 1)][(columns - 1) / lanes];
    return of_vectors[columns % lanes == 0 ? 1 : 0];
}

using Rows = std::make_index_sequence<static_cast<std::size_t>(GemmTile::max_rows)>;

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

}  // namespace cambrian::cpu

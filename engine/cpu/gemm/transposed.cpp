#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/gemm/tile.hpp"

// Kernels for a B that lies transposed: squares of it are turned in registers.
namespace cambrian::cpu {

namespace {

constexpr std::int64_t square = 4;

/// Calls term(p, vectors, count) for runs of p, four or at last fewer, with the columns that
/// turn(p) or turn(p, count) gives.
template <class Turn, class Term>
[[gnu::always_inline]] inline void for_each_square(std::int64_t depth, const Turn& turn,
                                                   const Term& term) {
    std::int64_t p = 0;
    for (; p + square <= depth; p += square) {
        const auto columns = turn(p);
        unrolled<static_cast<std::size_t>(square)>([&](auto i) __attribute__((always_inline)) {
            term(p + std::int64_t{i}, columns, i);
        });
    }
    if (p < depth) {
        const auto columns = turn(p, depth - p);
        unrolled<static_cast<std::size_t>(square - 1)>([&](auto i) __attribute__((always_inline)) {
            if (p + std::int64_t{i} < depth) {
                term(p + std::int64_t{i}, columns, i);
            }
        });
    }
}

/// Eight columns of a tile, or the last ones.
template <std::size_t rows, bool whole>
void transposed_columns(const GemmTile& tile, std::int64_t column, std::int64_t count) {
    FloatVector sums[rows];
    unrolled<rows>([&](auto r) __attribute__((always_inline)) { sums[r] = FloatVector{}; });
    const float* b = tile.b + column * tile.b_step;
    const auto turn = [&](std::int64_t p, auto... words) __attribute__((always_inline)) {
        return load_transposed(
            [&](std::int64_t r) __attribute__((always_inline)) {
                // Rows of B that are missing in the last columns repeat the last one.
                return b + (whole ? r : std::min(r, count - 1)) * tile.b_step + p;
            },
            words...);
    };
    for_each_square(
        tile.depth, turn,
        [&](std::int64_t p, const FourVectors& columns, auto i) __attribute__((always_inline)) {
            unrolled<rows>([&](auto r) __attribute__((always_inline)) {
                const FloatVector left = load_repeated(
                    tile.a + static_cast<std::int64_t>(r.value) * tile.a_row + p * tile.a_step);
                sums[r] = multiply_add(left, columns.vectors[i], sums[r]);
            });
        });
    unrolled<rows>([&](auto r) __attribute__((always_inline)) {
        float* to = tile.c + static_cast<std::int64_t>(r.value) * tile.c_row + column;
        finish(tile, to, sums[r], whole ? lanes : count);
    });
}

template <std::size_t rows>
void transposed_tile(const GemmTile& tile) {
    std::int64_t column = 0;
    for (; column + lanes <= tile.columns; column += lanes) {
        transposed_columns<rows, true>(tile, column, lanes);
    }
    if (column < tile.columns) {
        transposed_columns<rows, false>(tile, column, tile.columns - column);
    }
}

template <std::size_t... row>
GemmKernel choose(std::int64_t rows, std::index_sequence<row...>) {
    static constexpr std::array<GemmKernel, sizeof...(row)> table{transposed_tile<row + 1>...};
    return table[static_cast<std::size_t>(rows - 1)];
}

/// Sums of eight rows each times a row of its own.
[[gnu::always_inline]] inline FloatVector row_sums(const float* const* left,
                                                   const float* const* right, std::int64_t depth) {
    struct Both {
        FourVectors left;
        FourVectors right;
    };
    FloatVector total = FloatVector{};
    const auto turn = [&](std::int64_t p, auto... words) __attribute__((always_inline)) {
        return Both{load_transposed([&](std::int64_t r) { return left[r] + p; }, words...),
                    load_transposed([&](std::int64_t r) { return right[r] + p; }, words...)};
    };
    for_each_square(
        depth, turn, [&](std::int64_t, const Both& both, auto i) __attribute__((always_inline)) {
            total = multiply_add(both.left.vectors[i], both.right.vectors[i], total);
        });
    return total;
}

}  // namespace

GemmKernel transposed_kernel(std::int64_t rows) {
    return choose(rows, std::make_index_sequence<static_cast<std::size_t>(GemmTile::max_rows)>{});
}

void GemmRows::run(std::int64_t products) const {
    const std::int64_t sums = products * columns;
    const float* own_a = a;
    const float* own_b = b;
    std::int64_t column = 0;
    for (std::int64_t first = 0; first < sums; first += lanes) {
        const std::int64_t count = std::min(lanes, sums - first);
        const float* left[lanes];
        const float* right[lanes];
        for (std::int64_t i = 0; i < lanes; ++i) {
            left[i] = own_a;
            right[i] = own_b + column * depth;
            // Sums beyond the last repeat it.
            if (i + 1 < count && ++column == columns) {
                column = 0;
                own_a += a_step;
                own_b += b_step;
            }
        }
        if (++column == columns) {
            column = 0;
            own_a += a_step;
            own_b += b_step;
        }
        const FloatVector total = row_sums(left, right, depth);
        if (count == lanes) {
            store(c + first, total);
        } else {
            store_first(c + first, total, count);
        }
    }
}

}  // namespace cambrian::cpu

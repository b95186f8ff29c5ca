#pragma once

#include <cstdint>

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/gemm/product.hpp"

namespace cambrian::cpu {

/// A tile of C from one block of k: every element is one chain of multiply_add from 0 over
/// ascending k, times `factor`, stored or added to C. So no bit depends on how C is cut.
struct GemmTile {
    const float* a = nullptr;  ///< Element (r, p) at a[r × a_row + p × a_step].
    std::int64_t a_row = 0;
    std::int64_t a_step = 0;
    const float* b = nullptr;  ///< Element (p, j) at b[p × b_step + j].
    std::int64_t b_step = 0;
    std::int64_t depth = 0;
    float* c = nullptr;  ///< Element (r, j) at c[r × c_row + j].
    std::int64_t c_row = 0;
    std::int64_t columns = 0;
    float factor = 1.0F;
    bool adds = false;

    static constexpr std::int64_t max_rows = 6;
    static constexpr std::int64_t max_columns = 16;

    /// Of a tile whose operands are not packed: few rows leave registers for more.
    static constexpr std::int64_t plain_columns(std::int64_t rows) {
        return rows == 1 ? 64 : rows <= 3 ? 32 : max_columns;
    }
};

/// Computes a tile of as many rows and columns as it was chosen for.
using GemmKernel = void (*)(const GemmTile& tile);

/// Packed rows lie one after the other for every p (a_row 1, a_step max_rows), and packed B has
/// max_columns columns whatever the tile has: those beyond are read and not stored.
/// @param rows, columns from 1 to max_rows and max_columns.
[[nodiscard]] GemmKernel packed_kernel(std::int64_t rows, std::int64_t columns);
/// The same from packed B and any A.
[[nodiscard]] GemmKernel half_packed_kernel(std::int64_t rows, std::int64_t columns);
/// The same from any A and B, up to plain_columns(rows) columns; reads no column beyond.
[[nodiscard]] GemmKernel plain_kernel(std::int64_t rows, std::int64_t columns);
/// The same from a B that lies transposed, element (p, j) at b[j × b_step + p]; any columns.
[[nodiscard]] GemmKernel transposed_kernel(std::int64_t rows);

/// Products of one row and few columns each, where B lies transposed: sums of several products lie
/// side by side in a vector.
struct GemmRows {
    const float* a = nullptr;  ///< Element p of product i at a[i × a_step + p].
    std::int64_t a_step = 0;
    const float* b = nullptr;  ///< Element (p, j) of product i at b[i × b_step + j × depth + p].
    std::int64_t b_step = 0;
    float* c = nullptr;  ///< Element j of product i at c[i × columns + j].
    std::int64_t columns = 0;
    std::int64_t depth = 0;

    void run(std::int64_t products) const;
};

/// Stores or adds one vector of a row, of which the first `count` lanes are in C.
[[gnu::always_inline]] inline void finish(const GemmTile& tile, float* to, FloatVector sum,
                                          std::int64_t count) {
    FloatVector result = repeated(tile.factor) * sum;
    if (tile.adds) {
        const FloatVector old = count < lanes ? load_masked(to, lane_mask(count)) : load(to);
        result = old + result;
    }
    if (count < lanes) {
        store_first(to, result, count);
    } else {
        store(to, result);
    }
}

/// Words after what packing writes that it may write too.
constexpr std::int64_t pack_overrun = 8;

/// Writes the transpose of `rows` rows of A in panels of GemmTile::max_rows: [panel][p][row], for
/// p below `depth`. Rows that are missing in the last panel are 0.
/// @param a one of its strides is 1.
void pack_rows(const MatrixView& a, std::int64_t rows, std::int64_t depth, float* to);

/// Writes `columns` columns of B in panels of GemmTile::max_columns: [panel][p][column], for p
/// below `depth`. Columns that are missing in the last panel are 0.
/// @param b one of its strides is 1.
void pack_columns(const MatrixView& b, std::int64_t columns, std::int64_t depth, float* to);

}  // namespace cambrian::cpu

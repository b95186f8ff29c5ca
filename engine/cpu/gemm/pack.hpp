#pragma once

#include <cstdint>

#include "cambrian/engine/cpu/gemm/product.hpp"

namespace cambrian::cpu {

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

#pragma once

#include <cstdint>

#include "cambrian/engine/graph/packed_rows.hpp"

namespace cambrian::cpu {

/// Rows of one matrix in codes (graph/packed_rows.hpp).
struct PackedRows {
    const std::uint32_t* words = nullptr;
    const float* scales = nullptr;               ///< Null where the format has none.
    const std::uint32_t* zero_points = nullptr;  ///< Likewise.
};

/// Writes the numbers of rows [first, first + count) to `numbers`, row by row: decoded()
/// (weights/dtype.hpp) of each code, bit by bit.
void decode_rows(const PackedAttribute& packed, const PackedRows& rows, std::int64_t first,
                 std::int64_t count, float* numbers);

}  // namespace cambrian::cpu

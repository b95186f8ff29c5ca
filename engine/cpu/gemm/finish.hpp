#pragma once

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/gemm/tile.hpp"

namespace cambrian::cpu {

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

}  // namespace cambrian::cpu

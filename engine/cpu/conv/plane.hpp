#pragma once

#include <cstdint>
#include <span>

namespace cambrian::cpu {

/// Neighbouring windows of a row, at most eight.
struct ConvVector {
    std::int64_t window = 0;  ///< Where tap 0 of the first reads.
    std::int64_t result = 0;  ///< Where its sum goes.
    std::int64_t count = 0;
};

/// Sums of one output: over k of weights[k] × windows[offsets[k] + window], k ascending from 0,
/// plus the bias. Where there is one output only, a tile of vectors from anywhere keeps more sums
/// under way than neighbours of a row. The same bits as a ConvTiles kernel.
struct ConvPlane {
    std::span<const std::int64_t> offsets;
    const float* weights = nullptr;
    const float* windows = nullptr;
    const float* bias = nullptr;  ///< May be null.
    float* result = nullptr;

    /// Eight words after the last window are read too.
    /// @param is_fused whether terms are not rounded before they are added.
    void run(std::span<const ConvVector> vectors, bool is_fused) const;
};

}  // namespace cambrian::cpu

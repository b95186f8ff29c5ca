#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cambrian::cpu {

/// A tile of sums over k of weights[row × depth + k] × windows[offsets[k] + column], k ascending
/// from 0: as many rows, and as many columns as sums' rows are apart.
struct ConvTileCall {
    const float* weights = nullptr;
    std::int64_t depth = 0;
    const float* windows = nullptr;
    const std::int64_t* offsets = nullptr;
    float* sums = nullptr;
};

/// Kernels for one width of registers. Each element is one chain of operations whatever the tile,
/// so all give the same bits.
struct ConvTiles {
    using Kernel = void (*)(const ConvTileCall& call);
    std::string_view name;
    std::int64_t lanes = 0;           ///< Columns of a vector.
    std::int64_t max_rows = 0;        ///< Of a tile.
    std::int64_t max_vectors = 0;     ///< Of a tile.
    std::span<const Kernel> fused;    ///< Terms are not rounded before they are added.
    std::span<const Kernel> ordered;  ///< Every term is.
    bool supported = false;           ///< By this processor.

    [[nodiscard]] Kernel kernel(bool is_fused, std::int64_t rows, std::int64_t vectors) const {
        const auto index = static_cast<std::size_t>((rows - 1) * max_vectors + vectors - 1);
        return is_fused ? fused[index] : ordered[index];
    }
};

/// From the narrowest on.
[[nodiscard]] std::span<const ConvTiles> all_conv_tiles();
/// The widest that this processor has.
[[nodiscard]] const ConvTiles& conv_tiles();

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

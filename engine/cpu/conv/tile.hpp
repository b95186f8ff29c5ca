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

}  // namespace cambrian::cpu

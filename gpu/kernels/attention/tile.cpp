#include "cambrian/gpu/kernels/attention/tile.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace cambrian::gpu {
namespace {

// From the narrowest sums on, the fastest of those measured on an H200 (8 × 16 × 2048 × 64 and ×
// 128, causal); wider ones than the last take several dispatches.
constexpr std::array tiles_of_one_sum{
    AttentionTile{64, 32, 32, 4},
    AttentionTile{64, 64, 64, 8},
    AttentionTile{64, 64, 128, 8},
    AttentionTile{32, 64, 256, 4},
};
constexpr std::array tiles_of_two_sums{
    AttentionTile{64, 32, 32, 4},
    AttentionTile{64, 64, 64, 8},
    AttentionTile{64, 64, 128, 8},
};
// What every device can run: 12 KiB of shared memory.
constexpr AttentionTile small_tile{32, 32, 64, 4};
// A software device compiles a large tile for a second and runs it no faster.
constexpr AttentionTile software_tile{8, 8, 8, 4};

}  // namespace

std::int64_t AttentionTile::shared_bytes() const {
    constexpr std::int64_t word = 4;
    return word * side * (rows + std::max(rows, side) + side);
}

bool AttentionTile::fits(const vulkan::DeviceLimits& limits) const {
    return threads() <= limits.max_group_threads && shared_bytes() <= limits.shared_bytes;
}

const AttentionTile& choose_attention_tile(std::int64_t columns, int sums,
                                           const vulkan::DeviceLimits& limits) {
    if (limits.software) return software_tile;
    const std::span<const AttentionTile> tiles =
        sums == 1 ? std::span<const AttentionTile>(tiles_of_one_sum) : tiles_of_two_sums;
    const AttentionTile* widest = &small_tile;
    for (const AttentionTile& tile : tiles) {
        if (!tile.fits(limits)) continue;
        widest = &tile;
        if (tile.columns >= columns) break;
    }
    return *widest;
}

}  // namespace cambrian::gpu

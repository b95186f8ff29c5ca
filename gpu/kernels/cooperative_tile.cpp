#include "cambrian/gpu/kernels/cooperative_tile.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::gpu {
namespace {

constexpr std::uint32_t lanes = 32;
constexpr std::int64_t vector_bytes = 16;
constexpr std::int64_t vector_codes = 8;

// Speeds as measured on an H200 with 256 x 784 x 128 for each of 2048 individuals, the fastest
// as 1.
constexpr std::array tiles{
    CooperativeTile{"f16_128x128x32", 128, 128, 32, 64, 64, 1.0},
    CooperativeTile{"f16_128x64x32", 128, 64, 32, 32, 64, 0.97},
    CooperativeTile{"f16_64x128x32", 64, 128, 32, 32, 64, 0.95},
    CooperativeTile{"f16_64x64x32", 64, 64, 32, 32, 64, 0.84},
    CooperativeTile{"f16_64x16x64", 64, 16, 64, 16, 16, 0.5},
    CooperativeTile{"f16_32x16x64", 32, 16, 64, 16, 16, 0.45},
    // Only measured.
    CooperativeTile{"f16_64x128x32_64x64", 64, 128, 32, 64, 64},
    CooperativeTile{"f16_128x64x32_64x64", 128, 64, 32, 64, 64},
    CooperativeTile{"f16_128x16x64", 128, 16, 64, 32, 16},
};

/// Elements that are computed for a result, those behind its edges too.
double padded(std::int64_t extent, std::uint32_t tile) {
    return static_cast<double>((extent + tile - 1) / tile * tile);
}

/// With one vector more in each line.
std::int64_t vectors(std::int64_t lines, std::int64_t width) {
    return lines * (width / vector_codes + 1);
}

}  // namespace

std::uint32_t CooperativeTile::threads() const {
    return lanes * (rows / part_rows) * (columns / part_columns);
}

std::int64_t CooperativeTile::shared_bytes() const {
    const auto operand = [&](std::int64_t extent) {
        return std::max(vectors(extent, depth), vectors(depth, extent));
    };
    constexpr std::int64_t stages = 2;
    const std::int64_t staged = stages * (operand(rows) + operand(columns));
    constexpr std::int64_t scratch_rows = 16;
    const std::int64_t scratch = scratch_rows * (part_columns / 4 + 1) * (threads() / lanes);
    return vector_bytes * std::max(staged, scratch);
}

bool CooperativeTile::fits(const vulkan::DeviceLimits& limits) const {
    return limits.cooperative_matrix && threads() <= limits.most_group_threads &&
           shared_bytes() <= limits.shared_bytes;
}

std::span<const CooperativeTile> cooperative_tiles() {
    return tiles;
}

const CooperativeTile& choose_cooperative_tile(std::int64_t m, std::int64_t n,
                                               const vulkan::DeviceLimits& limits) {
    const auto cost = [&](const CooperativeTile& tile) {
        return padded(m, tile.rows) * padded(n, tile.columns) / tile.speed;
    };
    const CooperativeTile* best = nullptr;
    for (const CooperativeTile& tile : tiles)
        if (tile.speed > 0.0 && tile.fits(limits) && (best == nullptr || cost(tile) < cost(*best)))
            best = &tile;
    CAMBRIAN_ASSERT(best != nullptr);
    return *best;
}

const CooperativeTile& cooperative_tile(std::string_view name, const vulkan::DeviceLimits& limits) {
    const auto found = std::ranges::find(tiles, name, &CooperativeTile::name);
    if (found == tiles.end()) {
        std::string names;
        for (const CooperativeTile& tile : tiles) names += " " + std::string(tile.name);
        throw ConfigError("the tile \"" + std::string(name) +
                          "\" is unknown (it is not one for codes) use one of" + names);
    }
    if (!found->fits(limits))
        throw ConfigError("the tile \"" + std::string(name) + "\" is too large (the device has " +
                          std::to_string(limits.shared_bytes) + " bytes of shared memory and " +
                          std::to_string(limits.most_group_threads) +
                          " threads for a workgroup) use a smaller one");
    return *found;
}

}  // namespace cambrian::gpu

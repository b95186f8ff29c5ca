#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/vulkan/device.hpp"

// Internal to gpu/kernels: the choice from a table of tiles. A tile has a name, rows and columns of
// the result for a workgroup (0: no tiles), a speed (0: only for measurements) and fits(limits).
namespace cambrian::gpu {

/// Elements that are computed along an extent of a result, those after its edge too.
inline double padded(std::int64_t extent, std::uint32_t tile) {
    const std::int64_t size = std::max<std::int64_t>(tile, 1);
    return static_cast<double>((extent + size - 1) / size * size);
}

/// The tile of a table that takes least time for a result [m, n]; one of them must fit.
template <typename Tile>
const Tile& fastest_tile(std::span<const Tile> tiles, std::int64_t m, std::int64_t n,
                         const vulkan::DeviceLimits& limits) {
    const auto cost = [&](const Tile& tile) {
        return padded(m, tile.rows) * padded(n, tile.columns) / tile.speed;
    };
    const Tile* best = nullptr;
    for (const Tile& tile : tiles)
        if (tile.speed > 0.0 && tile.fits(limits) && (best == nullptr || cost(tile) < cost(*best)))
            best = &tile;
    CAMBRIAN_ASSERT(best != nullptr);
    return *best;
}

/// The tile of a name. Throws ConfigError when the table has none, or when the device cannot run
/// it.
template <typename Tile>
const Tile& tile_of_name(std::span<const Tile> tiles, std::string_view name,
                         const vulkan::DeviceLimits& limits) {
    const auto found = std::ranges::find(tiles, name, &Tile::name);
    if (found == tiles.end()) {
        std::string names;
        for (const Tile& tile : tiles) names += " " + std::string(tile.name);
        throw ConfigError("the tile \"" + std::string(name) +
                          "\" is unknown (it is not in the table) use one of" + names);
    }
    if (!found->fits(limits))
        throw ConfigError("the tile \"" + std::string(name) + "\" is too large (the device has " +
                          std::to_string(limits.shared_bytes) + " bytes of shared memory and " +
                          std::to_string(limits.max_group_threads) +
                          " threads for a workgroup) use a smaller one");
    return *found;
}

}  // namespace cambrian::gpu

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

/// How a matrix product is cut into workgroups and invocations. Every element is summed in the
/// order of k (or of shaders/packed/chains.glsl) by one invocation whatever the tile, so the choice
/// never changes a bit.
struct MatmulTile {
    std::string_view name;
    std::uint32_t rows = 0;     ///< Of the result, for a workgroup; 0: no tiles, one element for
                                ///< each invocation (shader matmul_direct).
    std::uint32_t columns = 0;  ///< Of the result, for a workgroup.
    std::uint32_t depth = 0;    ///< Of the part of k in shared memory at a time.
    std::uint32_t thread_rows = 0;     ///< Of the result, for an invocation.
    std::uint32_t thread_columns = 0;  ///< Of the result, for an invocation.
    /// Useful work for its time, against the fastest; 0: only for measurements.
    double speed = 0.0;

    [[nodiscard]] bool direct() const { return rows == 0; }
    [[nodiscard]] std::uint32_t threads() const;
    [[nodiscard]] std::int64_t shared_bytes() const;
    /// Whether a device can run it.
    [[nodiscard]] bool fits(const vulkan::DeviceLimits& limits) const;
};

/// All tiles, those for software devices too.
[[nodiscard]] std::span<const MatmulTile> matmul_tiles();

/// The tile that wastes least on a product [m, k] × [k, n].
[[nodiscard]] const MatmulTile& choose_matmul_tile(std::int64_t m, std::int64_t n,
                                                   const vulkan::DeviceLimits& limits);

/// The tile of a name. Throws ConfigError when there is none, or when the device cannot run it.
[[nodiscard]] const MatmulTile& matmul_tile(std::string_view name,
                                            const vulkan::DeviceLimits& limits);

/// Codes of f16 in a vector.
inline constexpr std::int64_t vector_codes = 8;

/// How a product of codes is cut into workgroups and subgroups
/// (shaders/matmul/matmul_cooperative.comp). Every element is summed by one subgroup, 16 k at a
/// time in their order, whatever the tile, so the choice never changes a bit.
struct CooperativeTile {
    std::string_view name;
    std::uint32_t rows = 0;          ///< Of the result, for a workgroup.
    std::uint32_t columns = 0;       ///< Of the result, for a workgroup.
    std::uint32_t depth = 0;         ///< Of the part of k in shared memory at a time.
    std::uint32_t part_rows = 0;     ///< Of the result, for a subgroup.
    std::uint32_t part_columns = 0;  ///< Of the result, for a subgroup.
    std::uint32_t stages = 2;        ///< Tiles of an operand in shared memory.
    /// Useful work for its time, against the fastest; 0: only for measurements.
    double speed = 0.0;

    [[nodiscard]] std::uint32_t threads() const;
    /// The most, over all layouts of the operands.
    [[nodiscard]] std::int64_t shared_bytes() const;
    /// Whether a device can run it.
    [[nodiscard]] bool fits(const vulkan::DeviceLimits& limits) const;
};

[[nodiscard]] std::span<const CooperativeTile> cooperative_tiles();

/// The tile that wastes least on a product [m, k] × [k, n].
[[nodiscard]] const CooperativeTile& choose_cooperative_tile(std::int64_t m, std::int64_t n,
                                                             const vulkan::DeviceLimits& limits);

/// The tile of a name. Throws ConfigError when there is none, or when the device cannot run it.
[[nodiscard]] const CooperativeTile& cooperative_tile(std::string_view name,
                                                      const vulkan::DeviceLimits& limits);

}  // namespace cambrian::gpu

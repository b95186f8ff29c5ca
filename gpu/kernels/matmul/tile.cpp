#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"

#include <algorithm>
#include <array>

namespace cambrian::gpu {
namespace {

constexpr std::uint32_t direct_threads = 128;

// Speeds as measured on an H200 with products that fill it (4096 x 4096 x 4096, 256 x 784 x 128 for
// each of 4096 individuals, and for the narrow ones 256 x 128 x 10), the fastest as 1.
constexpr std::array tiles{
    MatmulTile{"64x128x16", 64, 128, 16, 8, 8, 1.0},
    MatmulTile{"128x64x16", 128, 64, 16, 8, 8, 0.97},
    MatmulTile{"64x64x16", 64, 64, 16, 8, 8, 0.89},
    MatmulTile{"32x32x16", 32, 32, 16, 4, 4, 0.71},
    MatmulTile{"128x16x16", 128, 16, 16, 4, 4, 0.58},
    MatmulTile{"4x128x16", 4, 128, 16, 4, 4, 0.22},
    MatmulTile{"direct", 0, 0, 0, 0, 0, 0.04},
    // Only measured.
    MatmulTile{"128x128x16", 128, 128, 16, 8, 8},
    MatmulTile{"256x16x16", 256, 16, 16, 8, 4},
    MatmulTile{"128x128x8", 128, 128, 8, 8, 8},
    MatmulTile{"256x128x8", 256, 128, 8, 16, 8},
    MatmulTile{"128x256x8", 128, 256, 8, 8, 16},
    MatmulTile{"256x64x16", 256, 64, 16, 8, 8},
    MatmulTile{"64x64x8", 64, 64, 8, 8, 8},
    MatmulTile{"64x64x16_4x4", 64, 64, 16, 4, 4},
    MatmulTile{"256x16x8", 256, 16, 8, 8, 4},
    MatmulTile{"128x32x16", 128, 32, 16, 8, 4},
    MatmulTile{"4x64x16", 4, 64, 16, 4, 4},
    MatmulTile{"4x256x8", 4, 256, 8, 4, 4},
};

// A software device compiles a large tile for a second and runs it no faster.
constexpr std::array software_tiles{
    MatmulTile{"32x32x8", 32, 32, 8, 4, 4, 1.0},
    MatmulTile{"direct", 0, 0, 0, 0, 0, 0.5},
};

}  // namespace

std::uint32_t MatmulTile::threads() const {
    return direct() ? direct_threads : rows / thread_rows * (columns / thread_columns);
}

std::int64_t MatmulTile::shared_bytes() const {
    constexpr std::int64_t stages = 2;
    constexpr std::int64_t word = 4;
    return stages * word * depth * (rows + columns);
}

bool MatmulTile::fits(const vulkan::DeviceLimits& limits) const {
    return threads() <= limits.max_group_threads && shared_bytes() <= limits.shared_bytes;
}

std::span<const MatmulTile> matmul_tiles() {
    static constexpr auto all = [] {
        std::array<MatmulTile, tiles.size() + 1> joined{};
        std::ranges::copy(tiles, joined.begin());
        joined[tiles.size()] = software_tiles[0];
        return joined;
    }();
    return all;
}

const MatmulTile& choose_matmul_tile(std::int64_t m, std::int64_t n,
                                     const vulkan::DeviceLimits& limits) {
    const std::span<const MatmulTile> candidates =
        limits.software ? std::span<const MatmulTile>(software_tiles) : tiles;
    return fastest_tile(candidates, m, n, limits);
}

const MatmulTile& matmul_tile(std::string_view name, const vulkan::DeviceLimits& limits) {
    return tile_of_name(matmul_tiles(), name, limits);
}

}  // namespace cambrian::gpu

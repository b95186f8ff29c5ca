#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"

#include <algorithm>
#include <array>

namespace cambrian::gpu {
namespace {

constexpr std::uint32_t lanes = 32;
constexpr std::int64_t vector_bytes = 16;

// Speeds as measured on an H200 with 256 x 784 x 128 for each of 4096 individuals, the fastest
// as 1. Tiles twice as deep, one at a time, take fewer barriers than two in turns.
constexpr std::array code_tiles{
    CooperativeTile{"f16_128x128x64", 128, 128, 64, 64, 64, 1, 1.0},
    CooperativeTile{"f16_128x64x32", 128, 64, 32, 32, 64, 2, 0.87},
    CooperativeTile{"f16_64x128x32", 64, 128, 32, 32, 64, 2, 0.85},
    CooperativeTile{"f16_64x64x32", 64, 64, 32, 32, 64, 2, 0.75},
    CooperativeTile{"f16_64x16x64", 64, 16, 64, 16, 16, 1, 0.49},
    CooperativeTile{"f16_32x16x64", 32, 16, 64, 16, 16, 2, 0.41},
    // Only measured.
    CooperativeTile{"f16_128x128x32", 128, 128, 32, 64, 64, 2},
    CooperativeTile{"f16_128x128x64_64x32", 128, 128, 64, 64, 32, 1},
    CooperativeTile{"f16_64x128x32_64x64", 64, 128, 32, 64, 64, 2},
    CooperativeTile{"f16_64x16x128", 64, 16, 128, 16, 16, 1},
    CooperativeTile{"f16_128x16x64", 128, 16, 64, 32, 16, 2},
};

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
    const std::int64_t staged = stages * (operand(rows) + operand(columns));
    constexpr std::int64_t scratch_rows = 16;
    const std::int64_t scratch = scratch_rows * (part_columns / 4 + 1) * (threads() / lanes);
    return vector_bytes * std::max(staged, scratch);
}

bool CooperativeTile::fits(const vulkan::DeviceLimits& limits) const {
    return limits.cooperative_matrix && threads() <= limits.max_group_threads &&
           shared_bytes() <= limits.shared_bytes;
}

std::span<const CooperativeTile> cooperative_tiles() {
    return code_tiles;
}

const CooperativeTile& choose_cooperative_tile(std::int64_t m, std::int64_t n,
                                               const vulkan::DeviceLimits& limits) {
    return fastest_tile(cooperative_tiles(), m, n, limits);
}

const CooperativeTile& cooperative_tile(std::string_view name, const vulkan::DeviceLimits& limits) {
    return tile_of_name(cooperative_tiles(), name, limits);
}

}  // namespace cambrian::gpu

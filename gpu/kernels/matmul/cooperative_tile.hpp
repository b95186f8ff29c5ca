#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::gpu {

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

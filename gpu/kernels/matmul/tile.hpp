#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::gpu {

/// How a matrix product is cut into workgroups and invocations. Every element is summed in the
/// order of k by one invocation whatever the tile, so the choice never changes a bit.
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

}  // namespace cambrian::gpu

#pragma once

#include <cstdint>

#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::gpu {

/// How attention is cut into workgroups and invocations (shaders/attention/attention.glsl).
struct AttentionTile {
    std::uint32_t rows = 0;         ///< Of a workgroup: queries, or keys for their gradient.
    std::uint32_t side = 0;         ///< Of the tiles it walks over, and the depth of its products.
    std::uint32_t columns = 0;      ///< Of what it sums up, in one dispatch.
    std::uint32_t thread_rows = 0;  ///< Of an invocation.

    [[nodiscard]] std::uint32_t threads() const { return rows / thread_rows * (side / 4); }
    [[nodiscard]] std::int64_t shared_bytes() const;
    [[nodiscard]] bool fits(const vulkan::DeviceLimits& limits) const;
};

/// For values `columns` wide, of which a workgroup sums up `sums` kinds in registers.
[[nodiscard]] const AttentionTile& choose_attention_tile(std::int64_t columns, int sums,
                                                         const vulkan::DeviceLimits& limits);

}  // namespace cambrian::gpu

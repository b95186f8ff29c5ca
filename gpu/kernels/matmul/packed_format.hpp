#pragma once

#include <cstdint>

#include "cambrian/engine/graph/packed_rows.hpp"

namespace cambrian::gpu {

/// What shaders of packed rows are specialised by (shaders/packed/packed.glsl).
struct PackedFormat {
    std::uint32_t kind = 0;
    std::uint32_t bits = 0;
    std::uint32_t group = 0;
};
/// Of numbers as they are.
inline constexpr PackedFormat plain_numbers{.kind = 9, .bits = 32, .group = 0};
/// Contract: a format that can be packed.
[[nodiscard]] PackedFormat packed_format(const PackedAttribute& packed);

}  // namespace cambrian::gpu

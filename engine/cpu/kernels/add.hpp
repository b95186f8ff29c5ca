#pragma once

#include <cstdint>

namespace cambrian::cpu {

/// The sum of two elements; integers wrap around like the registers of every device.
[[nodiscard]] inline float add(float a, float b) {
    return a + b;
}
[[nodiscard]] inline std::int32_t add(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

}  // namespace cambrian::cpu

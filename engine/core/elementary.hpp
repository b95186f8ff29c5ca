#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// Inlined always: a loop over one of these becomes vector code only when no call is left in it.
#define CAMBRIAN_ELEMENTARY(name) [[gnu::always_inline]] inline float name
#define CAMBRIAN_CALL(name) name
#define CAMBRIAN_CODEC(type, name) [[gnu::always_inline]] inline type name
#define CAMBRIAN_PRECISE
#define CAMBRIAN_EXACT_SUM(a, b, c) ((a) * (b) + (c))

/// Our own elementwise functions: the same bits on every device and in scalar and vector code,
/// special values like IEEE 754, subnormal numbers counted as zero. Within 2 units in the last
/// place (sin and cos for |x| <= 8192, the limit their argument is clamped to; erf too).
namespace cambrian::elementary {

using uint = std::uint32_t;
[[gnu::always_inline]] inline uint float_to_bits(float x) {
    return std::bit_cast<uint>(x);
}
[[gnu::always_inline]] inline float bits_to_float(uint bits) {
    return std::bit_cast<float>(bits);
}

#include "cambrian/engine/core/elementary.inl"

/// sin and cos of a larger angle are those of this one, with its sign; infinities give NaN.
inline constexpr double largest_angle = 8192.0;

}  // namespace cambrian::elementary

/// Codes of the formats that numbers are stored in: encode_<format> and decode_<format>, the same
/// bits on every device.
namespace cambrian::number_formats {

using namespace elementary;

#include "cambrian/engine/core/number_formats.inl"

/// The float that every narrower format rounds as it would round the double: cut off and odd where
/// inexact (Boldo and Melquiond, "When double rounding is odd", 2005).
[[nodiscard]] inline float round_to_odd(double x) {
    const auto nearest = static_cast<float>(x);
    if (std::isnan(x) || static_cast<double>(nearest) == x) return nearest;
    const bool beyond = std::fabs(static_cast<double>(nearest)) > std::fabs(x);
    return bits_to_float((float_to_bits(nearest) - (beyond ? 1U : 0U)) | 1U);
}

}  // namespace cambrian::number_formats

#undef CAMBRIAN_ELEMENTARY
#undef CAMBRIAN_CALL
#undef CAMBRIAN_CODEC
#undef CAMBRIAN_PRECISE
#undef CAMBRIAN_EXACT_SUM

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cambrian/engine/core/elementary.hpp"

/// Codes of the formats that files alone have; those that the graph computes with too are in
/// number_formats. Formats with a sign limit what lies beyond their largest, infinities too.
namespace cambrian::stored_formats {

using number_formats::decode_small_float;
using number_formats::encode_small_float;

/// OCP microscaling formats 1.0: at most 7.5, neither infinity nor NaN, which becomes 0.
inline std::uint32_t encode_f6_e2m3(float value) {
    return encode_small_float(value, 1, 3, 0x20U, 0x1FU, 0x1FU, 0x0U);
}
inline float decode_f6_e2m3(std::uint32_t code) {
    return decode_small_float(code, 1, 3, 0x20U, 0x1FU, 0x20U);
}

/// OCP microscaling formats 1.0: at most 28, neither infinity nor NaN, which becomes 0.
inline std::uint32_t encode_f6_e3m2(float value) {
    return encode_small_float(value, 3, 2, 0x20U, 0x1FU, 0x1FU, 0x0U);
}
inline float decode_f6_e3m2(std::uint32_t code) {
    return decode_small_float(code, 3, 2, 0x20U, 0x1FU, 0x20U);
}

/// 8-bit formats without infinity and without a negative zero, whose code is NaN (Noune et al.
/// 2022, "8-bit numerical formats for deep neural networks").
inline std::uint32_t encode_unsigned_zero(float value, int bias, int fraction_bits) {
    const std::uint32_t code =
        encode_small_float(value, bias, fraction_bits, 0x80U, 0x7FU, 0x7FU, 0x80U);
    return code == 0x80U && !std::isnan(value) ? 0U : code;
}
inline float decode_unsigned_zero(std::uint32_t code, int bias, int fraction_bits) {
    if (code == 0x80U) return std::numeric_limits<float>::quiet_NaN();
    return decode_small_float(code, bias, fraction_bits, 0x80U, 0x7FU, 0x80U);
}

/// At most 240.
inline std::uint32_t encode_f8_e4m3fnuz(float value) {
    return encode_unsigned_zero(value, 8, 3);
}
inline float decode_f8_e4m3fnuz(std::uint32_t code) {
    return decode_unsigned_zero(code, 8, 3);
}

/// At most 57344.
inline std::uint32_t encode_f8_e5m2fnuz(float value) {
    return encode_unsigned_zero(value, 16, 2);
}
inline float decode_f8_e5m2fnuz(std::uint32_t code) {
    return decode_unsigned_zero(code, 16, 2);
}

/// OCP microscaling formats 1.0, for scales: powers of two from 2^-127 to 2^127, and NaN. Of two
/// that are as near the greater; zero and what is negative become the least.
inline std::uint32_t encode_f8_e8m0(float value) {
    if (std::isnan(value)) return 0xFFU;
    int exponent = 0;
    const double part =
        std::frexp(std::clamp(static_cast<double>(value), 0x1p-127, 0x1p127), &exponent);
    return static_cast<std::uint32_t>((part < 0.75 ? exponent - 1 : exponent) + 127);
}
inline float decode_f8_e8m0(std::uint32_t code) {
    if (code == 0xFFU) return std::numeric_limits<float>::quiet_NaN();
    return std::ldexp(1.0F, static_cast<int>(code) - 127);
}

}  // namespace cambrian::stored_formats

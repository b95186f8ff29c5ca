#pragma once

#include <array>
#include <cstdint>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/graph/op.hpp"

namespace cambrian {

/// One row of the table of formats.
struct NumberFormatRow {
    NumberFormat format{};
    std::string_view name;
    std::uint32_t bits = 0;  ///< Of one code: a divisor of 32.
    std::uint32_t (*encode)(float number) = nullptr;
    float (*decode)(std::uint32_t code) = nullptr;
};

// Functions that are inlined always have no address that every compiler can call.
#define CAMBRIAN_NUMBER_FORMAT_ROW(number, name, bits)                        \
    NumberFormatRow{NumberFormat::name, #name, bits,                          \
                    [](float x) { return number_formats::encode_##name(x); }, \
                    [](std::uint32_t code) { return number_formats::decode_##name(code); }},
/// In the order of the enumeration, like the numbers that shaders choose by.
inline constexpr std::array number_format_rows{CAMBRIAN_NUMBER_FORMATS(CAMBRIAN_NUMBER_FORMAT_ROW)};
#undef CAMBRIAN_NUMBER_FORMAT_ROW

#define CAMBRIAN_NUMBER_FORMAT_IN_ORDER(number, name, bits) \
    static_assert(static_cast<std::uint32_t>(NumberFormat::name) == (number));
CAMBRIAN_NUMBER_FORMATS(CAMBRIAN_NUMBER_FORMAT_IN_ORDER)
#undef CAMBRIAN_NUMBER_FORMAT_IN_ORDER

[[nodiscard]] constexpr const NumberFormatRow& row(NumberFormat format) {
    return number_format_rows[static_cast<std::size_t>(format)];
}

/// Words that hold a row of `length` codes.
[[nodiscard]] constexpr std::int64_t words_of(NumberFormat format, std::int64_t length) {
    const std::int64_t in_word = 32 / row(format).bits;
    return length / in_word + (length % in_word != 0 ? 1 : 0);
}

}  // namespace cambrian

#pragma once

#include <cstdint>

namespace cambrian {

/// Bytes of memory that this host has.
[[nodiscard]] std::int64_t host_memory();

/// What memory holds in poison mode until it is written: a NaN as a real, out of range as an index,
/// neither 0 nor 1 as a boolean.
inline constexpr std::uint32_t poison_word = 0x7FC0BAAD;

}  // namespace cambrian

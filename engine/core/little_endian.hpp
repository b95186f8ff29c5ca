#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

// Numbers as little-endian bytes, on any machine.
namespace cambrian::little_endian {

/// A number whose bytes in memory are those of `value` from the lowest on, and the other way round.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T in_order(T value) {
    if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
        return value;
    } else {
        auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
        std::ranges::reverse(bytes);
        return std::bit_cast<T>(bytes);
    }
}

/// Writes a number and moves after it.
template <std::unsigned_integral T>
void put(std::byte*& at, T value) {
    value = in_order(value);
    std::memcpy(at, &value, sizeof(T));
    at += sizeof(T);
}

/// The same at the end of a text of bytes.
template <std::unsigned_integral T>
void append(std::string& to, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) to += static_cast<char>((value >> (8 * i)) & 0xFFU);
}

/// Reads a number and moves after it.
template <std::unsigned_integral T>
[[nodiscard]] T get(const std::byte*& at) {
    T value = 0;
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return in_order(value);
}

inline void put(std::byte*& at, double value) {
    put(at, std::bit_cast<std::uint64_t>(value));
}
[[nodiscard]] inline double get_double(const std::byte*& at) {
    return std::bit_cast<double>(get<std::uint64_t>(at));
}

}  // namespace cambrian::little_endian

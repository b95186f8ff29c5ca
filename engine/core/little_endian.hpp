#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Numbers as little-endian bytes, on any machine.
namespace cambrian::little_endian {

/// Writes a number and moves after it.
template <std::unsigned_integral T>
void put(std::byte*& at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        *at++ = static_cast<std::byte>((value >> (8 * i)) & 0xFFU);
    }
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
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value |= static_cast<T>(std::to_integer<T>(*at++) << (8 * i));
    }
    return value;
}

inline void put(std::byte*& at, double value) {
    put(at, std::bit_cast<std::uint64_t>(value));
}
[[nodiscard]] inline double get_double(const std::byte*& at) {
    return std::bit_cast<double>(get<std::uint64_t>(at));
}

}  // namespace cambrian::little_endian

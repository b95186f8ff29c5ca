#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "cambrian/engine/core/little_endian.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian::distributed::detail {

/// Numbers as one block: an archive takes long over single values.
template <class Number>
void write_numbers(ArchiveWriter& archive, std::span<const Number> numbers) {
    std::vector<std::byte> bytes(numbers.size() * sizeof(Number));
    std::byte* at = bytes.data();
    for (const Number number : numbers) {
        little_endian::put(at, number);
    }
    archive.write(std::span<const std::byte>(bytes));
}

/// Fails the archive where the block ends within a number.
template <class Number>
void read_numbers(ArchiveReader& archive, std::vector<Number>& numbers) {
    std::vector<std::byte> bytes;
    archive.read(bytes);
    if (bytes.size() % sizeof(Number) != 0) {
        archive.fail("a list of numbers ends within one");
    }
    numbers.resize(bytes.size() / sizeof(Number));
    const std::byte* at = bytes.data();
    for (Number& number : numbers) {
        if constexpr (std::same_as<Number, double>) {
            number = little_endian::get_double(at);
        } else {
            number = little_endian::get<Number>(at);
        }
    }
}

}  // namespace cambrian::distributed::detail

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cambrian {

/// Appends whole numbers as a column: the smallest (u64), how many bytes the others need beyond it
/// (u8, 0 to 8), and these bytes as planes, the lowest of all numbers first, so that equal bytes
/// lie together for what compresses them. Doubles may be given by their bits.
void pack_column(std::vector<std::byte>& bytes, std::span<const std::uint64_t> values);

/// Takes a column of so many numbers from the front of the bytes; nothing where they hold none.
/// Memory is in proportion to `count`, which the caller bounds: a column of equal numbers has nine
/// bytes, however many they are.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> unpack_column(
    std::span<const std::byte>& bytes, std::size_t count);

}  // namespace cambrian

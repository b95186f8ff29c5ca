#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cambrian {

/// One zstd frame of level 3.
[[nodiscard]] std::vector<std::byte> compress(std::span<const std::byte> plain);

/// The plain bytes of exactly one zstd frame, or nothing unless the frame is whole and holds
/// exactly that many. Memory grows with what was decompressed so far, never with what a length
/// promises.
[[nodiscard]] std::optional<std::vector<std::byte>> decompress(std::span<const std::byte> stored,
                                                               std::uint64_t plain_length);

}  // namespace cambrian

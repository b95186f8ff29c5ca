#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cambrian {

/// One zstd frame of level 3.
[[nodiscard]] std::vector<std::byte> compress(std::span<const std::byte> plain);

/// The plain bytes of exactly one zstd frame, or nothing unless the frame is whole and holds
/// exactly that many. Memory grows with what was decompressed so far, never with what a length
/// promises.
[[nodiscard]] std::optional<std::vector<std::byte>> decompress(std::span<const std::byte> stored,
                                                               std::uint64_t plain_length);

/// Whether bytes begin as a gzip file does.
[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes);

/// The content of a gzip file (RFC 1952), all members of it one after another, or its first `most`
/// bytes. Memory grows with what is found, never with what a file claims. Throws InputError;
/// `source` names the file in its text.
[[nodiscard]] std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::uint64_t most,
                                            std::string_view source);

}  // namespace cambrian

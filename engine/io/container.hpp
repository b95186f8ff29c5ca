#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cambrian {

/// One named section of a .cmb file.
struct Section {
    std::string name;
    std::vector<std::byte> bytes;
    bool operator==(const Section&) const = default;
};

/// A .cmb file: magic "CAMBRIAN", format version, kind ("checkpoint", "network"), total length, a
/// table of sections (name, stored and plain length, codec, XXH3-64 checksum), then the sections
/// (zstd where it helps). The same container frames the messages between ranks.
struct Container {
    std::string kind;
    std::vector<Section> sections;

    /// Bytes of a section; throws InputError naming it when absent.
    [[nodiscard]] std::span<const std::byte> section(std::string_view name) const;
    void add(std::string name, std::vector<std::byte> bytes);
    bool operator==(const Container&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const Container& container);
/// Reads every byte within bounds: nothing is allocated that the input does not justify, every
/// checksum is verified, trailing bytes are an error. Throws InputError; `source` names the file or
/// peer in the text.
[[nodiscard]] Container decode_container(std::span<const std::byte> bytes, std::string_view source);

/// Writes beside the target, syncs, renames, syncs the directory: a reader sees the old file or the
/// new. A symbolic link is replaced, never followed. Throws InputError when the disk refuses, and
/// for a directory, device or pipe, which is left as it is.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// Writes where a user asked to: a device or pipe is written to, a link followed, and a file
/// replaced atomically. Throws InputError when the place refuses.
void write_output(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// Whole file; throws InputError when missing, unreadable or above `limit` bytes.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& path,
                                               std::uint64_t limit = std::uint64_t{1} << 36U);

}  // namespace cambrian

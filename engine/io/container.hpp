#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
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

/// A section that a reader asks for, and how long it may be.
struct WantedSection {
    std::string_view name;
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  ///< Plain bytes.
};

[[nodiscard]] std::vector<std::byte> encode(const Container& container);
/// The kind and those of the wanted sections that are there. The stored bytes of every section are
/// checked against their checksum; a section that nobody wants is never unpacked. Sections
/// unpack to what is wanted at most, and together beyond 64 MiB to no more than 64 times their
/// stored bytes (`encode` stores what would as it is). Trailing bytes are an error. Throws
/// InputError; `source` names the file or peer in the text.
[[nodiscard]] Container decode_container(std::span<const std::byte> bytes, std::string_view source,
                                         std::span<const WantedSection> wanted);
/// The same with every section.
[[nodiscard]] Container decode_container(std::span<const std::byte> bytes, std::string_view source);

/// Bytes before the first section of a container of this kind with these sections.
[[nodiscard]] std::uint64_t table_length(std::string_view kind,
                                         std::span<const WantedSection> sections);
/// The length of a whole container, by its first table_length() bytes; 0 where there are fewer of
/// them. Throws InputError where they are not those of such a container.
[[nodiscard]] std::uint64_t stated_length(std::span<const std::byte> table, std::string_view source,
                                          std::string_view kind,
                                          std::span<const WantedSection> sections);

/// Writes all bytes to an open file, waiting where it is full; 0, or the error number.
[[nodiscard]] int write_all(int file, std::span<const std::byte> bytes);
/// Writes beside the target, syncs, renames, syncs the directory: a reader sees the old file or the
/// new, whose permissions are those of the old. A symbolic link is replaced, never followed. Throws
/// InputError when the disk refuses, and for a directory, device or pipe, which is left as it is.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// The descriptor of this process that a path names, by whatever link: 1 of /dev/stdout, 3 of
/// /dev/fd/3; nothing for another path. Throws OutputError where links lead in a circle.
[[nodiscard]] std::optional<int> descriptor_of(const std::filesystem::path& path);
/// Writes, part by part, where a user asked to: a device, a pipe or a descriptor is written to, a
/// link followed, also where nothing is yet, and a file replaced by finish() as by
/// write_file_atomically; without it the file stays as it was. Throws InputError when the place
/// refuses.
class OutputFile {
  public:
    explicit OutputFile(const std::filesystem::path& path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::span<const std::byte> bytes);
    void finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};
/// Whole file; throws InputError when missing, unreadable or above `limit` bytes.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& path,
                                               std::uint64_t limit = std::uint64_t{1} << 36U);

}  // namespace cambrian

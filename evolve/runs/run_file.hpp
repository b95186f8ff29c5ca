#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/core/hash.hpp"

// How files of a run directory are opened, replaced and appended to.
namespace cambrian::distributed {

/// Opens a file of a run directory and returns its descriptor; O_CREAT makes it readable by all.
/// Never through a symbolic link, and only a regular file: whoever may write to the directory could
/// otherwise have us write to any file of ours, or wait for a pipe. Throws InputError saying so,
/// and OutputError with the system's reason where it refuses.
[[nodiscard]] int open_own_file(const std::filesystem::path& path, int flags);

/// The text of a file; nothing where there is none. Throws InputError where it cannot be read, or
/// is longer than `longest` bytes.
[[nodiscard]] std::optional<std::string> read_text_file(const std::filesystem::path& path,
                                                        std::uint64_t longest);

/// Writes a file anew without waiting for the disk: for what may be lost. A reader sees the old
/// text or the new one; where there is no room for both, the old one is written over in place.
/// Throws InputError when the disk refuses that, too, and for a symbolic link.
void replace_text(const std::filesystem::path& path, std::string_view text);

/// The checksum of the first bytes of a file that only grows. More of them are read on from where
/// the last look ended, so that several looks at one file read it once.
class FilePrefix {
  public:
    /// Bytes so far.
    [[nodiscard]] std::uint64_t length() const { return length_; }
    [[nodiscard]] Hash128 checksum() const { return hash_.hash(); }
    /// Reads on, or anew, until it has `length` bytes; false where the file has fewer.
    [[nodiscard]] bool read(int file, std::uint64_t length);
    /// Bytes that come next in the file.
    void add(std::span<const std::byte> bytes);

  private:
    RunningHash hash_;
    std::uint64_t length_ = 0;
};

/// A file that only grows: what comes is collected, written once a generation, synced at
/// checkpoints.
class AppendFile {
  public:
    /// Opens or creates it and cuts it to `length` bytes. Throws InputError when it is shorter or
    /// the disk refuses.
    /// @param known what was read of it already.
    AppendFile(std::filesystem::path path, std::uint64_t length, FilePrefix known = {});
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    [[nodiscard]] std::string& pending() { return pending_; }
    void append(std::span<const std::byte> bytes) {
        pending_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    void flush();
    void sync();
    /// Drops what was written beyond `length` bytes.
    void cut(std::uint64_t length);
    /// Bytes written so far.
    [[nodiscard]] std::uint64_t length() const { return written_.length(); }
    /// Of the bytes written so far.
    [[nodiscard]] Hash128 checksum() const { return written_.checksum(); }

  private:
    std::filesystem::path path_;
    int file_ = -1;
    FilePrefix written_;
    std::string pending_;
};

/// Where to go on with a file that may have lost lines, since no result is in it: at `length`
/// bytes, or after the last whole line before; anew where its first line is another than
/// `header`, if there is one: another version wrote other columns.
[[nodiscard]] std::uint64_t whole_lines(const std::filesystem::path& path, std::uint64_t length,
                                        std::string_view header = {});

/// What a file that only grows holds.
enum class Content : std::uint8_t { lines, blocks };

/// Whether the first `length` bytes of a file are whole lines, or blocks, with this checksum.
/// Throws InputError when it cannot be read.
/// @param known of looks before this one.
[[nodiscard]] bool unchanged(const std::filesystem::path& path, std::uint64_t length,
                             const Hash128& checksum, Content content, FilePrefix& known);
[[nodiscard]] bool unchanged(const std::filesystem::path& path, std::uint64_t length,
                             const Hash128& checksum, Content content = Content::lines);

/// The message about a file that is not: what may have happened, and what helps.
[[nodiscard]] std::string changed_text(const std::filesystem::path& path);

}  // namespace cambrian::distributed

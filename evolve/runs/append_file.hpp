#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cambrian/engine/core/hash.hpp"

namespace cambrian::distributed {

/// A file that only grows: text is collected, written once a generation, synced at checkpoints.
class AppendFile {
  public:
    /// Opens or creates it and cuts it to `length` bytes. Throws InputError when it is shorter or
    /// the disk refuses.
    AppendFile(std::filesystem::path path, std::uint64_t length);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    [[nodiscard]] std::string& pending() { return pending_; }
    void flush();
    void sync();
    /// Drops what was written beyond `length` bytes.
    void cut(std::uint64_t length);
    /// Bytes written so far.
    [[nodiscard]] std::uint64_t length() const { return length_; }
    /// Of the bytes written so far.
    [[nodiscard]] Hash128 checksum() const { return hash_.hash(); }

  private:
    std::filesystem::path path_;
    int file_ = -1;
    std::uint64_t length_ = 0;
    std::string pending_;
    RunningHash hash_;
};

/// Where to go on with a file that may have lost lines, since no result is in it: at `length`
/// bytes, or after the last whole line before.
[[nodiscard]] std::uint64_t whole_lines(const std::filesystem::path& path, std::uint64_t length);

/// Whether the first `length` bytes of a file are whole lines with this checksum. Throws InputError
/// when it cannot be read.
[[nodiscard]] bool unchanged(const std::filesystem::path& path, std::uint64_t length,
                             const Hash128& checksum);

/// The message about a file that is not: what may have happened, and what helps.
[[nodiscard]] std::string changed_text(const std::filesystem::path& path);

}  // namespace cambrian::distributed

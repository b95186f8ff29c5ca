#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cambrian {

/// A folder for files that a program makes, trusts, and can make again: nobody but this user may
/// write there. Any number of processes may share it.
class PrivateFolder {
  public:
    /// Nothing is kept.
    PrivateFolder() = default;
    /// Makes it for this user alone (mode 0700) when it is not there. A folder that cannot be made
    /// keeps nothing. Throws ConfigError, naming the remedy, for one that belongs to another user
    /// or that others may write into. @param path empty: nothing is kept.
    explicit PrivateFolder(std::filesystem::path path);

    [[nodiscard]] bool keeps() const { return !path_.empty(); }
    /// Where a file is; contract: it keeps files.
    [[nodiscard]] std::filesystem::path file(std::string_view name) const;
    /// A whole file, or nothing when it is missing, unreadable, above `most` bytes, no regular
    /// file (a link is none), or when another user owns it or may write it.
    [[nodiscard]] std::optional<std::vector<std::byte>> read(std::string_view name,
                                                             std::uint64_t most) const;
    /// Replaces a file whole, whatever was there. A disk that refuses keeps nothing.
    void write(std::string_view name, std::span<const std::byte> bytes) const;

  private:
    std::filesystem::path path_;
};

}  // namespace cambrian

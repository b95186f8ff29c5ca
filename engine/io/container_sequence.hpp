#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/container.hpp"

namespace cambrian {

/// Reads a file that only grows: containers of one kind and with the same sections, one after
/// another. Holds one of them at a time.
class ContainerSequence {
  public:
    /// The file as long as it is now; one that is not there has no containers.
    /// @param sections in their order. Throws InputError for what is no regular file.
    ContainerSequence(std::filesystem::path path, std::string_view kind,
                      std::span<const WantedSection> sections);

    /// The next one, or nothing after the last whole one. Throws InputError where the file is
    /// damaged, and where it holds other containers.
    [[nodiscard]] std::optional<Container> next();
    /// Bytes of those that were read.
    [[nodiscard]] std::uint64_t position() const { return position_; }
    /// Whether the file ends within a container: its writer was killed, or is at it.
    [[nodiscard]] bool cut_short() const { return cut_short_; }

  private:
    [[nodiscard]] std::string place() const;
    [[nodiscard]] std::vector<std::byte> read(std::uint64_t count);

    std::filesystem::path path_;
    std::string kind_;
    std::vector<WantedSection> sections_;
    std::uint64_t table_;    ///< Bytes of the table of each container.
    std::uint64_t largest_;  ///< Bytes of a whole one.
    std::ifstream file_;
    std::uint64_t size_ = 0;
    std::uint64_t position_ = 0;
    bool cut_short_ = false;
};

}  // namespace cambrian

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace cambrian {

/// A regular file of which parts are read.
class InputFile {
  public:
    /// Throws InputError for one that is missing, unreadable or no regular file.
    explicit InputFile(const std::filesystem::path& path);
    InputFile(InputFile&& other) noexcept;
    ~InputFile();

    /// As it was opened.
    [[nodiscard]] std::uint64_t size() const;
    /// Throws InputError for a part beyond the end, and where the disk refuses.
    [[nodiscard]] std::vector<std::byte> read(std::uint64_t offset, std::uint64_t length) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cambrian

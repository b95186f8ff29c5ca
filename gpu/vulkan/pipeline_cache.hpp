#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cambrian/gpu/vulkan/functions.hpp"

namespace cambrian::vulkan {

class Device;

/// A VkPipelineCache and its file. The name of the file says which device and driver it is of; its
/// contents are the driver's bytes behind their checksum, and whatever is not so is ignored. A
/// directory that cannot be written is as good as none: only time is lost.
class PipelineCache {
  public:
    /// @param directory made when it is not there; empty: nothing is read or written.
    PipelineCache(Device& device, const std::string& directory);
    ~PipelineCache();
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;

    [[nodiscard]] VkPipelineCache handle() const { return cache_; }
    /// Writes what is known now, together with what other ranks have written meanwhile.
    void save();
    [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  private:
    [[nodiscard]] VkPipelineCache make(const std::vector<std::byte>& data);
    [[nodiscard]] std::vector<std::byte> data();

    Device& device_;
    std::filesystem::path file_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    std::size_t saved_bytes_ = 0;
};

/// The driver's bytes of a cache file; empty when it is missing, damaged or no such file.
[[nodiscard]] std::vector<std::byte> read_cache_file(const std::filesystem::path& file);
/// Writes the driver's bytes, with their checksum, under a temporary name that is then renamed.
/// Throws InputError when the disk refuses.
void write_cache_file(const std::filesystem::path& file, const std::vector<std::byte>& data);

}  // namespace cambrian::vulkan

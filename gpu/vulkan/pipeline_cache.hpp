#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/private_folder.hpp"
#include "cambrian/gpu/vulkan/loader.hpp"

namespace cambrian::vulkan {

class Device;

/// A VkPipelineCache and its file in a PrivateFolder. The name of the file says which device,
/// driver and version of this program it is of; its contents are that name and the driver's bytes
/// after their checksums, and whatever is not so is never given to the driver. A directory that
/// cannot be written is as good as none: only time is lost.
class PipelineCache {
  public:
    /// @param directory made when it is not there; empty: nothing is read or written. Throws
    /// ConfigError for one that others may write into.
    PipelineCache(Device& device, const std::string& directory);
    ~PipelineCache();
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;

    [[nodiscard]] VkPipelineCache handle() const { return cache_; }
    /// Writes what is known now, together with what other ranks have written meanwhile.
    void save();

  private:
    [[nodiscard]] VkPipelineCache make(const std::vector<std::byte>& data);
    [[nodiscard]] std::vector<std::byte> data();

    Device& device_;
    PrivateFolder folder_;
    std::string name_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    std::size_t saved_bytes_ = 0;
};

/// The driver's bytes of a cache file; empty when it is missing, damaged, another user's, or was
/// written under another name.
[[nodiscard]] std::vector<std::byte> read_cache_file(const PrivateFolder& folder,
                                                     std::string_view name);
/// Writes the driver's bytes, with their checksum, under a temporary name that is then renamed.
void write_cache_file(const PrivateFolder& folder, std::string_view name,
                      const std::vector<std::byte>& data);

}  // namespace cambrian::vulkan

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
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

/// A compute shader ready to be dispatched.
class Pipeline {
  public:
    Pipeline(Device& device, std::string name, VkPipeline pipeline)
        : device_(device), name_(std::move(name)), pipeline_(pipeline) {}
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;
    [[nodiscard]] VkPipeline handle() const { return pipeline_; }
    /// For profiles and messages: the shader and what it is specialised for.
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    Device& device_;
    std::string name_;
    VkPipeline pipeline_;
};

/// All pipelines of a device, made once each, over one layout (a Push block and nothing else) and a
/// VkPipelineCache kept on disk: read at start, and written when it has grown, to a temporary name
/// and renamed, so that any number of ranks may share the directory. A file that is damaged or of
/// another driver is ignored.
class PipelineLibrary {
  public:
    /// @param cache_directory empty: nothing is kept.
    PipelineLibrary(Device& device, const std::string& cache_directory);
    ~PipelineLibrary();

    /// @param name for messages; equal code and constants give the same pipeline.
    /// @param constants specialization constants 0, 1, ...; constant 0 is the workgroup's width in
    ///     every shader (local_size_x_id = 0).
    /// Throws DeviceError when the driver refuses the shader.
    [[nodiscard]] const Pipeline& get(std::string_view name, std::span<const std::uint32_t> code,
                                      std::span<const std::uint32_t> constants);
    [[nodiscard]] std::int64_t made() const { return static_cast<std::int64_t>(made_.size()); }
    /// Writes the cache now.
    void save();

  private:
    [[nodiscard]] VkPipeline make(std::string_view name, std::span<const std::uint32_t> code,
                                  std::span<const std::uint32_t> constants);

    Device& device_;
    PipelineCache cache_;
    std::size_t unsaved_ = 0;
    std::map<Hash128, std::unique_ptr<Pipeline>> made_;
};

/// Execution modes of our arithmetic (SPV_KHR_float_controls, for 32 bits) that a device has.
struct FloatControls {
    bool round_to_nearest_even = false;
    bool keep_special_values = false;  ///< The sign of zero, infinities and NaN.
    bool keep_subnormals = false;
};
/// The code with those modes declared for its entry points, which glslang cannot write. Throws
/// ContractViolation for what is no SPIR-V.
[[nodiscard]] std::vector<std::uint32_t> with_float_controls(std::span<const std::uint32_t> code,
                                                             const FloatControls& controls);

}  // namespace cambrian::vulkan

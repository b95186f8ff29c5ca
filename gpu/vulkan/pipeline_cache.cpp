#include "cambrian/gpu/vulkan/pipeline_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::vulkan {

namespace {

constexpr const char* container_kind = "pipelines";
constexpr const char* section_name = "driver";
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

std::string file_name(Device& device) {
    VkPhysicalDeviceProperties properties{};
    device.functions().vkGetPhysicalDeviceProperties(device.physical(), &properties);
    std::string uuid;
    for (std::uint8_t byte : properties.pipelineCacheUUID) uuid += fmt::format("{:02x}", byte);
    // The UUID should change with the driver; not every driver has kept to that.
    return fmt::format("pipelines-{}-{:x}-{:x}-{:x}.cmb", uuid, properties.vendorID,
                       properties.deviceID, properties.driverVersion);
}

}  // namespace

std::vector<std::byte> read_cache_file(const std::filesystem::path& file) {
    try {
        const Container container = decode_container(read_file(file, most_bytes), file.string());
        if (container.kind != container_kind) return {};
        const std::span<const std::byte> bytes = container.section(section_name);
        return {bytes.begin(), bytes.end()};
    } catch (const InputError&) {
        return {};
    }
}

void write_cache_file(const std::filesystem::path& file, const std::vector<std::byte>& data) {
    Container container;
    container.kind = container_kind;
    container.add(section_name, data);
    write_file_atomically(file, encode(container));
}

PipelineCache::PipelineCache(Device& device, const std::string& directory) : device_(device) {
    std::vector<std::byte> known;
    if (!directory.empty()) {
        file_ = std::filesystem::path(directory) / file_name(device);
        known = read_cache_file(file_);
    }
    saved_bytes_ = known.size();
    cache_ = make(known);
}

PipelineCache::~PipelineCache() {
    try {
        save();
    } catch (const std::exception&) {
        // A lost device has nothing to keep.
    }
    device_.functions().vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
}

VkPipelineCache PipelineCache::make(const std::vector<std::byte>& data) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = data.size();
    info.pInitialData = data.empty() ? nullptr : data.data();
    VkPipelineCache cache = VK_NULL_HANDLE;
    device_.check(
        device_.functions().vkCreatePipelineCache(device_.handle(), &info, nullptr, &cache),
        "vkCreatePipelineCache");
    return cache;
}

std::vector<std::byte> PipelineCache::data() {
    const Functions& functions = device_.functions();
    std::size_t size = 0;
    device_.check(functions.vkGetPipelineCacheData(device_.handle(), cache_, &size, nullptr),
                  "vkGetPipelineCacheData");
    std::vector<std::byte> bytes(size);
    device_.check(functions.vkGetPipelineCacheData(device_.handle(), cache_, &size, bytes.data()),
                  "vkGetPipelineCacheData");
    bytes.resize(size);
    return bytes;
}

void PipelineCache::save() {
    if (file_.empty() || data().size() <= saved_bytes_) return;
    if (const std::vector<std::byte> others = read_cache_file(file_); !others.empty()) {
        VkPipelineCache other = make(others);
        const VkResult merged =
            device_.functions().vkMergePipelineCaches(device_.handle(), cache_, 1, &other);
        device_.functions().vkDestroyPipelineCache(device_.handle(), other, nullptr);
        device_.check(merged, "vkMergePipelineCaches");
    }
    const std::vector<std::byte> bytes = data();
    saved_bytes_ = bytes.size();
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    try {
        write_cache_file(file_, bytes);
    } catch (const InputError&) {
        // The next start makes the pipelines again.
    }
}

}  // namespace cambrian::vulkan

#include "cambrian/gpu/vulkan/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/version.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::vulkan {

namespace {

constexpr const char* container_kind = "pipelines";
constexpr std::string_view key_section = "key";
constexpr std::string_view data_section = "driver";
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;
constexpr std::array<WantedSection, 2> sections{{{key_section, 4096}, {data_section, max_bytes}}};

std::string file_name(Device& device) {
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(device.physical(), &properties);
    std::string uuid;
    for (std::uint8_t byte : properties.pipelineCacheUUID) uuid += fmt::format("{:02x}", byte);
    // The UUID should change with the driver; not every driver has kept to that.
    return fmt::format("pipelines-{}-{:x}-{:x}-{:x}-{}.{}.{}-{}.cmb", uuid, properties.vendorID,
                       properties.deviceID, properties.driverVersion, CAMBRIAN_VERSION_MAJOR,
                       CAMBRIAN_VERSION_MINOR, CAMBRIAN_VERSION_PATCH, arithmetic_version);
}

}  // namespace

std::vector<std::byte> read_cache_file(const PrivateFolder& folder, std::string_view name) {
    const auto bytes = folder.read(name, max_bytes);
    if (!bytes) return {};
    try {
        const Container container = decode_container(*bytes, name, sections);
        const bool own =
            container.kind == container_kind &&
            std::ranges::equal(container.section(key_section), std::as_bytes(std::span(name)));
        if (!own) return {};
        const std::span<const std::byte> data = container.section(data_section);
        return {data.begin(), data.end()};
    } catch (const InputError&) {
        return {};
    }
}

void write_cache_file(const PrivateFolder& folder, std::string_view name,
                      const std::vector<std::byte>& data) {
    Container container;
    container.kind = container_kind;
    const auto key = std::as_bytes(std::span(name));
    container.add(std::string(key_section), {key.begin(), key.end()});
    container.add(std::string(data_section), data);
    folder.write(name, encode(container));
}

PipelineCache::PipelineCache(Device& device, const std::string& directory)
    : device_(device), folder_(directory), name_(file_name(device)) {
    const std::vector<std::byte> known = read_cache_file(folder_, name_);
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
    if (!folder_.keeps() || data().size() <= saved_bytes_) return;
    if (const std::vector<std::byte> others = read_cache_file(folder_, name_); !others.empty()) {
        VkPipelineCache other = make(others);
        const VkResult merged =
            device_.functions().vkMergePipelineCaches(device_.handle(), cache_, 1, &other);
        device_.functions().vkDestroyPipelineCache(device_.handle(), other, nullptr);
        device_.check(merged, "vkMergePipelineCaches");
    }
    const std::vector<std::byte> bytes = data();
    saved_bytes_ = bytes.size();
    write_cache_file(folder_, name_, bytes);
}

}  // namespace cambrian::vulkan

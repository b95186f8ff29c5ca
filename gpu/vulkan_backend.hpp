#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/gpu/vulkan/device_info.hpp"

namespace cambrian {

struct VulkanDeviceList {
    std::vector<VulkanDeviceInfo> devices;
    std::string problem;  ///< Why there are none: no loader, no driver; or empty.
};
/// All devices, usable or not, real ones first. Never throws for a host without Vulkan.
[[nodiscard]] VulkanDeviceList list_vulkan_devices();

struct VulkanOptions {
    std::string uuid;  ///< Of the device to use, from the list.
    Math math = Math::fast;
    int threads = 1;                ///< Of the host, see Backend::threads; 1 or more.
    std::int64_t memory_limit = 0;  ///< Bytes of device memory; 0: what the device has.
    std::string cache_directory;    ///< For pipelines and compiled shaders; empty: none is kept.
    std::string dump_directory;  ///< Graphs and generated shaders are written there; empty: none.
    bool profile = false;        ///< Timestamps around every dispatch.
    /// New and freed memory, and temporaries before every run, are filled with NaNs, so that
    /// results show a read of what was never written. Slow.
    bool poison = false;
    bool validation = false;  ///< The Khronos layer, which must be installed.
    bool fuse = true;         ///< Fusion groups and whole scans as one kernel each.
    /// Seconds, estimated: a scan in one kernel is cut at fixed steps into dispatches below this,
    /// with the same bits.
    double longest_dispatch = 0.25;
    /// For tests: turns of a loop that one invocation may do in a dispatch, with the same bits; 0:
    /// what the device can.
    std::int64_t max_turns = 0;
    /// For measurements and tests: the tile that every matrix product uses, by its name in the
    /// table of kernels/matmul/tile.cpp ("64x64x16"); empty: chosen by shape. No result depends on
    /// it.
    std::string matmul_tile;
    /// For measurements and tests: lanes that walk each row of interpreted networks together, 1, 2
    /// or 4, with the same bits; 0: chosen by what the networks of a run need, but 1 on a software
    /// device; -1: chosen there, too.
    int row_team = 0;
    /// For tests: queues that runs may be divided among, up to 4, with the same bits; 0: as many
    /// of these as the device has.
    std::size_t queues = 0;
    /// Every message of the validation layer; without it the first one is an error.
    std::function<void(std::string_view)> on_validation_message;
};

/// A GPU as backend. Throws DeviceError when the device is not there, lacks a feature or memory.
/// Results of a run stay on the device; a data error (a gather out of range) is thrown by the run
/// or the download that waits for it, unless it is forgotten before (Backend::forget_errors). A
/// lost device is a DeviceError too, and so is every call after it.
[[nodiscard]] std::unique_ptr<Backend> make_vulkan_backend(const VulkanOptions& options);

/// Counts since the backend was made.
struct VulkanStatistics {
    std::int64_t submits = 0;       ///< Command buffers handed to the device in one call each.
    std::int64_t waits = 0;         ///< Of these for what another queue does.
    std::int64_t dispatches = 0;    ///< Recorded.
    std::int64_t recordings = 0;    ///< Programs recorded anew; a steady run is not.
    std::int64_t allocations = 0;   ///< Of device and transfer memory from the driver.
    std::int64_t pipelines = 0;     ///< Made, from a cache or not.
    std::int64_t compilations = 0;  ///< GLSL texts compiled, not found in the cache.
};
/// Contract: the backend is one of make_vulkan_backend.
[[nodiscard]] VulkanStatistics vulkan_statistics(const Backend& backend);

}  // namespace cambrian

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/launch/devices/gpu_devices.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// A rank among those of its host, which share processors, memory and GPUs.
struct RankPlace {
    int local_rank = 0;
    int local_size = 1;
};

/// What the "engine" section of a config comes to on this rank.
struct DeviceSettings {
    std::string backend;  ///< "cpu", "reference" or "vulkan".
    int threads = 1;
    Math math = Math::fast;
    std::int64_t memory_limit = 0;  ///< Bytes.
    VulkanDeviceInfo gpu;           ///< Of "vulkan".
    std::string cache_directory;    ///< Of "vulkan"; empty: none.
    bool cache_is_named = false;    ///< By the config: it must take files.
    std::string dump_directory;     ///< Of "vulkan" and "cpu"; empty: none.
    bool profile = false;           ///< Of "vulkan" and "cpu".

    /// The GPU as the table of ranks shows it; empty for the other backends.
    [[nodiscard]] std::string device_text() const;
};

/// @param engine the "engine" section, checked against the schema.
/// Throws DeviceError when there is no driver or no such GPU, naming those that are there, or it
/// lacks a feature, and ConfigError for settings that fit no host.
[[nodiscard]] DeviceSettings device_settings(const Json& engine, RankPlace place);
/// The same for devices that are known already.
[[nodiscard]] DeviceSettings device_settings(const Json& engine, RankPlace place,
                                             const HostDevices& devices);

/// Threads of a rank that may use `own` of the processors of its launcher, which has `ranks` ranks
/// on this host: its share of them all, and no more than its own, so that a rank that is bound to a
/// part of the host computes on the whole of that part.
[[nodiscard]] int own_threads(int own, int of_launcher, int ranks);
/// What is wrong with so many threads on a host of so many processors, or an empty text.
[[nodiscard]] std::string threads_note(int threads, int ranks, int processors);
/// The same for the ranks of this host, all with as many threads as this one.
[[nodiscard]] std::string threads_note(const DeviceSettings& settings, RankPlace place);

/// Makes the folders that were asked for. Throws OutputError when one cannot be written to,
/// DeviceError when the device fails.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const DeviceSettings& settings);

/// What makes the backend for work that a GPU has no memory for (engine.fallback); null where there
/// is none or none is needed. Throws ConfigError where results would depend on it.
[[nodiscard]] std::function<std::unique_ptr<Backend>()> fallback_of(const Json& engine,
                                                                    const DeviceSettings& settings,
                                                                    RankPlace place);

/// Takes over what --dump and --profile ask for. Throws ConfigError for the reference, which has
/// nothing to dump and whose time nobody should take.
void require_backend_for(DeviceSettings& settings, const std::string& dump_directory, bool profile);
/// Time and traffic of the kernels of a GPU or of the steps of the CPU, most expensive first, as
/// lines of a table. Contract: the backend was made with DeviceSettings::profile.
[[nodiscard]] std::string profile_text(Backend& backend);

/// The backend that a config asks for on a rank: the one it names, or the entry of its list at the
/// local rank, modulo the list's length. "auto" stays "auto".
[[nodiscard]] std::string wanted_backend(const Json& engine, int local_rank);
/// The device that engine.device names. Throws as device_settings does.
[[nodiscard]] VulkanDeviceInfo choose_gpu(const Json& device, int local_rank,
                                          const HostDevices& devices);

/// Bytes of "80%" (of `whole` bytes, divided by those who share them), "4GiB", "512MiB", "100B".
[[nodiscard]] std::int64_t memory_bytes(std::string_view text, std::int64_t whole, int sharing);

}  // namespace cambrian::launch

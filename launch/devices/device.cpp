#include "cambrian/launch/devices/device.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/host_memory.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/io/private_folder.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian::launch {
namespace {

/// A folder of the user for what can be made again.
std::string default_cache_directory() {
    for (const auto& [name, below] : {std::pair{"XDG_CACHE_HOME", ""}, {"HOME", ".cache"}}) {
        const char* value = std::getenv(name);
        if (value != nullptr && std::filesystem::path(value).is_absolute())
            return (std::filesystem::path(value) / below / "cambrian").string();
    }
    return {};
}

/// "auto" without a word about the device is content with what it finds.
bool may_fall_back(const Json& engine, int local_rank) {
    return wanted_backend(engine, local_rank) == "auto" && engine.at("device") == "local_rank";
}

bool takes_gpu(const Json& engine, int local_rank, const HostDevices& devices) {
    const std::string wanted = wanted_backend(engine, local_rank);
    if (wanted == "vulkan") return true;
    return wanted == "auto" && (!may_fall_back(engine, local_rank) || !devices.gpus.empty());
}

/// How many ranks of this host the config gives the same GPU as this one.
int ranks_on(const VulkanDeviceInfo& gpu, const Json& engine, int local_size,
             const HostDevices& devices) {
    int ranks = 0;
    for (int rank = 0; rank < local_size; ++rank) {
        if (takes_gpu(engine, rank, devices) &&
            choose_gpu(engine.at("device"), rank, devices).uuid == gpu.uuid)
            ++ranks;
    }
    return ranks;
}

void fill_vulkan(DeviceSettings& settings, const Json& engine, RankPlace place,
                 const HostDevices& devices) {
    settings.gpu = choose_gpu(engine.at("device"), place.local_rank, devices);
    const Json& limit = engine.at("memory_limit");
    if (!limit.is_number()) {
        settings.memory_limit =
            memory_bytes(limit.get<std::string>(), settings.gpu.memory,
                         ranks_on(settings.gpu, engine, place.local_size, devices));
    }
    settings.cache_directory = engine.at("cache_directory").get<std::string>();
    settings.cache_is_named = !settings.cache_directory.empty();
    if (!settings.cache_is_named) settings.cache_directory = default_cache_directory();
}

/// Makes a folder that somebody named, so that nothing has to be said of every file in it.
void require_folder(std::string_view asked_by, const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error && access(folder.c_str(), W_OK | X_OK) != 0)
        error = {errno, std::generic_category()};
    if (error)
        throw OutputError(
            fmt::format("{} is {} (no files can be put there: {}) name another folder", asked_by,
                        folder, error.message()));
}

/// The processors that the process which started this one may use: those of all ranks here.
int processors_of_launcher() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(getppid(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

std::int64_t memory_bytes(std::string_view text, std::int64_t whole, int sharing) {
    double number = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit == "%") {
        if (number <= 0.0 || number > 100.0)
            throw ConfigError(
                fmt::format("engine.memory_limit is {} (a share is above 0% and at "
                            "most 100%) write a share like 80%",
                            text));
        const double share = static_cast<double>(whole) * number / 100.0;
        return std::max<std::int64_t>(1, static_cast<std::int64_t>(share / sharing));
    }
    static constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    const auto found = std::find(units.begin(), units.end(), unit);
    if (error != std::errc() || found == units.end())
        throw ConfigError(
            fmt::format("engine.memory_limit is {} (allowed: a share like 80% or a "
                        "size in B, KiB, MiB, GiB or TiB) write it like 4GiB",
                        text));
    for (auto step = units.begin(); step != found; ++step) number *= 1024.0;
    if (number < 1.0 || number > 0x1p62)
        throw ConfigError(
            fmt::format("engine.memory_limit is {} (allowed: from 1 byte to 2^62) "
                        "write it like 4GiB",
                        text));
    return static_cast<std::int64_t>(number);
}

std::string DeviceSettings::device_text() const {
    if (backend != "vulkan") return {};
    return fmt::format("{}, {}{}", gpu.name, gpu.pci.empty() ? "" : "pci " + gpu.pci + ", ",
                       "uuid " + gpu.uuid);
}

std::string wanted_backend(const Json& engine, int local_rank) {
    const Json& backend = engine.at("backend");
    if (!backend.is_array()) return backend.get<std::string>();
    return backend.at(static_cast<std::size_t>(local_rank) % backend.size()).get<std::string>();
}

DeviceSettings device_settings(const Json& engine, RankPlace place) {
    const bool fallback = may_fall_back(engine, place.local_rank);
    const std::string wanted = wanted_backend(engine, place.local_rank);
    const bool look = wanted == "vulkan" || (wanted == "auto" && (!fallback || may_have_gpu()));
    return device_settings(engine, place, look ? find_host_devices() : HostDevices{});
}

DeviceSettings device_settings(const Json& engine, RankPlace place, const HostDevices& devices) {
    DeviceSettings settings;
    settings.backend = wanted_backend(engine, place.local_rank);
    if (takes_gpu(engine, place.local_rank, devices)) {
        settings.backend = "vulkan";
    } else if (settings.backend == "auto") {
        settings.backend = "cpu";
    }
    const Json& threads = engine.at("threads");
    settings.threads =
        threads.is_number()
            ? threads.get<int>()
            : own_threads(available_processors(), processors_of_launcher(), place.local_size);
    settings.math = engine.at("math") == "strict" ? Math::strict : Math::fast;
    const Json& limit = engine.at("memory_limit");
    settings.memory_limit =
        limit.is_number() ? limit.get<std::int64_t>()
                          : memory_bytes(limit.get<std::string>(), host_memory(), place.local_size);
    if (settings.backend == "vulkan") fill_vulkan(settings, engine, place, devices);
    return settings;
}

int own_threads(int own, int of_launcher, int ranks) {
    return std::clamp(std::max(own, of_launcher) / ranks, 1, own);
}

std::string threads_note(int threads, int ranks, int processors) {
    if (static_cast<std::int64_t>(threads) * ranks <= processors) return {};
    // As many ranks as processors or more have a thread each, whatever the config says.
    if (threads == 1) return {};
    const std::string share =
        ranks == 1 ? std::string() : fmt::format(" by {} ranks of this host each", ranks);
    return fmt::format(
        "engine.threads is {}{} (there are {} processors: threads wait for each other) leave it "
        "out, or set it to {}",
        threads, share, processors, std::max(1, processors / ranks));
}

std::string threads_note(const DeviceSettings& settings, RankPlace place) {
    // A rank may be bound to a part of its host, as others are to theirs.
    const int own = available_processors();
    if (settings.threads > own) return threads_note(settings.threads, 1, own);
    const auto host = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    return threads_note(settings.threads, place.local_size, std::max(own, host));
}

std::function<std::unique_ptr<Backend>()> fallback_of(const Json& engine,
                                                      const DeviceSettings& settings,
                                                      RankPlace place) {
    if (engine.at("fallback") == "none") return {};
    if (settings.math != Math::strict && !engine.at("mixed").get<bool>())
        throw ConfigError(
            "engine.fallback is cpu (under math fast a result would depend on who has computed "
            "it) set engine.math to strict, or engine.mixed to true");
    if (settings.backend != "vulkan") return {};
    const std::int64_t limit = memory_bytes("80%", host_memory(), place.local_size);
    return [threads = settings.threads, math = settings.math, limit] {
        return make_cpu_backend({.threads = threads, .math = math, .memory_limit = limit});
    };
}

void require_backend_for(DeviceSettings& settings, const std::string& dump_directory,
                         bool profile) {
    if (settings.backend == "reference" && (profile || !dump_directory.empty())) {
        throw ConfigError(
            fmt::format("{} has nothing to tell (this rank computes on the reference backend) set "
                        "engine.backend to cpu or vulkan, or leave it out",
                        profile ? "--profile" : "--dump"));
    }
    settings.dump_directory = dump_directory;
    settings.profile = profile;
}

std::string profile_text(Backend& backend) {
    constexpr std::size_t max_rows = 60;
    constexpr double gigabyte = 1e9;
    std::string text = fmt::format("  {:>12} {:>12} {:>10} {:>8}  {}\n", "seconds", "calls", "GB",
                                   "GB/s", "kernel");
    const auto line = [&](const KernelTime& time) {
        const double gigabytes = static_cast<double>(time.bytes) / gigabyte;
        text += fmt::format("  {:>12.6f} {:>12} {:>10.3f} {:>8.1f}  {}\n", time.seconds,
                            time.dispatches, gigabytes,
                            time.seconds > 0.0 ? gigabytes / time.seconds : 0.0, time.kernel);
    };
    const std::vector<KernelTime> times = backend.take_profile();
    KernelTime rest;
    KernelTime all{.kernel = "all"};
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (i < max_rows) line(times[i]);
        for (KernelTime* sum : {&all, i < max_rows ? nullptr : &rest}) {
            if (sum == nullptr) continue;
            sum->dispatches += times[i].dispatches;
            sum->seconds += times[i].seconds;
            sum->bytes += times[i].bytes;
        }
    }
    if (times.size() > max_rows) {
        rest.kernel = fmt::format("{} more", times.size() - max_rows);
        line(rest);
    }
    line(all);
    return text;
}

std::unique_ptr<Backend> make_backend(const DeviceSettings& settings) {
    if (settings.backend == "reference") return make_reference_backend(Precision::f32);
    if (!settings.dump_directory.empty()) require_folder("--dump", settings.dump_directory);
    if (settings.backend == "cpu")
        return make_cpu_backend({.threads = settings.threads,
                                 .math = settings.math,
                                 .memory_limit = settings.memory_limit,
                                 .dump_directory = settings.dump_directory,
                                 .profile = settings.profile});
    if (settings.cache_is_named) {
        const PrivateFolder made(settings.cache_directory);  // For this user alone, if it is new.
        require_folder("engine.cache_directory", settings.cache_directory);
    }
    VulkanOptions options;
    options.uuid = settings.gpu.uuid;
    options.math = settings.math;
    options.threads = settings.threads;
    options.memory_limit = settings.memory_limit;
    options.cache_directory = settings.cache_directory;
    options.dump_directory = settings.dump_directory;
    options.profile = settings.profile;
    return make_vulkan_backend(options);
}

}  // namespace cambrian::launch

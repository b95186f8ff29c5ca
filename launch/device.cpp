#include "cambrian/launch/device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/cpu/reference.hpp"

namespace cambrian::launch {
namespace {

std::int64_t host_memory() {
    return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

}  // namespace

std::int64_t memory_bytes(std::string_view text, std::int64_t host_bytes, int local_size) {
    double number = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit == "%") {
        if (number <= 0.0 || number > 100.0)
            throw ConfigError(
                fmt::format("engine.memory_limit is {} (a share is above 0% and at "
                            "most 100%) write a share like 80%",
                            text));
        const double share = static_cast<double>(host_bytes) * number / 100.0;
        return std::max<std::int64_t>(1, static_cast<std::int64_t>(share / local_size));
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

DeviceSettings device_settings(const Json& engine, int local_size) {
    DeviceSettings settings;
    settings.backend = engine.at("backend").get<std::string>();
    if (settings.backend == "vulkan")
        throw ConfigError(
            "engine.backend is \"vulkan\" (this build has no Vulkan backend) use "
            "\"cpu\" or \"auto\"");
    if (settings.backend == "auto") settings.backend = "cpu";
    const Json& threads = engine.at("threads");
    settings.threads =
        threads.is_number() ? threads.get<int>() : std::max(1, available_processors() / local_size);
    settings.math = engine.at("math") == "strict" ? Math::strict : Math::fast;
    const Json& limit = engine.at("memory_limit");
    settings.memory_limit = limit.is_number()
                                ? limit.get<std::int64_t>()
                                : memory_bytes(limit.get<std::string>(), host_memory(), local_size);
    return settings;
}

std::unique_ptr<Backend> make_backend(const DeviceSettings& settings) {
    if (settings.backend == "reference") return make_reference_backend(Precision::f32);
    return make_cpu_backend({settings.threads, settings.math, settings.memory_limit});
}

}  // namespace cambrian::launch

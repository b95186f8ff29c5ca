#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// What the "engine" section of a config comes to on this rank.
struct DeviceSettings {
    std::string backend;  ///< "cpu" or "reference".
    int threads = 1;
    Math math = Math::fast;
    std::int64_t memory_limit = 0;  ///< Bytes.
};

/// @param engine the "engine" section, checked against the schema.
/// @param local_size ranks on this host, which share its processors and memory.
/// Throws ConfigError for a backend this build does not have.
[[nodiscard]] DeviceSettings device_settings(const Json& engine, int local_size);

[[nodiscard]] std::unique_ptr<Backend> make_backend(const DeviceSettings& settings);

/// Bytes of "80%" (of `host_bytes`, divided by the ranks on the host), "4GiB", "512MiB", "100B".
[[nodiscard]] std::int64_t memory_bytes(std::string_view text, std::int64_t host_bytes,
                                        int local_size);

}  // namespace cambrian::launch

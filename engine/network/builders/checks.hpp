#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// How builders refuse their settings. Internal to engine/network.
namespace cambrian::builder_checks {

/// More layers, blocks or stages than this are refused.
inline constexpr std::int64_t max_entries = 4096;

/// Throws ConfigError: `network.build.<key> <problem> (<why>) <suggestion>`
[[noreturn]] void refuse(std::string_view key, const std::string& problem, const std::string& why,
                         std::string_view suggestion);
/// Throws ConfigError unless the value is in that range.
void require(std::string_view key, std::int64_t value, std::int64_t least, std::int64_t most);
/// Throws ConfigError for more than max_entries of something.
void require_count(std::string_view key, std::int64_t count, std::string_view what);

}  // namespace cambrian::builder_checks

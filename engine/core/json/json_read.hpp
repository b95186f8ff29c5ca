#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

// Strict reading of JSON values: every function throws ConfigError that names the path of the value
// and what is allowed there.
namespace cambrian::json_read {

/// `<path> <problem> (<why>) <suggestion>`
[[noreturn]] void fail(std::string_view path, std::string_view problem, std::string_view why,
                       std::string_view suggestion);
/// The value must be an object with no other keys than these.
void object(const nlohmann::json& json, std::string_view path,
            std::span<const std::string_view> keys);
/// The value must be a list; → how many elements it has.
std::size_t list(const nlohmann::json& json, std::string_view path);
/// An element of a list.
[[nodiscard]] const nlohmann::json& at(const nlohmann::json& list, std::size_t index);
/// The value of a key, or null where the object has none.
[[nodiscard]] const nlohmann::json* find(const nlohmann::json& object, std::string_view key);
[[nodiscard]] std::int64_t integer(const nlohmann::json& json, std::string_view path,
                                   std::int64_t least, std::int64_t most);
/// A number that a float can hold.
[[nodiscard]] float real(const nlohmann::json& json, std::string_view path);
[[nodiscard]] bool boolean(const nlohmann::json& json, std::string_view path);
[[nodiscard]] std::string text(const nlohmann::json& json, std::string_view path);
/// Index of a text among the allowed ones.
[[nodiscard]] std::size_t choice(const nlohmann::json& json, std::string_view path,
                                 std::span<const std::string_view> allowed);
/// "path.key", or "key" below an empty path.
[[nodiscard]] std::string member(std::string_view path, std::string_view key);
/// "path[index]"
[[nodiscard]] std::string element(std::string_view path, std::size_t index);

}  // namespace cambrian::json_read

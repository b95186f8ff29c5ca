#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/layers/support/axis_values.hpp"
#include "cambrian/engine/layers/support/layer.hpp"

// Fields (Field) from and to JSON, for layers and for settings that list theirs in the same form.
// A value that a key holds is checked for its type and range; ConfigError names the path.
namespace cambrian::field_json {

[[nodiscard]] nlohmann::ordered_json write(std::int64_t value);
[[nodiscard]] nlohmann::ordered_json write(bool value);
/// The shortest decimal that reads back as the same float, so that 1e-5 stays 1e-5.
[[nodiscard]] nlohmann::ordered_json write(float value);
[[nodiscard]] nlohmann::ordered_json write(const std::string& value);
[[nodiscard]] nlohmann::ordered_json write(Activation value);
[[nodiscard]] nlohmann::ordered_json write(const std::vector<std::int64_t>& values);
[[nodiscard]] nlohmann::ordered_json write(const std::vector<bool>& values);
[[nodiscard]] nlohmann::ordered_json write(const std::vector<std::string>& values);
[[nodiscard]] nlohmann::ordered_json write(const AxisValues& values);

/// Counts and widths: 0 to widest_layer.
void read(std::int64_t& value, const nlohmann::json& source, std::string_view path);
void read(bool& value, const nlohmann::json& source, std::string_view path);
void read(float& value, const nlohmann::json& source, std::string_view path);
void read(std::string& value, const nlohmann::json& source, std::string_view path);
void read(Activation& value, const nlohmann::json& source, std::string_view path);
void read(std::vector<std::int64_t>& values, const nlohmann::json& source, std::string_view path);
void read(std::vector<bool>& values, const nlohmann::json& source, std::string_view path);
void read(std::vector<std::string>& values, const nlohmann::json& source, std::string_view path);
void read(AxisValues& values, const nlohmann::json& source, std::string_view path);

/// The value of a key, or null where the object has none.
[[nodiscard]] const nlohmann::json* find(const nlohmann::json& object, std::string_view key);
void set(nlohmann::ordered_json& object, std::string_view key, nlohmann::ordered_json value);

/// Sets the fields that a JSON object with a "type" holds, by read_value(field, value, path of the
/// value), and leaves the others. Throws ConfigError for any other key.
template <class Settings, class ReadValue>
void read_fields(Settings& settings, const nlohmann::json& source, std::string_view path,
                 const ReadValue& read_value) {
    const auto names = std::apply(
        [](const auto&... field) {
            return std::array{std::string_view("type"), field.name...};
        },
        Settings::fields);
    json_read::object(source, path, names);
    const auto read_one = [&](const auto& field) {
        if (const nlohmann::json* found = find(source, field.name))
            read_value(settings.*field.member, *found, json_read::member(path, field.name));
    };
    std::apply([&](const auto&... field) { (read_one(field), ...); }, Settings::fields);
}

/// Adds every field to an object, by write_value(field).
template <class Settings, class WriteValue>
void write_fields(nlohmann::ordered_json& object, const Settings& settings,
                  const WriteValue& write_value) {
    std::apply(
        [&](const auto&... field) {
            (set(object, field.name, write_value(settings.*field.member)), ...);
        },
        Settings::fields);
}

}  // namespace cambrian::field_json

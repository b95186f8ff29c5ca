#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// How the kinds of losses, optimizers, schedules and sources speak of their fields: one list of
// each, from which JSON is read and written.
namespace cambrian {

/// The numbers that a field takes.
struct FieldRange {
    double least = 0.0;
    double most = 0.0;
    bool above = false;  ///< Not `least` itself.
    bool below = false;  ///< Not `most` itself.
};
inline constexpr double largest_setting = 1e30;
inline constexpr FieldRange positive{0.0, largest_setting, true, false};
inline constexpr FieldRange not_negative{0.0, largest_setting, false, false};
inline constexpr FieldRange from_zero_to_one{0.0, 1.0, false, false};
inline constexpr FieldRange below_one{0.0, 1.0, false, true};

/// A field of some settings, where its value lies, and what it may be.
struct SettingField {
    std::string_view name;
    std::variant<double*, std::int64_t*, bool*, std::string*, std::vector<std::string>*> value;
    FieldRange range{};
};

/// Sets what the JSON object holds and leaves the rest. Throws ConfigError naming the path, what
/// was found and what is allowed; keys beside the fields are allowed only when `others` names them.
void read_fields(const nlohmann::json& json, std::string_view path,
                 std::span<const SettingField> fields, std::span<const std::string_view> others);
/// Adds every field to an object.
void write_fields(nlohmann::ordered_json& json, std::span<const SettingField> fields);
/// The row whose name is the "type" of the JSON object. Throws ConfigError.
[[nodiscard]] std::size_t read_type(const nlohmann::json& json, std::string_view path,
                                    std::span<const std::string_view> types);

}  // namespace cambrian

#include "cambrian/engine/core/json/field_json.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/json/kinds.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::field_json {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr FieldRange any_count{0.0, static_cast<double>(largest_count)};
constexpr FieldRange any_natural{0.0, largest_setting};
constexpr FieldRange any_number{-largest_setting, largest_setting};

/// @param given what is not allowed: an end that no setting reaches is told where it passes it.
std::string allowed(const FieldRange& range, double given) {
    std::string text =
        fmt::format("a number {} {}", range.above ? "above" : "of at least", range.min);
    if (range.max < largest_setting || given > range.max)
        text += fmt::format(" and {} {}", range.below ? "below" : "at most", range.max);
    return text + " is needed";
}

double number(const json& source, std::string_view path, const FieldRange& range) {
    const double given = source.is_number() ? source.get<double>() : range.min;
    if (!source.is_number() || !range.contains(given))
        json_read::fail(path, "is " + json_text::shown(source), allowed(range, given), "change it");
    return given;
}

/// Numbers of a range, in the type of the setting.
template <class Number>
void describe_range(ordered_json& node, const char* type, const FieldRange& range) {
    node["type"] = type;
    if (range.min > -largest_setting)
        node[range.above ? "exclusiveMinimum" : "minimum"] = static_cast<Number>(range.min);
    if (range.max < largest_setting)
        node[range.below ? "exclusiveMaximum" : "maximum"] = static_cast<Number>(range.max);
}

}  // namespace

void read(std::int64_t& value, const json& source, std::string_view path, Range range) {
    const FieldRange wanted = range.value_or(any_count);
    value = json_read::integer(source, path, static_cast<std::int64_t>(wanted.min),
                               static_cast<std::int64_t>(wanted.max));
}
void read(std::uint64_t& value, const json& source, std::string_view path, Range range) {
    const FieldRange wanted = range.value_or(any_natural);
    if (!source.is_number_integer() || !wanted.contains(source.get<double>()))
        json_read::fail(path, "is " + json_text::shown(source),
                        "whole: " + allowed(wanted, wanted.min), "change it");
    value = source.get<std::uint64_t>();
}
void read(double& value, const json& source, std::string_view path, Range range) {
    value = number(source, path, range.value_or(any_number));
}
void read(float& value, const json& source, std::string_view path, Range range) {
    if (range) static_cast<void>(number(source, path, *range));
    value = json_read::real(source, path);
}
void read(bool& value, const json& source, std::string_view path, Range) {
    value = json_read::boolean(source, path);
}
void read(std::string& value, const json& source, std::string_view path, Range) {
    value = json_read::text(source, path);
}

void write(ordered_json& target, std::int64_t value) {
    target = value;
}
void write(ordered_json& target, std::uint64_t value) {
    target = value;
}
void write(ordered_json& target, double value) {
    target = value;
}
void write(ordered_json& target, float value) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    double shortest = 0.0;
    std::from_chars(text.data(), end, shortest);
    target = shortest;
}
void write(ordered_json& target, bool value) {
    target = value;
}
void write(ordered_json& target, std::string_view value) {
    target = value;
}
void write(ordered_json& target, const std::vector<bool>& values) {
    target = values;
}

void describe(ordered_json& node, std::int64_t, Range range) {
    describe_range<std::int64_t>(node, "integer", range.value_or(any_count));
}
void describe(ordered_json& node, std::uint64_t, Range range) {
    describe_range<std::int64_t>(node, "integer", range.value_or(any_natural));
}
void describe(ordered_json& node, double, Range range) {
    describe_range<double>(node, "number", range.value_or(any_number));
}
void describe(ordered_json& node, float, Range range) {
    describe_range<double>(node, "number", range.value_or(any_number));
}
void describe(ordered_json& node, bool, Range) {
    node["type"] = "boolean";
}
void describe(ordered_json& node, const std::string& value, Range) {
    node["type"] = "string";
    // What has a name by default has none that is empty.
    if (!value.empty()) node["minLength"] = 1;
}
void describe_choice(ordered_json& node, std::span<const std::string_view> names) {
    node["type"] = "string";
    node["enum"] = std::vector<std::string>(names.begin(), names.end());
}

ordered_json& member(ordered_json& object, std::string_view key) {
    return object[std::string(key)];
}
ordered_json& append(ordered_json& list) {
    list.push_back(nullptr);
    return list.back();
}
void make_list(ordered_json& target) {
    target = ordered_json::array();
}
void make_object(ordered_json& target) {
    target = ordered_json::object();
}

std::size_t read_type(const json& source, std::string_view path,
                      std::span<const std::string_view> names) {
    if (!source.is_object() || !source.contains("type"))
        json_read::fail(path, "has no type", "known: " + joined(names),
                        fmt::format("write it like {{\"type\": \"{}\"}}", names.front()));
    return json_read::choice(source["type"], json_read::member(path, "type"), names);
}

void require(ordered_json& node, std::string_view key) {
    ordered_json& setting = node["properties"][std::string(key)];
    setting.erase("default");
    setting[setting["type"] == "array" ? "minItems" : "minLength"] = 1;
    node["required"].push_back(key);
}

}  // namespace cambrian::field_json

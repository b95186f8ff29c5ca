#include "cambrian/engine/train/setting_fields.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/core/json/json_text.hpp"

namespace cambrian {
namespace {

using nlohmann::json;

std::string allowed(const FieldRange& range) {
    std::string text =
        fmt::format("a number {} {}", range.above ? "above" : "of at least", range.least);
    if (range.most < largest_setting)
        text += fmt::format(" and {} {}", range.below ? "below" : "at most", range.most);
    return text + " is needed";
}

bool fits(double number, const FieldRange& range) {
    const bool low = range.above ? number > range.least : number >= range.least;
    return low && (range.below ? number < range.most : number <= range.most);
}

void read(double& target, const json& source, const std::string& path, const FieldRange& range) {
    if (!source.is_number() || !fits(source.get<double>(), range))
        json_read::fail(path, "is " + json_text::shown(source), allowed(range), "change it");
    target = source.get<double>();
}

void read(std::int64_t& target, const json& source, const std::string& path,
          const FieldRange& range) {
    target = json_read::integer(source, path, static_cast<std::int64_t>(range.least),
                                static_cast<std::int64_t>(range.most));
}

void read(bool& target, const json& source, const std::string& path, const FieldRange&) {
    target = json_read::boolean(source, path);
}

void read(std::string& target, const json& source, const std::string& path, const FieldRange&) {
    target = json_read::text(source, path);
}

void read(std::vector<std::string>& target, const json& source, const std::string& path,
          const FieldRange&) {
    json_read::list(source, path);
    target.clear();
    for (std::size_t i = 0; i < source.size(); ++i)
        target.push_back(json_read::text(source[i], json_read::element(path, i)));
}

}  // namespace

void read_fields(const json& source, std::string_view path, std::span<const SettingField> fields,
                 std::span<const std::string_view> others) {
    std::vector<std::string_view> keys(others.begin(), others.end());
    for (const SettingField& field : fields) keys.push_back(field.name);
    json_read::object(source, path, keys);
    for (const SettingField& field : fields) {
        const auto found = source.find(std::string(field.name));
        if (found == source.end()) continue;
        const std::string place = json_read::member(path, field.name);
        std::visit([&](auto* value) { read(*value, *found, place, field.range); }, field.value);
    }
}

void write_fields(nlohmann::ordered_json& target, std::span<const SettingField> fields) {
    for (const SettingField& field : fields)
        std::visit([&](const auto* value) { target[std::string(field.name)] = *value; },
                   field.value);
}

std::size_t read_type(const json& source, std::string_view path,
                      std::span<const std::string_view> types) {
    if (!source.is_object() || !source.contains("type"))
        json_read::fail(path, "has no type", fmt::format("known: {}", fmt::join(types, ", ")),
                        fmt::format("write it like {{\"type\": \"{}\"}}", types.front()));
    return json_read::choice(source["type"], json_read::member(path, "type"), types);
}

}  // namespace cambrian

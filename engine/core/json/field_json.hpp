#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/core/json/json_read.hpp"

// Structs that list their fields (Field): from and to JSON, and as keys of the schema of configs.
// What a key holds is checked for its type and range; ConfigError names the path.
namespace cambrian::field_json {

using Range = std::optional<FieldRange>;

/// An enum whose names `choice_names(value)` tells, in the order of its values.
template <class Value>
concept Choice = std::is_enum_v<Value> && requires(Value value) {
    { choice_names(value) } -> std::convertible_to<std::span<const std::string_view>>;
};
/// A struct with a table of its fields.
template <class Value>
concept Listed = requires {
    Value::fields;
};
template <class Value>
concept Whole = std::same_as<Value, std::int64_t> || std::same_as<Value, std::uint64_t>;

/// Without a range a whole number is from 0 to largest_count (unsigned: any), and others are any.
void read(std::int64_t& value, const nlohmann::json& source, std::string_view path, Range range);
void read(std::uint64_t& value, const nlohmann::json& source, std::string_view path, Range range);
void read(double& value, const nlohmann::json& source, std::string_view path, Range range);
void read(float& value, const nlohmann::json& source, std::string_view path, Range range);
void read(bool& value, const nlohmann::json& source, std::string_view path, Range range);
void read(std::string& value, const nlohmann::json& source, std::string_view path, Range range);
template <Choice Value>
void read(Value& value, const nlohmann::json& source, std::string_view path, Range) {
    value = static_cast<Value>(json_read::choice(source, path, choice_names(value)));
}
template <Listed Value>
void read(Value& value, const nlohmann::json& source, std::string_view path, Range);
template <class Element>
void read(std::vector<Element>& values, const nlohmann::json& source, std::string_view path,
          Range range) {
    values.clear();
    for (std::size_t i = 0; i < json_read::list(source, path); ++i) {
        Element element{};
        read(element, json_read::at(source, i), json_read::element(path, i), range);
        values.push_back(std::move(element));
    }
}

void write(nlohmann::ordered_json& target, std::int64_t value);
void write(nlohmann::ordered_json& target, std::uint64_t value);
void write(nlohmann::ordered_json& target, double value);
/// The shortest decimal that reads back as the same float, so that 1e-5 stays 1e-5.
void write(nlohmann::ordered_json& target, float value);
void write(nlohmann::ordered_json& target, bool value);
void write(nlohmann::ordered_json& target, std::string_view value);
void write(nlohmann::ordered_json& target, const std::vector<bool>& values);
template <Choice Value>
void write(nlohmann::ordered_json& target, Value value) {
    write(target, choice_names(value)[static_cast<std::size_t>(value)]);
}
template <class Element>
void write(nlohmann::ordered_json& target, const std::vector<Element>& values);
template <Listed Value>
void write(nlohmann::ordered_json& target, const Value& value);

/// What the schema says of values of a type: {"type": "number", "minimum": 0}.
void describe(nlohmann::ordered_json& node, std::int64_t, Range range);
void describe(nlohmann::ordered_json& node, std::uint64_t, Range range);
void describe(nlohmann::ordered_json& node, double, Range range);
void describe(nlohmann::ordered_json& node, float, Range range);
void describe(nlohmann::ordered_json& node, bool, Range);
void describe(nlohmann::ordered_json& node, const std::string&, Range);
void describe_choice(nlohmann::ordered_json& node, std::span<const std::string_view> names);
template <Choice Value>
void describe(nlohmann::ordered_json& node, Value value, Range) {
    describe_choice(node, choice_names(value));
}
template <class Element>
void describe(nlohmann::ordered_json& node, const std::vector<Element>&, Range range);
template <Listed Value>
void describe(nlohmann::ordered_json& node, const Value& value, Range);

/// The value of a key of an object, which becomes one; a new value at the end of a list.
[[nodiscard]] nlohmann::ordered_json& member(nlohmann::ordered_json& object, std::string_view key);
[[nodiscard]] nlohmann::ordered_json& append(nlohmann::ordered_json& list);
void make_list(nlohmann::ordered_json& target);
void make_object(nlohmann::ordered_json& target);

/// Makes a key one that has no default and may not be empty, in a schema that describes it.
void require(nlohmann::ordered_json& schema, std::string_view key);

/// Calls body(field) for each field of a struct, in their order.
template <Listed Settings, class Body>
void for_each_field(const Body& body) {
    Settings::fields([&](const auto&... field) { (body(field), ...); });
}

/// Sets what the JSON object holds by read_value(member, value, path, range) and leaves the rest.
/// Keys beside the fields are allowed only when `others` names them.
template <Listed Settings, class ReadValue>
void read_fields(Settings& settings, const nlohmann::json& source, std::string_view path,
                 std::span<const std::string_view> others, const ReadValue& read_value) {
    std::vector<std::string_view> keys(others.begin(), others.end());
    for_each_field<Settings>([&](const auto& field) { keys.push_back(field.name); });
    json_read::object(source, path, keys);
    for_each_field<Settings>([&](const auto& field) {
        if (const nlohmann::json* value = json_read::find(source, field.name))
            read_value(settings.*field.member, *value, json_read::member(path, field.name),
                       field.range);
    });
}
template <Listed Settings>
void read_fields(Settings& settings, const nlohmann::json& source, std::string_view path,
                 std::span<const std::string_view> others = {}) {
    read_fields(settings, source, path, others,
                [](auto& value, const nlohmann::json& held, std::string_view place, Range range) {
                    read(value, held, place, range);
                });
}

/// Adds every field to an object by write_value(target, member), see Field::later().
template <Listed Settings, class WriteValue>
void write_fields(nlohmann::ordered_json& object, const Settings& settings,
                  const WriteValue& write_value) {
    for_each_field<Settings>([&](const auto& field) {
        if constexpr (has_later<Settings>)
            if (field.addition > 0 && settings.*field.member == Settings{}.*field.member) return;
        write_value(member(object, field.name), settings.*field.member);
    });
}
template <Listed Settings>
void write_fields(nlohmann::ordered_json& object, const Settings& settings) {
    make_object(object);
    write_fields(object, settings,
                 [](nlohmann::ordered_json& target, const auto& value) { write(target, value); });
}

/// Adds to the properties of a schema those of a struct, by describe_value(node, member, range).
template <Listed Settings, class DescribeValue>
void describe_fields(nlohmann::ordered_json& properties, const Settings& settings,
                     const DescribeValue& describe_value) {
    make_object(properties);
    for_each_field<Settings>([&]<class Value>(const Field<Settings, Value>& field) {
        nlohmann::ordered_json& node = member(properties, field.name);
        describe_value(node, settings.*field.member, field.range);
        if (!field.meaning.empty()) write(member(node, "description"), field.meaning);
        if constexpr (!Listed<Value>) write(member(node, "x-class"), std::string_view("identity"));
    });
}
/// The same, each with its default in `settings`.
template <Listed Settings>
void describe_fields(nlohmann::ordered_json& properties, const Settings& settings = {}) {
    describe_fields(properties, settings,
                    []<class Value>(nlohmann::ordered_json& node, const Value& value, Range range) {
                        describe(node, value, range);
                        if constexpr (!Listed<Value>) write(member(node, "default"), value);
                    });
}

template <Listed Value>
void read(Value& value, const nlohmann::json& source, std::string_view path, Range) {
    read_fields(value, source, path);
}

template <class Element>
void write(nlohmann::ordered_json& target, const std::vector<Element>& values) {
    make_list(target);
    for (const Element& value : values) write(append(target), value);
}
template <Listed Value>
void write(nlohmann::ordered_json& target, const Value& value) {
    write_fields(target, value);
}

template <class Element>
void describe(nlohmann::ordered_json& node, const std::vector<Element>&, Range range) {
    write(member(node, "type"), std::string_view("array"));
    if constexpr (std::same_as<Element, std::string>)
        describe(member(node, "items"), std::string("name"), range);
    else
        describe(member(node, "items"), Element{}, range);
}
template <Listed Value>
void describe(nlohmann::ordered_json& node, const Value& value, Range) {
    write(member(node, "type"), std::string_view("object"));
    describe_fields(member(node, "properties"), value);
}

}  // namespace cambrian::field_json

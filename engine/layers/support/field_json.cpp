#include "cambrian/engine/layers/support/field_json.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian::field_json {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Every element of a list.
template <class Value, class ReadElement>
void read_list(std::vector<Value>& values, const json& source, std::string_view path,
               const ReadElement& read_element) {
    json_read::list(source, path);
    values.clear();
    for (std::size_t i = 0; i < source.size(); ++i)
        values.push_back(read_element(source[i], json_read::element(path, i)));
}

std::int64_t count(const json& source, std::string_view path) {
    return json_read::integer(source, path, 0, widest_layer);
}

}  // namespace

ordered_json write(std::int64_t value) {
    return value;
}
ordered_json write(bool value) {
    return value;
}
ordered_json write(const std::string& value) {
    return value;
}
ordered_json write(Activation value) {
    return name(value);
}

ordered_json write(float value) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    double number = 0.0;
    std::from_chars(text.data(), end, number);
    return number;
}

ordered_json write(const std::vector<std::int64_t>& values) {
    return values;
}
ordered_json write(const std::vector<bool>& values) {
    return values;
}
ordered_json write(const std::vector<std::string>& values) {
    return values;
}
ordered_json write(const AxisValues& values) {
    return values.size() == 1 ? ordered_json(values.values[0]) : ordered_json(values.values);
}

void read(std::int64_t& value, const json& source, std::string_view path) {
    value = count(source, path);
}
void read(bool& value, const json& source, std::string_view path) {
    value = json_read::boolean(source, path);
}
void read(float& value, const json& source, std::string_view path) {
    value = json_read::real(source, path);
}
void read(std::string& value, const json& source, std::string_view path) {
    value = json_read::text(source, path);
}
void read(Activation& value, const json& source, std::string_view path) {
    value = static_cast<Activation>(json_read::choice(source, path, activation_names));
}
void read(std::vector<std::int64_t>& values, const json& source, std::string_view path) {
    read_list(values, source, path, count);
}
void read(std::vector<bool>& values, const json& source, std::string_view path) {
    read_list(values, source, path, json_read::boolean);
}
void read(std::vector<std::string>& values, const json& source, std::string_view path) {
    read_list(values, source, path, json_read::text);
}
void read(AxisValues& values, const json& source, std::string_view path) {
    if (source.is_array())
        read(values.values, source, path);
    else
        values = count(source, path);
}

const json* find(const json& object, std::string_view key) {
    const auto found = object.find(std::string(key));
    return found == object.end() ? nullptr : &*found;
}

void set(ordered_json& object, std::string_view key, ordered_json value) {
    object[std::string(key)] = std::move(value);
}

}  // namespace cambrian::field_json

#include "cambrian/engine/layers/layer_json.hpp"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json_read.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/width.hpp"

namespace cambrian {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json value_to_json(std::int64_t value) {
    return value;
}
ordered_json value_to_json(bool value) {
    return value;
}
ordered_json value_to_json(const std::string& value) {
    return value;
}
ordered_json value_to_json(Activation value) {
    return name(value);
}

/// The shortest decimal that reads back as the same float, so that 1e-5 stays 1e-5.
ordered_json value_to_json(float value) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    double number = 0.0;
    std::from_chars(text.data(), end, number);
    return number;
}

ordered_json value_to_json(const std::vector<AnyLayer>& layers) {
    ordered_json result = ordered_json::array();
    for (const AnyLayer& layer : layers) result.push_back(to_json(layer));
    return result;
}

ordered_json value_to_json(const OptionalLayer& layer) {
    return layer.empty() ? ordered_json() : to_json(layer.layer.front());
}

ordered_json value_to_json(const std::vector<std::int64_t>& values) {
    return values;
}
ordered_json value_to_json(const std::vector<bool>& values) {
    return values;
}
ordered_json value_to_json(const AxisValues& values) {
    return values.size() == 1 ? ordered_json(values.values[0]) : ordered_json(values.values);
}

AnyLayer read_layer(const json& source, std::string_view path, int depth);

void read_value(std::int64_t& value, const json& source, std::string_view path, int /*depth*/) {
    value = json_read::integer(source, path, 0, widest_layer);
}
void read_value(bool& value, const json& source, std::string_view path, int /*depth*/) {
    value = json_read::boolean(source, path);
}
void read_value(float& value, const json& source, std::string_view path, int /*depth*/) {
    value = json_read::real(source, path);
}
void read_value(std::string& value, const json& source, std::string_view path, int /*depth*/) {
    value = json_read::text(source, path);
}
void read_value(Activation& value, const json& source, std::string_view path, int /*depth*/) {
    value = static_cast<Activation>(json_read::choice(source, path, activation_names));
}
void read_value(std::vector<AnyLayer>& layers, const json& source, std::string_view path,
                int depth) {
    json_read::list(source, path);
    for (std::size_t i = 0; i < source.size(); ++i)
        layers.push_back(read_layer(source[i], json_read::element(path, i), depth + 1));
}

void read_value(OptionalLayer& layer, const json& source, std::string_view path, int depth) {
    layer.layer.clear();
    if (!source.is_null()) layer.layer.push_back(read_layer(source, path, depth + 1));
}
void read_value(std::vector<std::int64_t>& values, const json& source, std::string_view path,
                int /*depth*/) {
    json_read::list(source, path);
    values.clear();
    for (std::size_t i = 0; i < source.size(); ++i)
        values.push_back(
            json_read::integer(source[i], json_read::element(path, i), 0, widest_layer));
}
void read_value(std::vector<bool>& values, const json& source, std::string_view path,
                int /*depth*/) {
    json_read::list(source, path);
    values.clear();
    for (std::size_t i = 0; i < source.size(); ++i)
        values.push_back(json_read::boolean(source[i], json_read::element(path, i)));
}
void read_value(AxisValues& values, const json& source, std::string_view path, int depth) {
    if (source.is_array())
        read_value(values.values, source, path, depth);
    else
        values = json_read::integer(source, path, 0, widest_layer);
}

template <class L>
void read_fields(L& layer, const json& source, std::string_view path, int depth) {
    const auto names = std::apply(
        [](const auto&... field) {
            return std::array{std::string_view("type"), field.name...};
        },
        L::fields);
    json_read::object(source, path, names);
    const auto read = [&](const auto& field) {
        const auto found = source.find(std::string(field.name));
        if (found != source.end())
            read_value(layer.*field.member, *found, json_read::member(path, field.name), depth);
    };
    std::apply([&](const auto&... field) { (read(field), ...); }, L::fields);
}

AnyLayer read_layer(const json& source, std::string_view path, int depth) {
    if (depth > deepest_nesting)
        json_read::fail(path, "is nested too deeply",
                        "at most " + std::to_string(deepest_nesting) + " levels are allowed",
                        "use fewer containers in containers");
    if (!source.is_object() || !source.contains("type"))
        json_read::fail(path, "is not a layer", "an object with a \"type\" is needed",
                        "write it like {\"type\": \"dense\"}");
    const std::string type = json_read::text(source["type"], json_read::member(path, "type"));
    std::optional<AnyLayer> layer = default_layer(type);
    if (!layer)
        throw ConfigError(json_read::member(path, "type") + ": " + unknown_layer_type(type));
    std::visit([&](auto& concrete) { read_fields(concrete, source, path, depth); },
               layer->variant());
    if (const std::string_view fault = layer->fault(); !fault.empty())
        json_read::fail(path, "cannot be used", fault, "change that key");
    return *std::move(layer);
}

}  // namespace

ordered_json to_json(const AnyLayer& layer) {
    ordered_json result = ordered_json::object();
    result["type"] = layer.type();
    std::visit(
        [&result](const auto& concrete) {
            std::apply(
                [&](const auto&... field) {
                    ((result[std::string(field.name)] = value_to_json(concrete.*field.member)),
                     ...);
                },
                std::remove_cvref_t<decltype(concrete)>::fields);
        },
        layer.variant());
    return result;
}

AnyLayer layer_from_json(const json& source, std::string_view path) {
    return read_layer(source, path, 1);
}

}  // namespace cambrian

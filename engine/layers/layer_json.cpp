#include "cambrian/engine/layers/layer_json.hpp"

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/field_json.hpp"

namespace cambrian {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <class Value>
ordered_json value_to_json(const Value& value) {
    return field_json::write(value);
}

ordered_json value_to_json(const std::vector<AnyLayer>& layers) {
    ordered_json result = ordered_json::array();
    for (const AnyLayer& layer : layers) result.push_back(to_json(layer));
    return result;
}

ordered_json value_to_json(const OptionalLayer& layer) {
    return layer.empty() ? ordered_json() : to_json(layer.layer.front());
}

AnyLayer read_layer(const json& source, std::string_view path, int depth);

template <class Value>
void read_value(Value& value, const json& source, std::string_view path, int /*depth*/) {
    field_json::read(value, source, path);
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
    const auto read = [depth](auto& value, const json& held, std::string_view place) {
        read_value(value, held, place, depth);
    };
    std::visit([&](auto& concrete) { field_json::read_fields(concrete, source, path, read); },
               layer->variant());
    if (const std::string_view fault = layer->fault(); !fault.empty())
        json_read::fail(path, "cannot be used", fault, "change that key");
    return *std::move(layer);
}

}  // namespace

ordered_json to_json(const AnyLayer& any) {
    ordered_json result = ordered_json::object();
    result["type"] = any.type();
    const auto write = [](const auto& value) { return value_to_json(value); };
    std::visit([&](const auto& layer) { field_json::write_fields(result, layer, write); },
               any.variant());
    return result;
}

AnyLayer layer_from_json(const json& source, std::string_view path) {
    return read_layer(source, path, 1);
}

}  // namespace cambrian

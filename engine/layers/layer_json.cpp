#include "cambrian/engine/layers/layer_json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/layers/chain.hpp"

namespace cambrian {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

using field_json::Range;

template <class Value>
void write_value(ordered_json& target, const Value& value) {
    field_json::write(target, value);
}

void write_value(ordered_json& target, const AxisValues& values) {
    if (values.size() == 1)
        target = values.values[0];
    else
        target = values.values;
}

void write_value(ordered_json& target, const std::vector<AnyLayer>& layers) {
    target = ordered_json::array();
    for (const AnyLayer& layer : layers) target.push_back(to_json(layer));
}

void write_value(ordered_json& target, const OptionalLayer& layer) {
    target = layer.empty() ? ordered_json() : to_json(layer.layer.front());
}

template <class Value>
void describe_value(ordered_json& node, const Value& value, Range range) {
    field_json::describe(node, value, range);
}

void describe_value(ordered_json& node, const AxisValues&, Range) {
    const ordered_json one{{"type", "integer"}, {"minimum", 0}};
    node["anyOf"] = {one, {{"type", "array"}, {"minItems", 1}, {"maxItems", 3}, {"items", one}}};
    node["x-text"] = "an integer, or a list with one for each axis";
}

void describe_value(ordered_json& node, const std::vector<AnyLayer>&, Range) {
    node = {{"type", "array"}, {"items", {{"$ref", "#/$defs/layer"}}}};
}

void describe_value(ordered_json& node, const OptionalLayer&, Range) {
    node["anyOf"] = {{{"const", nullptr}}, {{"$ref", "#/$defs/layer"}}};
    node["x-text"] = "a layer, or null";
}

/// Reads values that a layer of some depth holds.
struct ValueReader {
    int depth;
    ParameterRules around;  ///< What layers in it are within; decay: what silent ones get.

    template <class Value>
    void operator()(Value& value, const json& source, std::string_view path, Range range) const {
        field_json::read(value, source, path, range);
    }
    void operator()(AxisValues& values, const json& source, std::string_view path,
                    Range range) const {
        if (!source.is_array()) values.values.resize(1);
        if (source.is_array())
            field_json::read(values.values, source, path, range);
        else
            field_json::read(values.values.front(), source, path, range);
    }
    void operator()(std::vector<AnyLayer>& layers, const json& source, std::string_view path,
                    Range) const;
    void operator()(OptionalLayer& layer, const json& source, std::string_view path, Range) const;
};

/// The type, and what of the rules a layer can use: those without weights have no keys for them.
std::vector<std::string_view> keys_beside_fields(const AnyLayer& layer) {
    std::vector<std::string_view> keys{"type"};
    field_json::for_each_field<ParameterRules>([&](const auto& field) {
        if (takes_rule(layer, field.name)) keys.push_back(field.name);
    });
    return keys;
}

/// Whether a layer in one, at any depth, says that it decays.
bool holds_decaying(const json& source, int levels = 2 * deepest_nesting) {
    if (levels == 0) return false;
    return std::any_of(source.begin(), source.end(), [levels](const json& value) {
        if (!value.is_structured()) return false;
        const bool is_layer = value.is_object() && value.contains("type");
        const json* decay = is_layer ? json_read::find(value, "decay") : nullptr;
        return (decay != nullptr && *decay == true) || holds_decaying(value, levels - 1);
    });
}

/// What a layer says of its parameters. Files have the values alone, in which a default gives way
/// to what is said around it: a layer that says one gets the same start by another name.
ParameterRules read_rules(const json& source, std::string_view path,
                          std::span<const std::string_view> keys, const ParameterRules& around) {
    ParameterRules rules = rules_from_json(source, path, keys);
    const bool takes_decay = std::ranges::find(keys, "decay") != keys.end();
    if (takes_decay && !source.contains("decay")) rules.decay = around.decay;
    const ParameterRules start{.init = around.init, .init_scale = around.init_scale};
    if (rules.init != InitRule::standard || start.plain()) return rules;
    if (source.contains("init"))
        rules.init = InitRule::scaled;
    else if (source.contains("init_scale") && rules.init_scale == ParameterRules{}.init_scale)
        rules.init = start.init == InitRule::standard ? InitRule::scaled : start.init;
    return rules;
}

AnyLayer read_layer(const json& source, std::string_view path, int depth,
                    const ParameterRules& around) {
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
    const std::vector<std::string_view> others = keys_beside_fields(*layer);
    ParameterRules& rules = layer->rules;
    rules = read_rules(source, path, others, around);
    // A container keeps all layers in it from decay: where one says otherwise, each says its own.
    const bool layers_say = !rules.decay && holds_decaying(source);
    rules.decay = rules.decay || layers_say;
    ParameterRules inner = rules.within(around);
    inner.decay = !layers_say;
    if (auto* custom = std::get_if<Custom>(&layer->variant()))
        custom->read_fields(source, path, others);
    else
        std::visit(
            [&](auto& concrete) {
                field_json::read_fields(concrete, source, path, others, ValueReader{depth, inner});
            },
            layer->variant());
    if (const std::string_view fault = layer->fault(); !fault.empty())
        json_read::fail(path, "cannot be used", fault, "change that key");
    return *std::move(layer);
}

void ValueReader::operator()(std::vector<AnyLayer>& layers, const json& source,
                             std::string_view path, Range) const {
    for (std::size_t i = 0; i < json_read::list(source, path); ++i)
        layers.push_back(read_layer(source[i], json_read::element(path, i), depth + 1, around));
}

void ValueReader::operator()(OptionalLayer& layer, const json& source, std::string_view path,
                             Range) const {
    layer.layer.clear();
    if (!source.is_null()) layer.layer.push_back(read_layer(source, path, depth + 1, around));
}

}  // namespace

ordered_json to_json(const AnyLayer& any) {
    ordered_json result = ordered_json::object();
    result["type"] = any.type();
    const auto write = [](ordered_json& target, const auto& value) { write_value(target, value); };
    if (const auto* custom = std::get_if<Custom>(&any.variant())) {
        ordered_json own;
        custom->write_fields(own);
        result.update(own);
    }
    std::visit([&](const auto& layer) { field_json::write_fields(result, layer, write); },
               any.variant());
    field_json::write_fields(result, any.rules, write);
    return result;
}

ordered_json layer_schema() {
    const auto describe = []<class Value>(ordered_json& node, const Value& value, Range range) {
        describe_value(node, value, range);
        if constexpr (!std::same_as<Value, OptionalLayer>) write_value(node["default"], value);
    };
    auto variants = ordered_json::object();
    for (const std::string_view type : known_layer_types()) {
        ordered_json& variant = variants[std::string(type)];
        std::visit(
            [&]<class L>(const L& layer) {
                if constexpr (std::same_as<L, Custom>) {
                    variant["description"] = layer.layer->about().summary;
                    layer.describe_fields(variant["properties"]);
                    return;
                }
                variant["description"] = L::about.summary;
                field_json::describe_fields(variant["properties"], layer, describe);
            },
            default_layer(type)->variant());
        ordered_json rules;
        field_json::describe_fields(rules, ParameterRules{},
                                    [](ordered_json& node, const auto& value, Range range) {
                                        node["x-optional"] = true;
                                        describe_value(node, value, range);
                                    });
        for (const std::string_view key : keys_beside_fields(*default_layer(type)))
            if (rules.contains(std::string(key)))
                variant["properties"][std::string(key)] = rules[std::string(key)];
    }
    return variants;
}

ParameterRules rules_from_json(const json& source, std::string_view path,
                               std::span<const std::string_view> names) {
    ParameterRules rules;
    field_json::for_each_field<ParameterRules>([&](const auto& field) {
        const bool named = std::ranges::find(names, field.name) != names.end();
        const json* value = named ? json_read::find(source, field.name) : nullptr;
        if (value != nullptr)
            field_json::read(rules.*field.member, *value, json_read::member(path, field.name),
                             field.range);
    });
    return rules;
}

AnyLayer layer_from_json(const json& source, std::string_view path, const ParameterRules& around) {
    return read_layer(source, path, 1, around);
}

}  // namespace cambrian

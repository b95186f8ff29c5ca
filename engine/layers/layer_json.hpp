#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "cambrian/engine/layers/any_layer.hpp"

namespace cambrian {

/// {"type": "dense", "in": 4, ...}: every field, in the order of the layer's `fields`.
[[nodiscard]] nlohmann::ordered_json to_json(const AnyLayer& layer);
/// What the schema of configs says of each type: "x-variants".
[[nodiscard]] nlohmann::ordered_json layer_schema();
/// What an object at `path` says of parameters, of the rules with these names.
[[nodiscard]] ParameterRules rules_from_json(const nlohmann::json& json, std::string_view path,
                                             std::span<const std::string_view> names);
/// Strict: an unknown type or key, a wrong type or a value out of range is a ConfigError that names
/// `path` (such as "network.layers[2]"), the key, and the nearest or allowed names.
/// @param around what is said of the parameters of all layers that say nothing themselves (the
/// caller gives it to these, see add_rules): a default that a layer says stands against it.
[[nodiscard]] AnyLayer layer_from_json(const nlohmann::json& json, std::string_view path,
                                       const ParameterRules& around = {});

}  // namespace cambrian

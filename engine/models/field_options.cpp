#include "cambrian/engine/models/field_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/layers/layer_json.hpp"

namespace cambrian::models {
namespace {

constexpr std::string_view activation = "activation";

/// A value as JSON: what is no JSON is a word.
nlohmann::json value_of(const std::string& text) {
    return json_text::fault(text) ? nlohmann::json(text) : nlohmann::json::parse(text);
}

std::string example_of(std::string_view field) {
    if (field == activation) return "relu";
    if (field == "epsilon") return "1e-5";
    if (field == "causal") return "true";
    if (field == "rope_base") return "10000";
    return field == "padding" ? "0" : "1";
}

}  // namespace

FieldOptions::FieldOptions(const UniversalOptions& options) {
    for (const std::string& text : options.fields) {
        const std::size_t middle = text.find('=');
        if (middle == std::string::npos || middle == 0 || middle + 1 == text.size())
            throw ConfigError(fmt::format(
                "--with is {} (it says FIELD=VALUE or MODULE.FIELD=VALUE) write it like heads=12",
                text));
        const std::string name = text.substr(0, middle);
        const std::size_t dot = name.rfind('.');
        const bool whole = dot == std::string::npos;
        fields_.push_back({.text = text,
                           .path = whole ? std::nullopt : std::optional(name.substr(0, dot)),
                           .field = whole ? name : name.substr(dot + 1),
                           .value = value_of(text.substr(middle + 1)).dump()});
        if (fields_.back().field == "type" && whole)
            throw ConfigError(fmt::format(
                "--with {} names no module (only one has a type) write it like fc1.type=embedding",
                text));
    }
    for (const std::string& text : options.insertions) {
        const std::size_t middle = text.find('=');
        if (middle == std::string::npos || middle == 0)
            throw ConfigError(fmt::format(
                "--after is {} (it says MODULE=LAYER) write it like conv1=max_pool2d", text));
        nlohmann::json layer = value_of(text.substr(middle + 1));
        if (layer.is_string()) layer = nlohmann::json{{"type", layer}};
        const AnyLayer made = layer_from_json(layer, "--after " + text.substr(0, middle));
        insertions_.push_back({text, text.substr(0, middle), "", to_json(made).dump()});
    }
}

std::map<std::string, std::string, std::less<>> FieldOptions::types() const {
    std::map<std::string, std::string, std::less<>> result;
    for (const Given& given : fields_) {
        if (given.field != "type") continue;
        const nlohmann::json type = nlohmann::json::parse(given.value);
        const bool known = type.is_string() && default_layer(type.get<std::string>()).has_value();
        if (!known)
            throw ConfigError(
                unknown_layer_type(type.is_string() ? type.get<std::string>() : given.value));
        result[*given.path] = type.get<std::string>();
    }
    return result;
}

FieldOptions::Given* FieldOptions::find(const std::string& path, std::string_view field) {
    Given* found = nullptr;
    for (Given& given : fields_)
        if (given.field == field && (given.path == path || (!given.path && found == nullptr)))
            found = &given;
    return found;
}

void FieldOptions::fill(const FoundModule& module, LayerFields& fields, bool activated) {
    const nlohmann::ordered_json known = to_json(*default_layer(module.names->type));
    for (Given& given : fields_) {
        if (given.field == "type") {
            given.used = given.used || given.path == module.path;
            continue;
        }
        const bool applies =
            given.path == module.path ||
            (!given.path && known.contains(given.field) &&
             (given.field != activation || activated) && find(module.path, given.field) == &given);
        if (!applies) continue;
        fields[given.field] = given.value;
        given.used = true;
    }
    std::vector<std::string_view> untold = module.names->untold;
    if (activated) untold.push_back(activation);
    for (const std::string_view field : untold)
        if (!fields.contains(std::string(field)))
            miss(fmt::format("--with {}={}", field, example_of(field)),
                 fmt::format("{} of {}", field, module.path.empty() ? "the module" : module.path));
}

std::vector<AnyLayer> FieldOptions::inserted_after(const std::string& path) {
    std::vector<AnyLayer> layers;
    for (Given& given : insertions_) {
        if (given.path != path) continue;
        given.used = true;
        layers.push_back(layer_from_json(nlohmann::json::parse(given.value), "--after"));
    }
    return layers;
}

void FieldOptions::miss(const std::string& option, const std::string& what) {
    missing_[option].push_back(what);
}

void FieldOptions::require_all_told(std::string_view source) const {
    if (missing_.empty()) return;
    std::vector<std::string> what;
    std::vector<std::string> options;
    for (const auto& [option, places] : missing_) {
        what.push_back(places.front() +
                       (places.size() > 1 ? fmt::format(" and {} more", places.size() - 1) : ""));
        options.push_back(option);
    }
    throw InputError(fmt::format(
        "{} cannot be built from names and shapes alone (they do not tell {}) give {} with the "
        "values of the model",
        source, joined(what), joined(options)));
}

void FieldOptions::require_all_used(const std::vector<FoundModule>& modules) const {
    std::vector<std::string> paths;
    for (const FoundModule& module : modules)
        paths.push_back(module.path.empty() ? "." : module.path);
    const auto require = [&](const std::vector<Given>& given, std::string_view option) {
        for (const Given& one : given)
            if (!one.used)
                throw ConfigError(fmt::format(
                    "{} {} fits nothing (the modules are {}) name one of them, or a field of "
                    "their layers",
                    option, one.text, shortened(joined(paths), 500)));
    };
    require(fields_, "--with");
    require(insertions_, "--after");
}

}  // namespace cambrian::models

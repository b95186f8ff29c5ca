#include "cambrian/launch/config/schema_validator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/launch/config/nearest.hpp"

namespace cambrian::launch {
namespace {

std::string below(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
}

/// A key as `explain` knows it: "network.layers[2].out" → "network.layers[].out".
std::string explained(const std::string& path) {
    return std::regex_replace(path, std::regex("\\[[0-9]+\\]"), "[]");
}

class Check {
  public:
    Check(const Schema& schema, const Origins& origins) : schema_(schema), origins_(origins) {}

    void value(const Json& reference, const Json& value, const std::string& path) const {
        const Json& node = schema_.resolve(reference);
        if (node.contains("anyOf")) {
            for (const Json& part : node["anyOf"]) {
                if (!fits(schema_.resolve(part), value)) continue;
                if (value.is_structured()) this->value(part, value, path);
                return;
            }
            fail(node, value, path);
        }
        if (!fits(node, value)) fail(node, value, path);
        if (value.is_object()) object(reference, value, path);
        if (value.is_array() && node.contains("items"))
            for (std::size_t i = 0; i < value.size(); ++i)
                this->value(node["items"], value[i], fmt::format("{}[{}]", path, i));
    }

  private:
    void object(const Json& node, const Json& value, const std::string& path) const {
        const Schema::Keys keys = schema_.keys(node, value);
        for (const std::string& name : keys.required)
            if (!value.contains(name)) missing(keys, name, value, path);
        if (!keys.variants.empty() && !keys.chosen && !keys.open) wrong_variant(keys, value, path);
        for (const auto& [name, child] : value.items()) {
            const auto known =
                std::find_if(keys.properties.begin(), keys.properties.end(),
                             [&, &key = name](const auto& p) { return p.first == key; });
            if (known != keys.properties.end())
                this->value(*known->second, child, below(path, name));
            else if (!keys.open)
                unknown(keys, name, path);
        }
    }

    [[nodiscard]] static bool in_range(const Json& node, double number) {
        return !((node.contains("minimum") && number < node["minimum"].get<double>()) ||
                 (node.contains("maximum") && number > node["maximum"].get<double>()) ||
                 (node.contains("exclusiveMinimum") &&
                  number <= node["exclusiveMinimum"].get<double>()) ||
                 (node.contains("exclusiveMaximum") &&
                  number >= node["exclusiveMaximum"].get<double>()));
    }

    /// Type, range and length of the value itself, not of what it holds.
    [[nodiscard]] static bool fits(const Json& node, const Json& value) {
        if (node.contains("const")) return value == node["const"];
        const std::string type = node.at("type").get<std::string>();
        if (type == "boolean") return value.is_boolean();
        if (type == "object") return value.is_object();
        if (type == "number") return value.is_number() && in_range(node, value.get<double>());
        if (type == "integer")
            return value.is_number_integer() && in_range(node, value.get<double>());
        if (type == "array")
            return value.is_array() && value.size() >= node.value("minItems", std::size_t{0}) &&
                   value.size() <= node.value("maxItems", value.size());
        if (!value.is_string()) return false;
        const std::string text = value.get<std::string>();
        if (node.contains("enum") &&
            std::find(node["enum"].begin(), node["enum"].end(), value) == node["enum"].end())
            return false;
        // The matcher recurses for each character of a text.
        constexpr std::size_t longest_matched = 256;
        if (node.contains("pattern") &&
            (text.size() > longest_matched ||
             !std::regex_search(text, std::regex(node["pattern"].get<std::string>()))))
            return false;
        return text.size() >= node.value("minLength", std::size_t{0});
    }

    [[noreturn]] void fail(const Json& node, const Json& value, const std::string& path) const {
        std::string hint = fmt::format("see 'cambrian explain {}'", known_key(path));
        if (value.is_string() && node.contains("enum"))
            if (const auto near =
                    nearest(value.get<std::string>(), node["enum"].get<std::vector<std::string>>()))
                hint = fmt::format("did you mean \"{}\"?", *near);
        throw ConfigError(fmt::format("{}: {} is {} (allowed: {}) {}", origins_.of(path),
                                      path.empty() ? "the config" : path, quoted(value),
                                      allowed_values(schema_, node), hint));
    }

    [[noreturn]] void missing(const Schema::Keys& keys, const std::string& name, const Json& value,
                              const std::string& path) const {
        const std::string key = below(path, name);
        std::string what = "allowed: ";
        for (const auto& [known, node] : keys.properties)
            if (known == name) what += allowed_values(schema_, *node);
        if (name == "type" && !keys.variants.empty()) what = "known: " + joined(keys.variants);
        throw ConfigError(fmt::format("{}: {} is missing ({}) add it to {}", origins_.of(path), key,
                                      what, path.empty() ? "the config" : quoted(value)));
    }

    [[noreturn]] void wrong_variant(const Schema::Keys& keys, const Json& value,
                                    const std::string& path) const {
        const Json& type = value["type"];
        std::string hint = "choose one of them";
        if (type.is_string())
            if (const auto near = nearest(type.get<std::string>(), keys.variants))
                hint = fmt::format("did you mean \"{}\"?", *near);
        throw ConfigError(fmt::format("{}: {} is {} (known: {}) {}", origins_.of(path),
                                      below(path, "type"), quoted(type), joined(keys.variants),
                                      hint));
    }

    [[noreturn]] void unknown(const Schema::Keys& keys, const std::string& name,
                              const std::string& path) const {
        std::vector<std::string> names;
        for (const auto& [known, node] : keys.properties) names.push_back(known);
        std::string place = path.empty() ? "the config" : path;
        if (keys.chosen) place += fmt::format(" of type \"{}\"", keys.variant);
        const std::string key = below(path, shortened(name));
        throw ConfigError(fmt::format("{}: {} is not a known key ({} has: {}) {}", origins_.of(key),
                                      key, place, names.empty() ? "no keys" : joined(names),
                                      suggestion(names, name, path)));
    }

    /// The key that `explain` has for a path: it lists neither elements that are no sections nor
    /// layers in layers.
    [[nodiscard]] std::string known_key(const std::string& path) const {
        const std::vector<SchemaKey> keys = schema_.all_keys();
        std::string key = explained(path);
        while (!key.empty() && std::ranges::find(keys, key, &SchemaKey::key) == keys.end()) {
            const std::size_t inner = key.rfind("[].");
            const std::size_t outer = inner == std::string::npos || inner == 0
                                          ? std::string::npos
                                          : key.rfind("[].", inner - 1);
            const std::size_t dot = key.rfind('.');
            if (key.ends_with("[]"))
                key.erase(key.size() - 2);
            else if (outer != std::string::npos)
                key.erase(outer, inner - outer);
            else
                key.erase(dot == std::string::npos ? 0 : dot);
        }
        return key;
    }

    [[nodiscard]] std::string suggestion(const std::vector<std::string>& names,
                                         const std::string& name, const std::string& path) const {
        const std::string section = explained(path);
        auto near = nearest(name, names);
        if (near) near = below(path, *near);
        if (const auto hint = schema_.hint(name, section, near)) return *hint;
        const std::vector<SchemaKey> same = schema_.keys_called(name, section);
        if (same.empty()) return "remove it, or see 'cambrian explain'";
        std::vector<std::string> types;
        for (const SchemaKey& entry : same)
            if (entry.key == same.front().key) types.push_back(entry.variant);
        return fmt::format("set {} to {}{}", type_above(path),
                           types.size() > 1 ? "one that has it: " : "", joined(types));
    }

    /// The key of the type on which the keys of a section depend. Islands have that of all.
    [[nodiscard]] std::string type_above(std::string section) const {
        const std::vector<SchemaKey> keys = schema_.all_keys();
        while (!section.empty() && std::ranges::find(keys, below(explained(section), "type"),
                                                     &SchemaKey::key) == keys.end())
            section.erase(section.rfind('.') == std::string::npos ? 0 : section.rfind('.'));
        if (section.starts_with("islands.overrides[")) section.erase(0, section.find("].") + 2);
        return below(section, "type");
    }

    const Schema& schema_;
    const Origins& origins_;
};

Json normalised(const Schema& schema, const Json& reference, const Json& value) {
    const Json& node = schema.resolve(reference);
    if (node.value("type", "") == "number" && value.is_number()) return value.get<double>();
    if (value.is_array() && node.contains("items")) {
        Json result = Json::array();
        for (const Json& item : value) result.push_back(normalised(schema, node["items"], item));
        return result;
    }
    if (!value.is_object() || node.value("type", "") != "object") return value;
    // What is other than elsewhere has no defaults of its own.
    if (node.value("x-partial", false)) return value;
    const Schema::Keys keys = schema.keys(reference, value);
    Json result = Json::object();
    for (const auto& [name, child] : keys.properties) {
        const Json& target = schema.resolve(*child);
        const Json* initial = schema.default_of(*child);
        // Beside the key that stands for it, or without the one it is about, a key has no default.
        const bool replaced =
            value.contains(target.value("x-unless", "")) ||
            (target.contains("x-with") &&
             value.value(target["x-with"].get<std::string>(), Json("")) == Json(""));
        if (value.contains(name) &&
            !(initial != nullptr && value[name].empty() && value[name].is_object()))
            result[name] = normalised(schema, *child, value[name]);
        else if (replaced)
            continue;
        else if (initial != nullptr)
            result[name] = normalised(schema, *child, *initial);
        else if (target.value("type", "") == "object" && !target.value("x-optional", false) &&
                 !target.contains("required"))
            result[name] = normalised(schema, *child, Json::object());
    }
    for (const auto& [name, child] : value.items())
        if (!result.contains(name)) result[name] = child;
    return result;
}

bool belongs(const Schema& schema, const Json& node, std::string_view wanted) {
    return schema.resolve(node).value("x-class", "") == wanted;
}

}  // namespace

void Origins::record(const std::string& key, std::string origin) {
    by_key_.erase(key);
    for (auto next = by_key_.lower_bound(key + "."); next != by_key_.end();)
        next = next->first.starts_with(key + ".") ? by_key_.erase(next) : by_key_.end();
    by_key_.emplace(key, std::move(origin));
}

const std::string& Origins::of(std::string_view key) const {
    while (!key.empty()) {
        if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
        const std::size_t cut = key.find_last_of(".[");
        key = cut == std::string_view::npos ? "" : key.substr(0, cut);
    }
    return file_;
}

std::string Origins::override_of(std::string_view key) const {
    const std::string below = std::string(key) + ".";
    for (const auto& [name, origin] : by_key_)
        if ((name == key || name.starts_with(below)) && origin.starts_with("--set ")) return origin;
    return "";
}

void validate(const Schema& schema, const Json& config, const Origins& origins) {
    Check(schema, origins).value(schema.root(), config, "");
}

Json with_defaults(const Schema& schema, const Json& config) {
    return normalised(schema, schema.root(), config);
}

namespace {

Json selected(const Schema& schema, const Json& reference, const Json& object,
              std::string_view wanted) {
    const Schema::Keys keys = schema.keys(reference, object);
    Json result = Json::object();
    for (const auto& [name, value] : object.items()) {
        const auto known = std::find_if(keys.properties.begin(), keys.properties.end(),
                                        [&, &key = name](const auto& p) { return p.first == key; });
        // Keys that only a task of the user's own knows say what is evolved.
        const bool own = known == keys.properties.end();
        if (own ? wanted == "identity" : belongs(schema, *known->second, wanted))
            result[name] = value;
        else if (!own && value.is_object())
            if (Json inner = selected(schema, *known->second, value, wanted); !inner.empty())
                result[name] = std::move(inner);
    }
    return result;
}

}  // namespace

Json keys_of_class(const Schema& schema, const Json& config, std::string_view wanted) {
    return selected(schema, schema.root(), config, wanted);
}

std::string identity_text(const Schema& schema, const Json& config) {
    nlohmann::json identity(keys_of_class(schema, config, "identity"));
    // Runs of generations are what they were before there was a steady state.
    if (const auto found = identity.find("steady_state"); found != identity.end()) {
        const auto window = found->find("window");
        if (window == found->end() || *window == 0) identity.erase(found);
    }
    std::string text = identity.dump();
    if (constexpr std::size_t most = json_text::Limits{}.length; text.size() > most)
        throw ConfigError(fmt::format(
            "the config cannot be kept in the files of its networks (what decides its results is "
            "{} bytes, of at most {}) name a network file with network.initial in place of its "
            "layers",
            text.size(), most));
    return text;
}

}  // namespace cambrian::launch

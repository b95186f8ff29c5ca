#include "cambrian/launch/config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/launch/config/nearest.hpp"

namespace cambrian::launch {
namespace {

// Layers hold layers: the list of keys shows one level of them.
constexpr int layer_depth = 1;

void append(Schema::Keys& keys, const Json& holder) {
    if (const auto found = holder.find("properties"); found != holder.end())
        for (const auto& [name, node] : found->items()) keys.properties.emplace_back(name, &node);
    if (const auto found = holder.find("required"); found != holder.end())
        for (const Json& name : *found) keys.required.push_back(name.get<std::string>());
}

/// Whether a key is one of a list of sections.
bool is_repeated(const SchemaKey& entry) {
    return entry.key.find("[]") != std::string::npos;
}

std::string range_text(const Json& node) {
    std::vector<std::string> parts;
    const auto add = [&](const char* key, const char* words) {
        if (node.contains(key)) parts.push_back(fmt::format("{} {}", words, node[key].dump()));
    };
    add("minimum", "at least");
    add("exclusiveMinimum", "above");
    add("maximum", "at most");
    add("exclusiveMaximum", "below");
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? " " : " and ") + part;
    return text;
}

std::string list_text(const Schema& schema, const Json& node) {
    std::string text = "a list";
    const auto least = node.find("minItems");
    const auto most = node.find("maxItems");
    if (least != node.end() && most != node.end() && *least == *most)
        text += fmt::format(" of {}", least->get<int>());
    else if (least != node.end() && most != node.end())
        text += fmt::format(" of {} to {}", least->get<int>(), most->get<int>());
    else if (least != node.end())
        text += fmt::format(" of at least {}", least->get<int>());
    if (const auto items = node.find("items"); items != node.end()) {
        const Json& item = schema.resolve(*items);
        if (item.value("type", "") != "object") text += ", each " + allowed_values(schema, item);
    }
    return text;
}

}  // namespace

Schema::Schema(const evolve::TaskRegistry& tasks, const evolve::GenomeRegistry& genomes)
    : Schema(schema_text(), tasks, genomes) {}

Schema::Schema(std::string_view text, const evolve::TaskRegistry& tasks,
               const evolve::GenomeRegistry& genomes)
    : plugins_(genomes.plugins()) {
    Json root = Json::parse(text);
    add_settings(root, tasks, genomes);
    root_ = std::make_shared<const Json>(std::move(root));
}

std::vector<const Json*> Schema::references(const Json& node) const {
    std::vector<const Json*> result{&node};
    while (result.back()->contains("$ref")) {
        // "#/$defs/name" without its "#" is a JSON pointer.
        const auto pointer = (*result.back())["$ref"].get<std::string>().substr(1);
        result.push_back(&root_->at(Json::json_pointer(pointer)));
    }
    return result;
}

const Json& Schema::resolve(const Json& node) const {
    return *references(node).back();
}

const Json* Schema::default_of(const Json& node) const {
    for (const Json* part : references(node))
        if (const auto found = part->find("default"); found != part->end()) return &*found;
    return nullptr;
}

/// The "type" of an object, or the default of one that it leaves out; null: none.
const Json* Schema::type_of(const Keys& keys, const Json& object) const {
    if (const auto given = object.find("type"); given != object.end()) return &*given;
    for (const auto& [name, node] : keys.properties)
        if (name == "type") return default_of(*node);
    return nullptr;
}

Schema::Keys Schema::keys(const Json& node, const Json& object) const {
    Keys keys;
    const Json& base = resolve(node);
    const std::vector<const Json*> parts = references(node);
    std::for_each(parts.rbegin(), parts.rend(), [&](const Json* part) { append(keys, *part); });
    keys.open = base.value("additionalProperties", false);
    const auto variants = base.find("x-variants");
    if (variants == base.end()) return keys;
    for (const auto& [name, variant] : variants->items()) keys.variants.push_back(name);
    const Json* type = type_of(keys, object);
    if (type != nullptr && type->is_string() && variants->contains(type->get<std::string>())) {
        append(keys, variants->at(type->get<std::string>()));
        keys.chosen = true;
        keys.variant = type->get<std::string>();
    }
    keys.open = !keys.chosen && base.value("x-variants-open", false);
    return keys;
}

void Schema::collect(const Json& node, const std::string& key, const std::string& variant,
                     int depth, std::vector<SchemaKey>& found) const {
    const Json& base = resolve(node);
    const auto visit = [&](const Json& properties, const std::string& name_of_variant) {
        for (const auto& [name, child] : properties.items()) {
            const std::string path = key.empty() ? name : key + "." + name;
            const Json& target = resolve(child);
            found.push_back({path, name_of_variant, &child, target.value("type", "") == "object"});
            collect(child, path, name_of_variant, depth, found);
        }
    };
    const std::vector<const Json*> parts = references(node);
    std::for_each(parts.rbegin(), parts.rend(), [&](const Json* part) {
        if (part->contains("properties")) visit((*part)["properties"], variant);
    });
    if (base.contains("x-variants"))
        for (const auto& [name, holder] : base["x-variants"].items())
            visit(holder["properties"], name);
    if (base.contains("items") && resolve(base["items"]).value("type", "") == "object" &&
        depth < layer_depth)
        collect(base["items"], key + "[]", variant, depth + 1, found);
}

std::vector<SchemaKey> Schema::all_keys() const {
    std::vector<SchemaKey> found;
    collect(*root_, "", "", 0, found);
    return found;
}

std::optional<SchemaKey> Schema::key_of_alias(std::string_view alias,
                                              std::string_view section) const {
    std::optional<SchemaKey> elsewhere;
    for (const SchemaKey& entry : all_keys()) {
        if (!entry.node->contains("x-aliases")) continue;
        const Json& names = (*entry.node)["x-aliases"];
        if (std::ranges::none_of(
                names, [&](const Json& name) { return same_word(name.get<std::string>(), alias); }))
            continue;
        if (!section.empty() && entry.key.starts_with(section) &&
            entry.key.substr(section.size()).starts_with('.'))
            return entry;
        // What a list of sections repeats is meant last.
        if (!elsewhere || (is_repeated(*elsewhere) && !is_repeated(entry))) elsewhere = entry;
    }
    return elsewhere;
}

std::vector<SchemaKey> Schema::keys_called(const std::string& word,
                                           const std::string& section) const {
    std::vector<SchemaKey> found = all_keys();
    const std::string own = section.empty() ? word : section + "." + word;
    std::erase_if(found, [&](const SchemaKey& entry) {
        // What holds the key is no place for it.
        return section.starts_with(entry.key) ||
               !same_word(entry.key.substr(entry.key.rfind('.') + 1), word);
    });
    std::ranges::stable_sort(found, {}, [&](const SchemaKey& entry) {
        const int place = entry.key == own        ? 0
                          : is_repeated(entry)    ? 3
                          : entry.variant.empty() ? 1
                                                  : 2;
        return std::pair(place, std::ranges::count(entry.key, '.'));
    });
    return found;
}

std::optional<std::string> Schema::hint(const std::string& name, const std::string& section,
                                        const std::optional<std::string>& near) const {
    const std::vector<SchemaKey> same = keys_called(name, section);
    const auto alias = key_of_alias(name, section);
    const bool own_alias = alias && !section.empty() && alias->key.starts_with(section + ".");
    // At the top a word is another key's sooner than it is misspelt.
    const bool meant = section.empty() && !same.empty();
    if (alias && (own_alias || !meant)) return fmt::format("Cambrian calls it {}", alias->named());
    if (!meant) {
        if (const auto advice = without_key(name)) return advice;
        if (near) return fmt::format("did you mean {}?", *near);
    }
    const bool other_type =
        !same.empty() && same.front().key == section + "." + name && !same.front().variant.empty();
    if (same.empty() || other_type) return std::nullopt;
    return fmt::format("did you mean {}?", same.front().named());
}

std::optional<std::string> Schema::without_key(std::string_view name) const {
    const auto names = root_->find("x-without-key");
    if (names == root_->end()) return std::nullopt;
    for (const auto& [theirs, advice] : names->items())
        if (same_word(theirs, name)) return advice.get<std::string>();
    return std::nullopt;
}

std::string allowed_values(const Schema& schema, const Json& reference) {
    const Json& node = schema.resolve(reference);
    if (node.contains("x-text")) return node["x-text"].get<std::string>();
    if (node.contains("const")) return node["const"].dump();
    const auto joined = [](const Json& list, const char* between, const auto& text) {
        std::string result;
        for (const Json& part : list) result += (result.empty() ? "" : between) + text(part);
        return result;
    };
    if (node.contains("anyOf"))
        return joined(node["anyOf"], " or ",
                      [&](const Json& part) { return allowed_values(schema, part); });
    if (node.contains("enum"))
        return "one of " + joined(node["enum"], ", ", [](const Json& part) { return part.dump(); });
    const std::string type = node.at("type").get<std::string>();
    if (type == "integer") return "an integer" + range_text(node);
    if (type == "number") return "a number" + range_text(node);
    if (type == "boolean") return "true or false";
    if (type == "array") return list_text(schema, node);
    if (type == "object") return "a section {...}";
    CAMBRIAN_ASSERT(type == "string");
    return node.contains("minLength") ? "a text that is not empty" : "a text";
}

std::string quoted(const Json& value) {
    constexpr std::size_t longest = 60;
    return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace), longest - 3);
}

}  // namespace cambrian::launch

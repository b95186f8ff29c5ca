#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cambrian/engine/core/json/field_json.hpp"

// Settings of several kinds: {"type": "adam", "beta1": 0.9} is one alternative of a std::variant,
// each a struct that lists its fields.
namespace cambrian::field_json {

/// One row of a table of kinds.
template <class Variant>
struct Kind {
    std::string_view name;
    Variant defaults;
    std::string_view meaning;
    /// Keys that have no default and may not be empty.
    std::vector<std::string_view> required{};
};

/// The name that the "type" of a JSON object holds, as its place among the names. Throws
/// ConfigError.
[[nodiscard]] std::size_t read_type(const nlohmann::json& source, std::string_view path,
                                    std::span<const std::string_view> names);

template <class Variant>
[[nodiscard]] std::vector<std::string_view> names(const std::vector<Kind<Variant>>& kinds) {
    std::vector<std::string_view> result;
    for (const Kind<Variant>& kind : kinds) result.push_back(kind.name);
    return result;
}

/// Settings of the kind that the "type" names; keys that are left out have its defaults.
template <class Variant>
[[nodiscard]] Variant read_kind(const nlohmann::json& source, std::string_view path,
                                const std::vector<Kind<Variant>>& kinds,
                                std::vector<std::string_view> others = {}) {
    Variant result = kinds[read_type(source, path, names(kinds))].defaults;
    others.emplace_back("type");
    std::visit([&](auto& settings) { read_fields(settings, source, path, others); }, result);
    return result;
}

/// {"type": name, ..}: every field.
template <class Variant>
void write_kind(nlohmann::ordered_json& target, std::string_view name, const Variant& settings) {
    make_object(target);
    write(member(target, "type"), name);
    std::visit(
        [&](const auto& kind) {
            write_fields(target, kind, [](nlohmann::ordered_json& place, const auto& value) {
                write(place, value);
            });
        },
        settings);
}

/// What the schema says of each kind: its "x-variants".
template <class Variant>
void describe_kinds(nlohmann::ordered_json& variants, const std::vector<Kind<Variant>>& kinds) {
    make_object(variants);
    for (const Kind<Variant>& kind : kinds) {
        nlohmann::ordered_json& node = member(variants, kind.name);
        write(member(node, "description"), kind.meaning);
        std::visit(
            [&](const auto& settings) { describe_fields(member(node, "properties"), settings); },
            kind.defaults);
        for (const std::string_view key : kind.required) require(node, key);
    }
}

}  // namespace cambrian::field_json

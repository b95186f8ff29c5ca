#include "cambrian/evolve/tasks/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/nearest.hpp"
#include "cambrian/engine/core/shortened.hpp"

namespace cambrian::evolve {

Settings::Settings(const nlohmann::json& json, std::string path,
                   std::span<const std::string_view> allowed)
    : json_(json), path_(std::move(path)) {
    if (!json.is_object())
        throw ConfigError(fmt::format("{} is {} (expected an object) allowed keys: {}", path_,
                                      json.type_name(), joined(allowed)));
    for (const auto& item : json.items()) {
        if (std::ranges::find(allowed, std::string_view(item.key())) != allowed.end()) continue;
        throw ConfigError(fmt::format("unknown key {}.{} (allowed: {}){}", path_,
                                      shortened(item.key()), joined(allowed),
                                      nearest_hint(item.key(), allowed)));
    }
}

bool Settings::has(std::string_view key) const {
    return find(key) != nullptr;
}

const nlohmann::json* Settings::find(std::string_view key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
}

std::string Settings::path(std::string_view key) const {
    return fmt::format("{}.{}", path_, key);
}

void Settings::fail(std::string_view key, std::string_view problem) const {
    // What ends with its reason still lacks the suggestion.
    const char* suggestion = problem.ends_with(')') ? " change it" : "";
    throw ConfigError(fmt::format("{} {}{}", path(key), problem, suggestion));
}

std::int64_t Settings::integer(std::string_view key, std::int64_t fallback, std::int64_t least,
                               std::int64_t most) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return fallback;
    if (value->is_number_integer()) {
        const bool fits = !value->is_number_unsigned() ||
                          value->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
        const std::int64_t number = fits ? value->get<std::int64_t>() : INT64_MAX;
        if (fits && number >= least && number <= most) return number;
    }
    fail(key, fmt::format("is {} (expected an integer from {} to {})", json_text::shown(*value),
                          least, most));
}

double Settings::number_between(std::string_view key, double fallback, double above,
                                double below) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return fallback;
    if (value->is_number()) {
        const double number = value->get<double>();
        if (number > above && number < below) return number;
    }
    fail(key, fmt::format("is {} (expected a number above {} and below {})",
                          json_text::shown(*value), above, below));
}

bool Settings::boolean(std::string_view key, bool fallback) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean())
        fail(key, fmt::format("is {} (expected true or false)", json_text::shown(*value)));
    return value->get<bool>();
}

std::size_t Settings::choice(std::string_view key, std::size_t fallback,
                             std::span<const std::string_view> allowed) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_string())
        fail(key,
             fmt::format("is {} (expected one of: {})", json_text::shown(*value), joined(allowed)));
    const auto text = value->get<std::string>();
    const auto found = std::ranges::find(allowed, std::string_view(text));
    if (found == allowed.end())
        fail(key, fmt::format("is \"{}\" (expected one of: {}){}", shortened(text), joined(allowed),
                              nearest_hint(text, allowed)));
    return static_cast<std::size_t>(found - allowed.begin());
}

std::vector<std::string> Settings::texts(std::string_view key) const {
    std::vector<std::string> result;
    std::unordered_set<std::string> seen;
    const nlohmann::json* value = find(key);
    if (value == nullptr) return result;
    if (!value->is_array())
        fail(key, fmt::format("is {} (expected a list)", json_text::shown(*value)));
    for (const nlohmann::json& element : *value) {
        if (!element.is_string())
            fail(key, fmt::format("holds {} (expected texts only)", json_text::shown(element)));
        const std::string& text = result.emplace_back(element.get<std::string>());
        if (!seen.insert(text).second)
            fail(key, fmt::format("names \"{}\" twice (each may stand once)", shortened(text)));
    }
    return result;
}

std::vector<std::string> Settings::choices(std::string_view key,
                                           std::span<const std::string_view> allowed) const {
    std::vector<std::string> result = texts(key);
    for (const std::string& text : result)
        if (std::ranges::find(allowed, std::string_view(text)) == allowed.end())
            fail(key, fmt::format("holds \"{}\" (expected some of: {}){}", shortened(text),
                                  joined(allowed), nearest_hint(text, allowed)));
    return result;
}

std::string joined(std::span<const std::string_view> names) {
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string nearest_hint(std::string_view name, std::span<const std::string_view> candidates) {
    const auto nearest = nearest_name(name, candidates);
    return nearest ? fmt::format(" did you mean \"{}\"?", *nearest) : " use one of these";
}

std::string nearest_hint(std::string_view name, std::span<const std::string> candidates) {
    const std::vector<std::string_view> views(candidates.begin(), candidates.end());
    return nearest_hint(name, views);
}

}  // namespace cambrian::evolve

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/layers/support/field_json.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/network/builders/checks.hpp"

// Settings of builders from and to JSON.
namespace cambrian {

namespace {

template <class... B>
constexpr std::array<std::string_view, sizeof...(B)> names_of(const std::variant<B...>*) {
    return {std::string_view(B::name)...};
}
constexpr auto names = names_of(static_cast<Builder*>(nullptr));

template <class... B>
std::array<Builder, sizeof...(B)> defaults_of(const std::variant<B...>*) {
    return {Builder(B{})...};
}

}  // namespace

namespace builder_checks {

void refuse(std::string_view key, const std::string& problem, const std::string& why,
            std::string_view suggestion) {
    json_read::fail(json_read::member("network.build", key), problem, why, suggestion);
}

void require(std::string_view key, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    refuse(key, "is " + std::to_string(value),
           std::to_string(least) + " to " + std::to_string(most) + " are possible", "change it");
}

void require_count(std::string_view key, std::int64_t count, std::string_view what) {
    if (count <= max_entries) return;
    refuse(key, "asks for " + std::to_string(count) + " " + std::string(what),
           "at most " + std::to_string(max_entries) + " are built", "use fewer");
}

}  // namespace builder_checks

std::span<const std::string_view> builder_types() {
    return names;
}

std::string_view name(const Builder& builder) {
    return names[builder.index()];
}

nlohmann::ordered_json to_json(const Builder& builder) {
    nlohmann::ordered_json result{{"type", name(builder)}};
    const auto write = [](const auto& value) { return field_json::write(value); };
    std::visit([&](const auto& settings) { field_json::write_fields(result, settings, write); },
               builder);
    return result;
}

Builder builder_from_json(const nlohmann::json& json, std::string_view path) {
    if (!json.is_object() || !json.contains("type"))
        json_read::fail(path, "is not a builder", "an object with a \"type\" is needed",
                        "write it like {\"type\": \"dense_stack\"}");
    const std::size_t type =
        json_read::choice(json["type"], json_read::member(path, "type"), names);
    Builder builder = defaults_of(static_cast<Builder*>(nullptr))[type];
    const auto read = [](auto& value, const nlohmann::json& source, std::string_view place) {
        field_json::read(value, source, place);
    };
    std::visit([&](auto& settings) { field_json::read_fields(settings, json, path, read); },
               builder);
    return builder;
}

}  // namespace cambrian

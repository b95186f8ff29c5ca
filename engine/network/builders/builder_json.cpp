#include <nlohmann/json.hpp>

#include "cambrian/engine/core/json/kinds.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/network/builders/checks.hpp"

// Settings of builders from and to JSON.
namespace cambrian {

namespace {

using field_json::Kind;

template <class... B>
std::vector<Kind<Builder>> kinds_of(const std::variant<B...>*) {
    return {{B::name, B{}, {}}...};
}

/// In the order of the variant.
const std::vector<Kind<Builder>>& kinds() {
    static const auto table = kinds_of(static_cast<Builder*>(nullptr));
    return table;
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
    static const std::vector<std::string_view> names = field_json::names(kinds());
    return names;
}

std::string_view name(const Builder& builder) {
    return kinds()[builder.index()].name;
}

nlohmann::ordered_json to_json(const Builder& builder) {
    nlohmann::ordered_json json;
    field_json::write_kind(json, name(builder), builder);
    return json;
}

Builder builder_from_json(const nlohmann::json& json, std::string_view path) {
    return field_json::read_kind(json, path, kinds());
}

nlohmann::ordered_json builder_schema() {
    nlohmann::ordered_json variants;
    field_json::describe_kinds(variants, kinds());
    return variants;
}

}  // namespace cambrian

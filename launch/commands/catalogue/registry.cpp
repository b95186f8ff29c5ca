#include "cambrian/launch/commands/registry.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/core/version.hpp"
#include "cambrian/engine/layers/support/parameter_rules.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/config/schema.hpp"

namespace cambrian::launch {
namespace {

/// What a key is where nobody sets it: of a section that is there anyhow, what its keys are; null:
/// nothing.
Json initial_of(const Schema& schema, const Json& node) {
    if (const Json* initial = schema.default_of(node)) return *initial;
    const Json& whole = schema.resolve(node);
    Json section;
    if (whole.value("x-optional", false) || whole.contains("required") ||
        !whole.contains("properties"))
        return section;
    for (const auto& [name, child] : whole["properties"].items())
        if (Json initial = initial_of(schema, child); !initial.is_null())
            section[name] = std::move(initial);
    return section;
}

/// The keys of an object of the schema with what they take and their defaults; null: none.
Json fields_of(const Schema& schema, const Json& properties) {
    Json fields = Json::array();
    for (const auto& [name, node] : properties.items()) {
        const Json& whole = schema.resolve(node);
        std::string meaning = node.value("description", "");
        if (meaning.empty()) meaning = whole.value("description", "");
        fields.push_back({{"name", name},
                          {"allowed", allowed_values(schema, node)},
                          {"default", initial_of(schema, node)},
                          {"meaning", std::move(meaning)}});
    }
    return fields;
}

Json entry(const Schema& schema, const std::string& name, const Json& node) {
    return {{"name", name},
            {"summary", node.value("description", "")},
            {"fields", fields_of(schema, node.value("properties", Json::object()))}};
}

/// Kinds that the schema names by their "type".
Json kinds_of(const Schema& schema, const Json& node) {
    Json list = Json::array();
    for (const auto& [name, variant] : node.at("x-variants").items())
        list.push_back(entry(schema, name, variant));
    return list;
}

/// Registered names, with what the schema says of those it knows.
Json registered(const Schema& schema, const std::vector<std::string>& names, const Json& node) {
    const Json& known = node.at("x-variants");
    Json list = Json::array();
    for (const std::string& name : names)
        list.push_back(entry(schema, name, known.value(name, Json::object())));
    return list;
}

/// A strategy is set by a section of its name; who has none is told of by the key that chooses it.
Json strategies_of(const Schema& schema, const std::vector<std::string>& names) {
    const Json& sections = schema.root().at("properties");
    const Json& choice = sections.at("strategy").at("properties").at("type");
    Json list = Json::array();
    for (const std::string& name : names) {
        const auto section = sections.find(name);
        Json node = section == sections.end() ? Json::object() : *section;
        if (!node.contains("description")) node["description"] = choice.at("description");
        list.push_back(entry(schema, name, node));
    }
    return list;
}

Json init_rules() {
    Json list = Json::array();
    for (const std::string_view name : init_rule_names) list.push_back({{"name", name}});
    return list;
}

}  // namespace

Json registry_json(const CommandContext& context, Json commands) {
    const Schema schema(context.tasks, context.genomes);
    const Json& sections = schema.root().at("properties");
    const Json& kinds = schema.root().at("$defs");
    return {{"program", "cambrian"},
            {"version", fmt::format("{}.{}.{}", CAMBRIAN_VERSION_MAJOR, CAMBRIAN_VERSION_MINOR,
                                    CAMBRIAN_VERSION_PATCH)},
            {"ops", ops_json()},
            {"layers", layers_json()},
            {"activations", activations_json()},
            {"init_rules", init_rules()},
            {"builders", kinds_of(schema, kinds.at("builder"))},
            {"losses", kinds_of(schema, kinds.at("loss"))},
            {"optimizers", kinds_of(schema, kinds.at("optimizer"))},
            {"schedules", kinds_of(schema, kinds.at("schedule"))},
            {"sources", kinds_of(schema, kinds.at("source"))},
            {"tasks", registered(schema, context.tasks.names(), sections.at("task"))},
            {"strategies", strategies_of(schema, context.strategies.names())},
            {"genomes", registered(schema, context.genomes.names(), sections.at("genome"))},
            {"commands", std::move(commands)},
            {"config", schema.root()}};
}

int registry_command(const CommandContext& context, Json commands, bool json) {
    const Json all = registry_json(context, std::move(commands));
    if (json) {
        context.out << all.dump(2) << '\n';
        return exit_done;
    }
    for (const auto& [kind, list] : all.items()) {
        if (!list.is_array()) continue;
        std::string names;
        for (const Json& each : list)
            names += (names.empty() ? "" : ", ") + each.at("name").get<std::string>();
        context.out << fmt::format("{} ({})\n  {}\n", kind, list.size(), names);
    }
    context.out << "'cambrian registry --json' tells all of them.\n";
    return exit_done;
}

}  // namespace cambrian::launch

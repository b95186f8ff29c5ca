#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/registry.hpp"
#include "cambrian/launch/config/nearest.hpp"
#include "cambrian/launch/config/schema.hpp"

namespace cambrian::launch {
namespace {

/// Lists of the registry whose names a config may have.
constexpr std::array<std::string_view, 9> explained_kinds{"tasks",     "layers",  "strategies",
                                                          "genomes",   "losses",  "optimizers",
                                                          "schedules", "sources", "builders"};

std::string default_text(const Schema& schema, const Json& reference) {
    // What depends on other keys is told in words.
    const Json& node = schema.resolve(reference);
    if (node.contains("x-default")) return node["x-default"].get<std::string>();
    const Json* initial = schema.default_of(reference);
    return initial == nullptr ? "none" : initial->dump();
}

void print_key(std::ostream& out, const Schema& schema, const SchemaKey& entry) {
    const Json& node = schema.resolve(*entry.node);
    out << entry.key;
    if (!entry.variant.empty()) out << fmt::format("  (of type {})", entry.variant);
    out << fmt::format("\n  {}\n", node.value("description", ""));
    if (entry.section) return;
    out << fmt::format("  allowed  {}\n", allowed_values(schema, node));
    out << fmt::format("  default  {}\n", default_text(schema, *entry.node));
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> classes{
        {{"identity", "decides the result; a resume keeps it"},
         {"stop", "a resume may change it"},
         {"placement", "never changes the result; a resume may change it"}}};
    for (const auto& [name, meaning] : classes)
        if (node.value("x-class", "") == name)
            out << fmt::format("  class    {} ({})\n", name, meaning);
    if (!entry.node->contains("x-aliases")) return;
    std::string names;
    for (const Json& alias : (*entry.node)["x-aliases"])
        names += (names.empty() ? "" : ", ") + alias.get<std::string>();
    out << fmt::format("  known elsewhere as  {}\n", names);
}

/// The keys below a section, or all of them.
void print_list(std::ostream& out, const std::vector<SchemaKey>& keys, const std::string& section,
                const std::string& variant, const Schema& schema) {
    for (const SchemaKey& entry : keys) {
        if (!variant.empty() && entry.variant != variant) continue;
        if (!section.empty() && !entry.key.starts_with(section + ".") &&
            !entry.key.starts_with(section + "[]."))
            continue;
        const std::string shown =
            entry.variant.empty() ? entry.key : fmt::format("{} ({})", entry.key, entry.variant);
        out << fmt::format("  {:<46} {}\n", shown,
                           schema.resolve(*entry.node).value("description", ""));
    }
}

/// "network.layers[2].out" and "network.layers.2.out" are the key "network.layers[].out".
std::string schema_key(const std::string& key) {
    std::string result;
    for (std::size_t i = 0; i < key.size(); ++i) {
        const bool opens = key[i] == '[' || (key[i] == '.' && i + 1 < key.size() &&
                                             key[i + 1] >= '0' && key[i + 1] <= '9');
        if (!opens) {
            result += key[i];
            continue;
        }
        while (i + 1 < key.size() && key[i + 1] >= '0' && key[i + 1] <= '9') ++i;
        if (i + 1 < key.size() && key[i + 1] == ']') ++i;
        result += "[]";
    }
    return result;
}

[[noreturn]] void unknown_key(const Schema& schema, const std::vector<SchemaKey>& keys,
                              const std::string& key) {
    std::vector<std::string> names;
    for (const SchemaKey& entry : keys) names.push_back(entry.key);
    const std::string last = key.substr(key.rfind('.') + 1);
    const std::string section = last.size() < key.size() ? key.substr(0, key.rfind('.')) : "";
    const std::string hint = schema.hint(last, section, nearest(key, names))
                                 .value_or("run 'cambrian explain' for the list");
    throw ConfigError(
        fmt::format("{} is not a key of a config (none has that name) {}", key, hint));
}

/// Sections of a config, and the names that it may choose from.
void print_short_list(const CommandContext& context, const Schema& schema) {
    context.out << "Sections of a config; 'cambrian explain population' lists the keys of one, "
                   "--all those of all:\n";
    for (const auto& [name, node] : schema.root().at("properties").items())
        context.out << fmt::format("  {:<14} {}\n", name,
                                   schema.resolve(node).value("description", ""));
    context.out << "Names; 'cambrian explain lstm' tells of one:\n";
    const Json registry = registry_json(context, Json::array());
    for (const std::string_view kind : explained_kinds) {
        std::string names;
        for (const Json& each : registry.at(std::string(kind)))
            names += (names.empty() ? "" : ", ") + each.at("name").get<std::string>();
        context.out << fmt::format("  {:<14} {}\n", kind, names);
    }
}

/// What has a name in a config: a layer, a task, a strategy, and so on. False where nothing has it.
bool print_named(const CommandContext& context, const std::string& name) {
    const Json registry = registry_json(context, Json::array());
    bool found = false;
    for (const std::string_view kind : explained_kinds)
        for (const Json& each : registry.at(std::string(kind))) {
            if (each.at("name") != name) continue;
            context.out << (found ? "\n" : "");
            found = true;
            if (kind == "layers") {
                (void)layers_command(context, {.type = name});
                continue;
            }
            context.out << fmt::format("{}  (one of {})\n  {}\n", name, kind,
                                       each.value("summary", ""));
            for (const Json& field : each.value("fields", Json::array()))
                context.out << fmt::format(
                    "  {:<24} {}\n  {:<24} {}, default {}\n", field.at("name").get<std::string>(),
                    field.at("meaning").get<std::string>(), "",
                    field.at("allowed").get<std::string>(),
                    field.at("default").is_null() ? "none" : field.at("default").dump());
        }
    return found;
}

/// A cell of a table in Markdown.
std::string table_cell(const std::string& text) {
    std::string escaped;
    for (const char letter : text)
        escaped += letter == '|' ? "\\|" : letter == '\n' ? " " : std::string(1, letter);
    return escaped;
}

/// All keys as a page: a table for each section, after one of what is in none.
void print_page(std::ostream& out, const std::vector<SchemaKey>& keys, const Schema& schema) {
    static constexpr std::string_view head =
        "\n| key | what | allowed | default |\n|---|---|---|---|\n";
    out << "# Keys of a config\n\nMade by `cambrian explain --markdown`.\n";
    bool table = false;
    for (const SchemaKey& entry : keys) {
        const std::string meaning =
            table_cell(schema.resolve(*entry.node).value("description", ""));
        if (entry.section) {
            if (entry.key.find('.') != std::string::npos) continue;
            out << fmt::format("\n## {}\n{}\n", entry.key, meaning) << head;
        } else {
            if (!table) out << head;
            out << fmt::format("| `{}`{} | {} | {} | {} |\n", entry.key,
                               entry.variant.empty() ? "" : fmt::format(" ({})", entry.variant),
                               meaning,
                               table_cell(allowed_values(schema, schema.resolve(*entry.node))),
                               table_cell(default_text(schema, *entry.node)));
        }
        table = true;
    }
}

}  // namespace

int explain_command(const CommandContext& context, const ExplainOptions& options) {
    const Schema schema(context.tasks, context.genomes);
    if (options.json) {
        context.out << schema.root().dump(2) << '\n';
        return exit_done;
    }
    const std::vector<SchemaKey> keys = schema.all_keys();
    if (options.markdown) {
        print_page(context.out, keys, schema);
        return exit_done;
    }
    if (options.all) {
        context.out << "Keys of a config; 'cambrian explain KEY' tells more of one:\n";
        print_list(context.out, keys, "", "", schema);
        return exit_done;
    }
    if (options.key.empty()) {
        print_short_list(context, schema);
        return exit_done;
    }
    const std::string wanted = schema_key(options.key);
    bool found = false;
    for (const SchemaKey& entry : keys) {
        if (entry.key != wanted) continue;
        if (found) context.out << '\n';
        found = true;
        print_key(context.out, schema, entry);
        print_list(context.out, keys, entry.key, entry.variant, schema);
    }
    // A section may be called as what it sets.
    if (!found && !print_named(context, options.key)) unknown_key(schema, keys, options.key);
    return exit_done;
}

}  // namespace cambrian::launch

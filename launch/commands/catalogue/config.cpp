#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/nearest.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/show/run_text.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

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
    std::string hint = "run 'cambrian explain' for the list";
    std::vector<std::string> names;
    for (const SchemaKey& entry : keys) names.push_back(entry.key);
    const std::string last = key.substr(key.rfind('.') + 1);
    const std::string section = last.size() < key.size() ? key.substr(0, key.rfind('.')) : "";
    if (const auto alias = schema.key_of_alias(last, section)) {
        hint = fmt::format("Cambrian calls it {}", alias->key);
    } else if (const auto advice = schema.without_key(last)) {
        hint = *advice;
    } else if (const auto near = nearest(key, names)) {
        hint = fmt::format("did you mean {}?", *near);
    } else {
        for (const std::string& name : names)
            if (same_word(name.substr(name.rfind('.') + 1), last))
                hint = fmt::format("did you mean {}?", name);
    }
    throw ConfigError(
        fmt::format("{} is not a key of a config (none has that name) {}", key, hint));
}

}  // namespace

int explain_command(const CommandContext& context, const std::string& key, bool json) {
    const Schema schema(context.tasks, context.genomes);
    if (json) {
        context.out << schema.root().dump(2) << '\n';
        return exit_done;
    }
    const std::vector<SchemaKey> keys = schema.all_keys();
    if (key.empty()) {
        context.out << "Keys of a config; 'cambrian explain KEY' tells more of one:\n";
        print_list(context.out, keys, "", "", schema);
        return exit_done;
    }
    const std::string wanted = schema_key(key);
    bool found = false;
    for (const SchemaKey& entry : keys) {
        if (entry.key != wanted) continue;
        if (found) context.out << '\n';
        found = true;
        print_key(context.out, schema, entry);
        print_list(context.out, keys, entry.key, entry.variant, schema);
    }
    if (!found) unknown_key(schema, keys, key);
    return exit_done;
}

int validate_command(const CommandContext& context, const std::string& config,
                     const std::vector<std::string>& overrides) {
    const Schema schema(context.tasks, context.genomes);
    const ConfigDocument document = read_config(config, overrides);
    const bool both = holds_training(document) && holds_evolution(document);
    if (holds_training(document)) {
        const ResolvedConfig resolved = resolve_training(document, schema);
        const distributed::TrainingJob job = make_training(resolved, schema, context.tasks);
        context.out << fmt::format("valid{}: {}\n{}{}", both ? " for training" : "", config,
                                   founder_text(resolved) + notes_text(*job.task),
                                   structure_table(Network(job.blueprint)));
        if (!both) return exit_done;
    }
    const ResolvedConfig resolved = resolve_evolution(document, schema);
    const distributed::Experiment experiment =
        make_experiment(resolved, schema, context.tasks, context.strategies, context.genomes);
    context.out << fmt::format("valid{}: {}\n", both ? " for evolution" : "", config)
                << founder_text(resolved) << summary_text(experiment);
    return exit_done;
}

}  // namespace cambrian::launch

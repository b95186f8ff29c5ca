#include "cambrian/launch/config/config_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/schema_validator.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

void flatten(const Json& value, const std::string& path, std::map<std::string, std::string>& flat) {
    if (!value.is_object() || value.empty()) {
        flat[path] = value.dump();
        return;
    }
    for (const auto& [name, child] : value.items())
        flatten(child, path.empty() ? name : path + "." + name, flat);
}

/// Class of each key of a config; what the schema gives none belongs to the identity.
void add_classes(const Schema& schema, const Json& config,
                 std::map<std::string, std::string>& classes) {
    for (const char* name : {"placement", "stop", "identity"}) {
        std::map<std::string, std::string> keys;
        flatten(keys_of_class(schema, config, name), "", keys);
        for (const auto& [key, value] : keys) classes[key] = name;
    }
}

[[noreturn]] void refuse(const Difference& change, const std::string& what) {
    throw ConfigError(
        fmt::format("{} cannot change from {} to {} ({}) keep it, or start another "
                    "run in another directory",
                    change.key, change.before, change.after, what));
}

}  // namespace

std::vector<Difference> differences(const Schema& schema, const Json& before, const Json& after) {
    std::map<std::string, std::string> old_keys;
    std::map<std::string, std::string> new_keys;
    flatten(before, "", old_keys);
    flatten(after, "", new_keys);
    std::map<std::string, std::string> classes;
    add_classes(schema, before, classes);
    add_classes(schema, after, classes);
    const auto class_of = [&](const std::string& key) {
        const auto entry = classes.find(key);
        return entry == classes.end() ? std::string("identity") : entry->second;
    };
    std::map<std::string, Difference> found;
    const auto text = [](const auto& keys, const std::string& key) {
        const auto entry = keys.find(key);
        return entry == keys.end() ? std::string("absent") : entry->second;
    };
    for (const auto* keys : {&old_keys, &new_keys})
        for (const auto& [key, value] : *keys)
            if (text(old_keys, key) != text(new_keys, key))
                found[key] = {key, class_of(key), text(old_keys, key), text(new_keys, key)};
    std::vector<Difference> result;
    for (auto& [key, difference] : found) result.push_back(std::move(difference));
    // Another type brings other keys: it explains them.
    std::stable_partition(result.begin(), result.end(),
                          [](const Difference& d) { return d.key.ends_with(".type"); });
    return result;
}

std::string changes_text(const std::vector<Difference>& changes) {
    std::string text;
    for (const Difference& change : changes)
        text += fmt::format("changed: {} from {} to {}\n", change.key, change.before, change.after);
    return text;
}

bool asked_by_program(const Json& config) {
    static const Json::json_pointer place("/task/command");
    if (!config.is_object() || !config.contains(place)) return false;
    const Json& command = config.at(place);
    // The client is the program of such a run alone: other programs import it.
    return command.is_array() && command.size() == 2 && command[1].is_string() &&
           fs::path(command[1].get<std::string>()).filename() == "cambrian.py";
}

bool asked_by_program(const fs::path& directory) {
    const std::optional<ConfigDocument> config = find_run_config(directory);
    return config && asked_by_program(*config->json);
}

ResolvedConfig read_resumed(const fs::path& directory, std::span<const std::string> overrides,
                            const Schema& schema, std::vector<Difference>& changes) {
    const fs::path path = directory / "config.json";
    std::error_code error;
    if (!fs::is_regular_file(path, error))
        throw InputError(
            fmt::format("there is no run in {} ({}) name the directory of "
                        "a run, or start one with 'cambrian evolve'",
                        directory.string(),
                        error && error != std::errc::no_such_file_or_directory ? error.message()
                                                                               : "no config.json"));
    require_utf8(directory, "the run lies in", "rename it");
    Json before = *read_config(path, {}).json;
    // The directory is where the run lies now; it may have been moved.
    before["run"]["directory"] = directory.string();
    const ConfigDocument document =
        document_from(before, path.string(), fs::absolute(directory), overrides);
    ResolvedConfig config = resolve(document, schema);
    const ResolvedConfig old =
        resolve(document_from(before, path.string(), fs::absolute(directory), {}), schema);
    changes = differences(schema, *old.written, *config.written);
    for (const Difference& change : changes) {
        if (change.key == "run.directory")
            refuse(change, "resume goes on in the directory it is given");
        if (change.key_class == "identity")
            refuse(change,
                   "it decides what the result is, and a resumed run must end as if it had "
                   "never stopped");
    }
    return config;
}

void check_same_run(const fs::path& directory, const ResolvedConfig& now, const Schema& schema) {
    const std::optional<ConfigDocument> config = find_run_config(directory);
    if (!config) return;
    const Json then = with_defaults(schema, *config->json);
    for (const Difference& change : differences(schema, then, *now.written))
        if (change.key_class == "identity")
            refuse(change, fmt::format("{} holds a run with another setting", directory.string()));
}

}  // namespace cambrian::launch

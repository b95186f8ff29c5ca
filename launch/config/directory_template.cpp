#include "cambrian/launch/config/experiment_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/nearest.hpp"

namespace cambrian::launch {
namespace {

constexpr const char* key = "run.directory";

/// The value of "a.b"; null when there is none.
const Json* find(const Json& config, const std::string& name) {
    const Json* place = &config;
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        const auto found =
            place->is_object() ? place->find(name.substr(begin, end - begin)) : place->end();
        if (found == place->end()) return nullptr;
        place = &*found;
        begin = end + 1;
    }
    return place;
}

/// The keys whose values can stand in a name.
void collect(const Json& value, const std::string& path, std::vector<std::string>& names) {
    if (value.is_primitive() && path != key) names.push_back(path);
    if (!value.is_object()) return;
    for (const auto& [name, child] : value.items())
        collect(child, path.empty() ? name : path + "." + name, names);
}

/// What the user may have meant.
std::string hint(const Json& config, const Schema& schema, const std::string& name) {
    std::vector<std::string> names{"name", "seed"};
    collect(config, "", names);
    if (const auto near = nearest(name, names)) return fmt::format("did you mean {{{}}}?", *near);
    const auto same = [&](const std::string& full) {
        return same_word(full.substr(full.rfind('.') + 1), name);
    };
    if (const auto found = std::ranges::find_if(names, same); found != names.end())
        return fmt::format("did you mean {{{}}}?", *found);
    // A key of another task is none that this config has.
    if (const auto alias = schema.key_of_alias(name);
        alias && std::ranges::find(names, alias->key) != names.end())
        return fmt::format("Cambrian calls it {{{}}}", alias->key);
    return "run 'cambrian explain' for the list of keys";
}

}  // namespace

std::string part_of_name(std::string value) {
    std::ranges::replace_if(
        value, [](char c) { return c == '/' || c == '{' || c == '}'; }, '-');
    return value;
}

std::string run_directory(const Json& config, const Schema& schema, const Origins& origins) {
    const std::string text = config.at("run").at("directory").get<std::string>();
    const auto refuse = [&](const std::string& why, const std::string& suggestion) {
        throw ConfigError(
            fmt::format("{}: {} is \"{}\" ({}) {}", origins.of(key), key, text, why, suggestion));
    };
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] != '{') {
            result += text[i++];
            continue;
        }
        const std::size_t end = text.find('}', i);
        if (end == std::string::npos)
            refuse("\"{\" without \"}\"", "write a key in braces, like {name}");
        const std::string name = text.substr(i + 1, end - i - 1);
        const bool of_run = name == "name" || name == "seed";
        const Json* value = name == key ? nullptr : find(config, of_run ? "run." + name : name);
        if (value == nullptr)
            refuse(fmt::format("{{{}}} is no key that the config has", name),
                   hint(config, schema, name));
        if (value->is_structured())
            refuse(fmt::format("{{{}}} is a {}", name, value->is_object() ? "section" : "list"),
                   "name a key that is a text, a number, true or false");
        // A resume reads what comes of it: it is no folder of several, and has no keys.
        const std::string part =
            part_of_name(value->is_string() ? value->get<std::string>() : value->dump());
        if (part == "." || part == "..")
            refuse(fmt::format("{{{}}} is \"{}\", which is another folder", name, part),
                   "give it another value, or write the folder into run.directory itself");
        result += part;
        i = end + 1;
    }
    return result;
}

}  // namespace cambrian::launch

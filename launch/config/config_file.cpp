#include "cambrian/launch/config/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/network_text.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
/// No section has as many keys, and the time to read one grows with their square.
constexpr json_text::Limits config_limits{
    .length = network_text_limits.length, .keys = 4096, .values = network_text_limits.values};
constexpr std::size_t longest_assignment = std::size_t{1} << 16U;

std::string position(std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, std::min(byte, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
    return fmt::format("{}:{}", line, std::max<std::size_t>(column, 1));
}

/// JSON that only an external program understands: null is a value there.
bool is_free(const std::string& path) {
    constexpr std::string_view settings = "task.settings";
    return path == settings || path.starts_with(std::string(settings) + ".");
}

/// As RFC 7386: null takes a key away, also in a section that the base has not.
void merge(Json& base, const Json& patch, const std::string& path, const std::string& origin,
           Origins& origins) {
    for (const auto& [name, value] : patch.items()) {
        const std::string key = path.empty() ? name : path + "." + name;
        if (value.is_null() && !is_free(path)) {
            base.erase(name);
        } else if (value.is_object()) {
            if (!base.contains(name) || !base[name].is_object()) {
                base[name] = Json::object();
                origins.record(key, origin);
            }
            merge(base[name], value, key, origin, origins);
        } else {
            base[name] = value;
            origins.record(key, origin);
        }
    }
}

/// A file that extends none. Nulls in its sections are values, as task.settings may have.
Json first_of_chain(const Json& own, const std::string& origin, Origins& origins) {
    Json result = Json::object();
    for (const auto& [name, value] : own.items()) {
        if (value.is_null()) continue;
        result[name] = value;
        origins.record(name, origin);
    }
    return result;
}

Json read_json(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error))
        throw InputError(fmt::format("cannot read the config {} ({}) check the path", path.string(),
                                     fs::exists(path, error) ? "not a file" : "no such file"));
    const std::vector<std::byte> bytes = read_file(path, config_limits.length);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    Json json = parse_config(text, path.string());
    if (!json.is_object())
        throw ConfigError(
            fmt::format("{}: the config is {} (allowed: a section {{...}}) put the "
                        "keys into braces",
                        path.string(), quoted(json)));
    return json;
}

Json read_extended(const fs::path& path, std::vector<fs::path>& chain, Origins& origins) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(path, error);
    if (std::find(chain.begin(), chain.end(), canonical) != chain.end())
        throw ConfigError(
            fmt::format("{}: \"extends\" leads back to this file (a circle of {}) "
                        "remove one of them",
                        path.string(), chain.size()));
    chain.push_back(canonical);
    Json own = read_json(path);
    std::optional<Json> base;
    if (own.contains("extends")) {
        if (!own["extends"].is_string())
            throw ConfigError(
                fmt::format("{}: extends is {} (allowed: the path of a config file) "
                            "name one file",
                            path.string(), quoted(own["extends"])));
        base =
            read_extended(path.parent_path() / own["extends"].get<std::string>(), chain, origins);
        own.erase("extends");
    }
    own.erase("$schema");
    // What a run adds to its config.json about the machine that computed it is no setting.
    own.erase("fingerprint");
    if (!base) return first_of_chain(own, path.string(), origins);
    merge(*base, own, "", path.string(), origins);
    return *std::move(base);
}

/// The parts of "a.b[2].c" and of "a.b.2.c".
std::vector<std::string> key_parts(std::string_view key) {
    std::string plain;
    for (const char c : key)
        if (c == '[')
            plain += '.';
        else if (c != ']')
            plain += c;
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (begin <= plain.size()) {
        const std::size_t end = std::min(plain.find('.', begin), plain.size());
        parts.push_back(plain.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

bool is_index(const std::string& part, std::size_t size) {
    return !part.empty() && part.size() < 9 &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
           std::stoul(part) < size;
}

/// The value of an assignment: JSON, or else the text as it is.
Json assigned(std::string_view text, std::size_t depth, const std::string& origin) {
    json_text::Limits limits = config_limits;
    limits.depth -= static_cast<int>(depth);
    const std::optional<json_text::Fault> fault = json_text::fault(text, limits);
    if (!fault) return Json::parse(text);
    if (!fault->is_json) return text;
    throw ConfigError(
        fmt::format("{}: the value cannot be read ({}) correct it, or write it into "
                    "a config that \"extends\" this one",
                    origin, fault->why));
}

void check_assignment(const std::string& assignment, const std::string& origin) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        throw ConfigError(
            fmt::format("--set: there is no key=value (got \"{}\") write --set "
                        "population.size=64",
                        shortened(assignment)));
    if (assignment.size() > longest_assignment)
        throw ConfigError(
            fmt::format("{}: it has {} bytes (at most {} are allowed) write the value into a "
                        "config that \"extends\" this one",
                        origin, assignment.size(), longest_assignment));
    if (!is_utf8(assignment))
        throw ConfigError(fmt::format(
            "{}: it holds bytes that are no text (configs are UTF-8) write it in UTF-8", origin));
}

void apply(Json& json, const std::string& assignment, Origins& origins) {
    const std::string origin = "--set " + shortened(assignment);
    check_assignment(assignment, origin);
    const std::size_t equals = assignment.find('=');
    const std::string key = assignment.substr(0, equals);
    const std::vector<std::string> parts = key_parts(key);
    if (parts.front() == "extends")
        throw ConfigError(
            fmt::format("{}: only a file extends another (assignments are made after files are "
                        "read) name that file as the config",
                        origin));
    if (parts.size() >= static_cast<std::size_t>(config_limits.depth))
        throw ConfigError(fmt::format(
            "{}: the key has {} parts (sections may be nested {} deep) write a key that "
            "'cambrian explain' lists",
            origin, parts.size(), config_limits.depth));
    Json value = assigned(std::string_view(assignment).substr(equals + 1), parts.size(), origin);

    Json* place = &json;
    std::string path;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool last = i + 1 == parts.size();
        const bool removes = last && value.is_null() && !is_free(path);
        path += (i == 0 ? "" : ".") + parts[i];
        if (parts[i].empty())
            throw ConfigError(
                fmt::format("{}: the key has an empty part (two dots, or one at an "
                            "end) write it like population.size",
                            origin));
        if (place->is_array() && is_index(parts[i], place->size())) {
            place = &(*place)[std::stoul(parts[i])];
        } else if (place->is_object()) {
            if (removes) {
                place->erase(parts[i]);
                return;
            }
            if (!last && !place->contains(parts[i])) {
                (*place)[parts[i]] = Json::object();
                origins.record(path, origin);
            }
            place = &(*place)[parts[i]];
        } else {
            throw ConfigError(fmt::format("{}: there is no {} in {} (it is {}) set the whole of it",
                                          origin, shortened(parts[i]), shortened(key),
                                          quoted(*place)));
        }
    }
    *place = std::move(value);
    origins.record(key, origin);
}

std::string expanded_text(const std::string& text, const std::string& key, std::uint64_t seed,
                          const Environment& environment, const Origins& origins) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        if (text.compare(i, 6, "{seed}") == 0) {
            result += std::to_string(seed);
            i += 6;
        } else if (environment && text.compare(i, 2, "${") == 0) {
            const std::size_t end = text.find('}', i);
            if (end == std::string::npos)
                throw ConfigError(
                    fmt::format("{}: {} is \"{}\" (\"${{\" without \"}}\") write "
                                "${{NAME}}",
                                origins.of(key), key, shortened(text)));
            const std::string name = text.substr(i + 2, end - i - 2);
            i = end + 1;
            if (name == "$" || name == "{") {
                result += name;
                continue;
            }
            if (name.empty())
                throw ConfigError(
                    fmt::format("{}: {} is \"{}\" (\"${{}}\" names no variable) write ${{NAME}}",
                                origins.of(key), key, shortened(text)));
            const std::optional<std::string> value = environment(name);
            if (!value)
                throw ConfigError(
                    fmt::format("{}: {} needs the environment variable {} (it is not "
                                "set) run 'export {}=...' first",
                                origins.of(key), key, shortened(name), shortened(name)));
            if (!is_utf8(*value))
                throw ConfigError(
                    fmt::format("{}: {} needs the environment variable {} (its value is \"{}\", "
                                "which is not UTF-8) set it to a text",
                                origins.of(key), key, shortened(name), shortened(*value)));
            result += *value;
        } else {
            result += text[i++];
        }
    }
    return result;
}

Json expand(const Json& value, const std::string& key, std::uint64_t seed,
            const Environment& environment, const Origins& origins) {
    if (value.is_string())
        return expanded_text(value.get<std::string>(), key, seed, environment, origins);
    if (!value.is_structured()) return value;
    Json result = value;
    if (value.is_object())
        for (const auto& [name, child] : value.items())
            result[name] =
                expand(child, key.empty() ? name : key + "." + name, seed, environment, origins);
    if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i)
            result[i] = expand(value[i], fmt::format("{}[{}]", key, i), seed, environment, origins);
    return result;
}

}  // namespace

void require_utf8(const fs::path& path, std::string_view what, std::string_view suggestion) {
    if (is_utf8(path.string())) return;
    throw ConfigError(fmt::format("{} {} (not UTF-8, which the files of a run are) {}", what,
                                  shortened(path.string()), suggestion));
}

std::string without_comments(std::string_view text) {
    std::string result(text);
    bool in_string = false;
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (in_string) {
            if (result[i] == '\\')
                ++i;
            else if (result[i] == '"' || result[i] == '\n')
                in_string = false;
        } else if (result[i] == '"') {
            in_string = true;
        } else if (result.compare(i, 2, "//") == 0) {
            for (; i < result.size() && result[i] != '\n'; ++i) result[i] = ' ';
        }
    }
    return result;
}

Json parse_config(std::string_view text, const std::string& file) {
    const auto fail = [&](const json_text::Fault& fault) {
        if (fault.byte)
            throw ConfigError(fmt::format("{}:{}: broken JSON ({}) correct the file", file,
                                          position(text, *fault.byte), fault.why));
        throw ConfigError(
            fmt::format("{}: this JSON is no config ({}) correct the file", file, fault.why));
    };
    // Comments may hold anything but the byte after which no editor shows the rest.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        fail({.why = "a NUL byte", .byte = nul + 1, .is_json = false});
    const std::string plain = without_comments(text);
    if (const std::optional<json_text::Fault> fault = json_text::fault(plain, config_limits))
        fail(*fault);
    return Json::parse(plain);
}

ConfigDocument document_from(const Json& json, const std::string& origin,
                             const fs::path& base_directory,
                             std::span<const std::string> overrides) {
    ConfigDocument document{nullptr, base_directory, Origins(origin)};
    Json merged = json;
    for (const std::string& assignment : overrides) apply(merged, assignment, document.origins);
    document.json = std::make_shared<const Json>(std::move(merged));
    return document;
}

ConfigDocument read_config(const fs::path& path, std::span<const std::string> overrides) {
    Origins origins(path.string());
    std::vector<fs::path> chain;
    Json merged = read_extended(path, chain, origins);
    for (const std::string& assignment : overrides) apply(merged, assignment, origins);
    return {std::make_shared<const Json>(std::move(merged)), fs::absolute(path).parent_path(),
            std::move(origins)};
}

std::optional<ConfigDocument> find_run_config(const fs::path& directory) {
    const fs::path path = directory / "config.json";
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    return read_config(path, {});
}

std::uint64_t seed_of(const Json& config) {
    const auto run = config.find("run");
    if (run == config.end() || !run->is_object()) return 1;
    const auto seed = run->find("seed");
    return seed != run->end() && seed->is_number_integer() ? seed->get<std::uint64_t>() : 1;
}

Environment process_environment() {
    return [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    };
}

Json expanded(const Json& config, std::uint64_t seed, const Environment& environment,
              const Origins& origins) {
    return expand(config, "", seed, environment, origins);
}

std::string unexpanded(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text.substr(i).starts_with("${"))
            result += "${$}";
        else if (text.substr(i).starts_with("{seed}"))
            result += "${{}";
        else
            result += text[i];
    return result;
}

}  // namespace cambrian::launch

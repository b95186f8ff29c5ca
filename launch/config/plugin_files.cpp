#include "cambrian/launch/config/plugin_files.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// The config that is run; empty where there is none.
fs::path config_of(const fs::path& source) {
    std::error_code error;
    if (fs::is_directory(source, error)) {
        const fs::path config = source / "config.json";
        return fs::is_regular_file(config, error) ? config : fs::path();
    }
    if (!fs::is_regular_file(source, error)) return {};
    return source.extension() == ".json" ? source : fs::path();
}

/// The texts of a list, or nothing for anything else.
std::vector<std::string> texts(const Json& config) {
    std::vector<std::string> result;
    if (!config.is_object() || !config.contains("engine") || !config["engine"].is_object() ||
        !config["engine"].contains("plugins") || !config["engine"]["plugins"].is_array())
        return result;
    for (const Json& file : config["engine"]["plugins"])
        if (file.is_string()) result.push_back(file.get<std::string>());
    return result;
}

fs::path base_of(const Json& config, const fs::path& folder) {
    if (!config.contains("run") || !config["run"].is_object() ||
        !config["run"].contains("base_directory") || !config["run"]["base_directory"].is_string())
        return folder;
    return folder / config["run"]["base_directory"].get<std::string>();
}

}  // namespace

std::vector<fs::path> plugin_files(const fs::path& source, std::span<const std::string> overrides) {
    const fs::path config = config_of(source);
    try {
        const ConfigDocument document =
            config.empty() ? document_from(Json::object(), "--set", fs::current_path(), overrides)
                           : read_config(config, overrides);
        const Json json = expanded(*document.json, seed_of(*document.json), process_environment(),
                                   document.origins);
        std::vector<fs::path> files;
        for (const std::string& file : texts(json))
            files.push_back((base_of(json, document.base_directory) / file).lexically_normal());
        return files;
    } catch (const Error&) {
        return {};
    }
}

bool names_plugins(const Json& config) {
    return !texts(config).empty();
}

std::string without_plugin(std::string_view error) {
    return fmt::format(
        "{}; or, as no plug-in is loaded and its run may have had one, load that with --plugin "
        "FILE",
        error);
}

}  // namespace cambrian::launch

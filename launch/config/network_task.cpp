#include "cambrian/launch/config/network_task.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// The folder that the run beside the network took its data paths from.
std::optional<std::string> base_of_run(const fs::path& network_path, const std::string& identity,
                                       const Schema& schema) {
    const fs::path path = network_path.parent_path() / "config.json";
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    Json config;
    try {
        config = *read_config(path, {}).json;
    } catch (const Error&) {
        // A file of somebody else: the network does not need it.
        return std::nullopt;
    }
    // What the run adds about the machine that computed it is no setting.
    config.erase("fingerprint");
    if (nlohmann::json(keys_of_class(schema, config, "identity")).dump() != identity ||
        !config.contains("run") || !config["run"].contains("base_directory") ||
        !config["run"]["base_directory"].is_string())
        return std::nullopt;
    return config["run"]["base_directory"].get<std::string>();
}

}  // namespace

ResolvedConfig config_of_network(const std::string& network_path,
                                 const distributed::NetworkFile& network,
                                 const std::string& config_path,
                                 std::span<const std::string> overrides, const Schema& schema) {
    if (!config_path.empty()) return resolve(read_config(config_path, overrides), schema);
    if (network.identity_json.empty())
        throw ConfigError(fmt::format(
            "{} names no task (no run produced it) name one with --config", network_path));
    const std::string origin = "the identity in " + network_path;
    Json identity = parse_config(network.identity_json, origin);
    if (const auto base = base_of_run(network_path, network.identity_json, schema))
        identity["run"]["base_directory"] = *base;
    return resolve(document_from(identity, origin, fs::current_path(), overrides), schema);
}

std::string preparation_note(const NamedNetwork& network, const evolve::Task& task) {
    const auto& own = network.file.preparation;
    std::optional<evolve::Preparation> given = task.preparation();
    if (!own || !given) return {};
    given->sequence_rows = own->sequence_rows;
    if (*own == *given) return {};
    if (const std::string why = evolve::other_meaning(*own, *given); !why.empty())
        throw ConfigError(
            fmt::format("{} is a network for other data ({}) give it the columns, in the order, "
                        "and the classes "
                        "that it has learnt with ('cambrian inspect' lists them)",
                        network.path, why));
    return fmt::format(
        "{} has learnt with other constants of scaling than those of this task's training rows: it "
        "answers as if its inputs were others",
        network.path);
}

}  // namespace cambrian::launch

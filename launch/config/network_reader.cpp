#include "cambrian/launch/config/network_reader.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cambrian/distributed/protocol/initial_network.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/runs/network_tensors.hpp"
#include "cambrian/launch/config/schema_validator.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

const Json& network_of(const ResolvedConfig& config) {
    return config.effective->at("network");
}

fs::path initial_path(const ResolvedConfig& config) {
    return network_of(config).at("initial").get<std::string>();
}

/// A structure has no weights to keep.
bool is_structure(const fs::path& path) {
    return path.extension() == ".json";
}

bool keeps_weights(const ResolvedConfig& config) {
    return network_of(config).value("initial_weights", "keep") == "keep" &&
           !is_structure(initial_path(config));
}

void check_keys(const Json& network, const fs::path& initial) {
    if (initial.empty()) {
        if (network.contains("initial_weights"))
            throw ConfigError(
                "network.initial_weights is given without network.initial (there are no weights to "
                "keep or to leave) name a network, or remove it");
        return;
    }
    if (network.contains("build"))
        throw ConfigError(
            "network.initial is given beside network.build (both say what the network is) keep one "
            "of the two");
}

Blueprint described(const Json& network, const evolve::TaskSignature& task) {
    nlohmann::json structure;
    for (const char* key : {"layers", "grid", "links", "input", "mode", "build"})
        if (network.contains(key)) structure[key] = nlohmann::json(network[key]);
    return blueprint_from_json(structure, task.observations, task.outputs, task.time);
}

/// A structure as cambrian convert writes it, or the network section of any config.
evolve::Genome read_structure(const fs::path& path, const evolve::TaskSignature& task) {
    const ConfigDocument document = read_config(path, {});
    if (!document.json->is_object() || !document.json->contains("network") ||
        !document.json->at("network").is_object())
        throw ConfigError("it has no section network (which would be the structure) name a config");
    const Json& network = document.json->at("network");
    if (network.value("initial", Json("")) != Json(""))
        throw ConfigError("its network.initial is set (it replaces the layers) name that file");
    // Weights are drawn for each individual; these only complete the genome.
    RandomStream unused(random_key(0, "initial"), 0);
    return evolve::sample_genome(described(network, task), unused, 0);
}

distributed::NetworkFile read_initial(const fs::path& path, const evolve::TaskSignature& task) {
    if (is_structure(path)) {
        distributed::NetworkFile file;
        file.genome = read_structure(path, task);
        return file;
    }
    if (path.extension() == ".safetensors")
        return distributed::from_safetensors(read_safetensors(path), std::nullopt, path.string());
    return distributed::read_network(path);
}

/// What the weights of a network meet on another task, or under another command.
std::vector<std::string> notes_of(const std::string& path, const distributed::NetworkFile& file,
                                  const evolve::Task& task) {
    std::vector<std::string> notes;
    if (std::string note = preparation_note({path, file}, task); !note.empty())
        notes.push_back(std::move(note));
    const std::optional<evolve::LossUnits> units = task.loss_units();
    if (units && !units->factor)
        notes.push_back(
            fmt::format("targets of several scales: 'cambrian train' weighs them alike, evolution "
                        "and 'cambrian "
                        "evaluate' by their units ({}); what one gains may be a loss to the other",
                        units->name));
    return notes;
}

/// Repeats an error of the file with the key that names it.
template <class Body>
auto of_initial(const ResolvedConfig& config, const Body& body) {
    const auto text = [&](const Error& error) {
        return fmt::format("network.initial is {}: {}", initial_path(config).string(),
                           error.what());
    };
    try {
        return body();
    } catch (const ConfigError& error) {
        throw ConfigError(text(error));
    } catch (const ShapeError& error) {
        throw ShapeError(text(error));
    } catch (const InputError& error) {
        throw InputError(fmt::format("{}: {}", config.origins.of("network.initial"), text(error)));
    }
}

Founder started_from(const ResolvedConfig& config, evolve::Genome genome) {
    Founder founder{genome.blueprint, nullptr, {}};
    founder.initial =
        std::make_shared<const evolve::InitialNetwork>(std::move(genome), keeps_weights(config));
    return founder;
}

}  // namespace

Founder make_founder(const ResolvedConfig& config, const evolve::Task& task,
                     const fs::path& resumed) {
    return from(config.origins, "network", [&] {
        const fs::path initial = initial_path(config);
        check_keys(network_of(config), initial);
        if (initial.empty()) {
            Founder founder{described(network_of(config), task.signature()), nullptr, {}};
            evolve::check_task_fits(task, founder.blueprint);
            return founder;
        }
        const fs::path copy = distributed::initial_copy(resumed);
        std::error_code error;
        const bool has_copy = !resumed.empty() && fs::is_regular_file(copy, error);
        const fs::path path = has_copy ? copy : config.base_directory / initial;
        const distributed::NetworkFile file =
            of_initial(config, [&] { return read_initial(path, task.signature()); });
        Founder founder = started_from(config, file.genome);
        // Others are refused where it is known whether they are networks of the task at all.
        const evolve::TaskSignature signature = task.signature();
        const bool fits = founder.blueprint.input_features == signature.observations &&
                          founder.blueprint.output_features == signature.outputs;
        if (keeps_weights(config) && fits)
            founder.notes =
                of_initial(config, [&] { return notes_of(initial.string(), file, task); });
        return founder;
    });
}

bool names_initial(const ResolvedConfig& config) {
    return !initial_path(config).empty();
}

void check_initial_fits(const ResolvedConfig& config, const evolve::Task& task,
                        const std::shared_ptr<const evolve::InitialNetwork>& initial) {
    if (!initial) return;
    from(config.origins, "network", [&] {
        of_initial(config, [&] { evolve::check_task_fits(task, initial->genome.blueprint); });
        return true;
    });
}

Founder founder_of(const ResolvedConfig& config, evolve::Genome initial) {
    return from(config.origins, "network", [&] {
        check_keys(network_of(config), initial_path(config));
        return started_from(config, std::move(initial));
    });
}

std::string founder_text(const ResolvedConfig& config) {
    if (!names_initial(config)) return "";
    const fs::path initial = initial_path(config);
    const char* what = keeps_weights(config)   ? "structure, genes and weights are kept"
                       : is_structure(initial) ? "a structure; weights are drawn afresh"
                                               : "structure and genes are kept, weights are "
                                                 "drawn afresh";
    return fmt::format("starts from {}, in place of network.layers ({})\n", initial.string(), what);
}

namespace {

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
    if (identity_text(schema, config) != identity || !config.contains("run") ||
        !config["run"].contains("base_directory") || !config["run"]["base_directory"].is_string())
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

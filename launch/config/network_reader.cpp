#include "cambrian/launch/config/network_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/launch/config/initial_networks.hpp"
#include "cambrian/launch/config/plugin_files.hpp"
#include "cambrian/launch/config/schema_validator.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

const Json& network_of(const ResolvedConfig& config) {
    return config.effective->at("network");
}

/// The paths in network.initial, which is one or a list of them.
std::vector<std::string> initial_names(const Json& network) {
    const Json& given = network.at("initial");
    if (given.is_array()) return given.get<std::vector<std::string>>();
    const auto name = given.get<std::string>();
    return name.empty() ? std::vector<std::string>() : std::vector{name};
}

std::vector<std::string> initial_names(const ResolvedConfig& config) {
    return initial_names(network_of(config));
}

bool keeps_weights(const ResolvedConfig& config) {
    const std::vector<std::string> names = initial_names(config);
    return network_of(config).value("initial_weights", "keep") == "keep" &&
           std::ranges::none_of(names, [](const fs::path& path) { return is_structure(path); });
}

void check_keys(const Json& network) {
    const std::vector<std::string> names = initial_names(network);
    if (names.empty()) {
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
    // Weights are kept of all or of none.
    if (names.size() > 1 &&
        std::ranges::any_of(names, [](const fs::path& path) { return is_structure(path); }) &&
        network.value("initial_weights", "keep") == "keep")
        throw ConfigError(
            "network.initial names a structure among others (a .json has no weights to keep) set "
            "network.initial_weights to \"fresh\"");
}

/// What the weights of networks meet on another task, or under another command.
std::vector<std::string> notes_of(const std::vector<InitialFile>& files, const evolve::Task& task) {
    std::vector<std::string> notes;
    for (const InitialFile& network : files)
        if (std::string note = preparation_note({network.name, network.file}, task); !note.empty())
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

/// Repeats an error of a file with the key that names it.
template <class Body>
auto of_initial(const ResolvedConfig& config, const std::string& name, const Body& body) {
    const auto text = [&](const Error& error) {
        return fmt::format("network.initial is {}: {}", name, error.what());
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

std::vector<InitialFile> read_files(const ResolvedConfig& config,
                                    const evolve::TaskSignature& task) {
    std::vector<InitialFile> files;
    for (const std::string& name : initial_names(config))
        of_initial(config, name, [&] {
            for (InitialFile& file : read_initial(config.base_directory / name, name, task))
                files.push_back(std::move(file));
        });
    return files;
}

/// The copies in the directory of a run; none where it has none.
std::vector<InitialFile> read_copies(const ResolvedConfig& config, const fs::path& run) {
    std::vector<InitialFile> files;
    std::error_code error;
    for (std::size_t i = 0; !run.empty(); ++i) {
        const fs::path path = distributed::initial_copy(run, i);
        if (!fs::is_regular_file(path, error)) break;
        of_initial(config, path.string(), [&] {
            files.push_back({path.string(), distributed::read_network(path)});
        });
    }
    return files;
}

bool names_scales(const Json& object) {
    const auto found = object.find("dtype_scales");
    return found != object.end() && found->is_string() && *found != name(Scales::format);
}

[[noreturn]] void refuse_scales(const std::string& place, const Json& scales,
                                const std::string& why) {
    throw ConfigError(
        fmt::format("{}.dtype_scales is {} ({}) leave it out, or choose another format", place,
                    scales["dtype_scales"].dump(), why));
}

/// Whether something holds for the section mutation of a config that has one, or for that of an
/// island: the keys of all, and its own in their place.
template <class Predicate>
bool any_mutation(const Json& config, const Predicate& holds) {
    const Json& all = config.at("mutation");
    const auto on_island = [&](const Json& island) {
        Json mutation = all;
        mutation.merge_patch(island.value("mutation", Json::object()));
        return holds(mutation);
    };
    return holds(all) || std::ranges::any_of(config.at("islands").at("overrides"), on_island);
}

/// Whether mutation may give a layer a format that takes scales.
bool may_get_scales(const ResolvedConfig& config) {
    const Json& effective = *config.effective;
    if (!effective.contains("mutation")) return false;
    return any_mutation(effective, [](const Json& mutation) {
        if (mutation.value("dtype_rate", 0.0) == 0.0) return false;
        return !mutation.contains("dtypes") ||
               std::ranges::any_of(mutation["dtypes"], [](const Json& each) {
                   return takes_scales(*dtype_named(each.get<std::string>()));
               });
    });
}

/// Scales that nothing has would be no choice at all. For configs that have been read.
void refuse_idle_scales(const ResolvedConfig& config, Blueprint blueprint) {
    const Json& network = network_of(config);
    if (names_scales(network) && !may_get_scales(config)) {
        bool taken = false;
        for_each_formats(blueprint, [&](const LayerFormats& own) {
            taken = taken || takes_scales(own.weights);
        });
        if (!taken) refuse_scales("network", network, "no layer has a format that takes them");
    }
    if (!network.contains("layers") || names_initial(config)) return;
    for (std::size_t i = 0; i < network["layers"].size(); ++i) {
        const Json& layer = network["layers"][i];
        if (!names_scales(layer)) continue;
        const Json& named = layer.contains("dtype") ? layer : network;
        const Dtype dtype = *dtype_named(named.value("dtype", "float32"));
        // Of a layer in float32 they are those of a format to come.
        if (!takes_scales(dtype) && dtype != Dtype::float32)
            refuse_scales(
                fmt::format("network.layers[{}]", i), layer,
                fmt::format("{} {}", name(dtype),
                            dtype == Dtype::q4_0 ? "is a format of blocks" : "has no scales"));
    }
}

/// Whether evolution may give a layer what its format holds: a link into it, or another type.
bool may_get_weights(const ResolvedConfig& config) {
    const Json& effective = *config.effective;
    if (!effective.contains("mutation")) return false;
    // Other genotypes grow by keys of their own, and plug-ins by what they please.
    if (effective.at("genome").at("type") != "volumetric" || names_plugins(effective)) return true;
    return any_mutation(effective, [](const Json& mutation) {
        static constexpr std::array<const char*, 2> keys{"link_add_rate", "layer_type_rate"};
        return std::ranges::any_of(keys,
                                   [&](const char* key) { return mutation.value(key, 0.0) > 0.0; });
    });
}

/// A format of weights that a layer itself names and nothing will ever have would be no choice at
/// all.
void refuse_idle_formats(const ResolvedConfig& config, const Blueprint& blueprint) {
    const Json& network = network_of(config);
    if (!network.contains("layers") || may_get_weights(config)) return;
    const Json& layers = network["layers"];
    const std::vector<int> slots = slots_of_layers(nlohmann::json(layers), blueprint.grid);
    const Network built(blueprint);
    std::set<int> holding;
    for (const WeightRange& range : built.weights())
        if (encoded_range(blueprint, range)) holding.insert(slot_of_formats(blueprint, range));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const bool plain = formats_of(blueprint, slots[i]).weights == Dtype::float32;
        if (plain || !layers[i].contains("dtype") || holding.contains(slots[i])) continue;
        const std::optional<Tie> tie = tie_of(evolve::layer_at(blueprint, slots[i]));
        throw ConfigError(fmt::format(
            "network.layers[{}].dtype is {} ({}) leave it out", i, layers[i]["dtype"].dump(),
            tie ? fmt::format("its weight is that of slot {}, in the format of that layer",
                              tie->slot)
                : "the layer has no matrices, kernels or connections, which formats hold"));
    }
}

Founder started_from(const ResolvedConfig& config, std::vector<evolve::Genome> genomes) {
    for (evolve::Genome& genome : genomes)
        apply_formats(genome.blueprint, nlohmann::json(network_of(config)));
    Founder founder{genomes.front().blueprint, nullptr, {}};
    founder.initial =
        std::make_shared<const evolve::InitialNetworks>(std::move(genomes), keeps_weights(config));
    return founder;
}

}  // namespace

Blueprint described_network(const Json& network, const evolve::TaskSignature& task) {
    nlohmann::json structure;
    const auto take = [&](const char* key) {
        if (network.contains(key)) structure[key] = nlohmann::json(network[key]);
    };
    for (const char* key :
         {"layers", "grid", "links", "input", "mode", "build", "init", "init_scale"})
        take(key);
    for (const char* key : format_keys) take(key);
    return blueprint_from_json(structure, task.observations, task.outputs, task.time, task.steps);
}

IdleFormats idle_formats(const ResolvedConfig& config) {
    const fs::path run = config.effective->at("run").at("directory").get<std::string>();
    std::error_code error;
    return fs::is_regular_file(run / "config.json", error) ? IdleFormats::kept
                                                           : IdleFormats::refused;
}

Founder make_founder(const ResolvedConfig& config, const evolve::Task& task, IdleFormats idle,
                     const fs::path& resumed) {
    return from(config.origins, "network", [&] {
        check_keys(network_of(config));
        if (!names_initial(config)) {
            Founder founder{described_network(network_of(config), task.signature()), nullptr, {}};
            if (idle == IdleFormats::refused) {
                refuse_idle_scales(config, founder.blueprint);
                refuse_idle_formats(config, founder.blueprint);
            }
            evolve::check_task_fits(task, founder.blueprint);
            return founder;
        }
        std::vector<InitialFile> files = read_copies(config, resumed);
        const evolve::TaskSignature signature = task.signature();
        if (files.empty()) files = read_files(config, signature);
        std::vector<Founder::OfRun> of_runs;
        for (const InitialFile& each : files)
            if (!each.file.identity_json.empty())
                of_runs.push_back({each.name, distributed::is_genotype(each.file)});
        std::vector<evolve::Genome> genomes;
        for (const InitialFile& network : files) genomes.push_back(network.file.genome);
        // Others are refused where it is known whether they are networks of the task at all.
        std::erase_if(files, [&](const InitialFile& network) {
            const Blueprint& blueprint = network.file.genome.blueprint;
            return blueprint.input_features != signature.observations ||
                   blueprint.output_features != signature.outputs;
        });
        Founder founder = started_from(config, std::move(genomes));
        founder.of_runs = std::move(of_runs);
        if (idle == IdleFormats::refused) refuse_idle_scales(config, founder.blueprint);
        if (keeps_weights(config))
            founder.notes = of_initial(config, initial_names(config).front(),
                                       [&] { return notes_of(files, task); });
        return founder;
    });
}

bool names_initial(const ResolvedConfig& config) {
    return !initial_names(config).empty();
}

/// Genotypes are founders of their kind alone, and it has no others. Files of no run may be either.
void check_genotypes(const ResolvedConfig& config, const std::vector<Founder::OfRun>& networks,
                     const evolve::GenomeKind* kind) {
    const bool develops = kind != nullptr && kind->develops();
    from(config.origins, "network", [&] {
        for (const Founder::OfRun& network : networks) {
            if (network.genotype == develops) continue;
            of_initial(config, network.name, [&] {
                throw ConfigError(
                    develops
                        ? fmt::format(
                              "it is no genotype (genome.type is \"{}\": networks develop "
                              "from its genes) name the best_genotype.cmb of such a run, or "
                              "its directory",
                              kind->type())
                        : "it is a genotype (its run has genome.type \"hyperneat\": a network "
                          "develops from it) name that network: the best.cmb of the run, or what "
                          "'cambrian extract' writes");
            });
        }
    });
}

void check_initial_fits(const ResolvedConfig& config, const evolve::Task& task,
                        const std::shared_ptr<const evolve::InitialNetworks>& initial) {
    const std::size_t count = initial ? initial->genomes.size() : 0;
    from(config.origins, "network", [&] {
        for (std::size_t i = 0; i < count; ++i) {
            const std::string which =
                count == 1 ? initial_names(config).front() : fmt::format("network {}", i + 1);
            of_initial(config, which,
                       [&] { evolve::check_task_fits(task, initial->genomes[i].blueprint); });
        }
    });
}

Founder founder_of(const ResolvedConfig& config, std::vector<evolve::Genome> initial) {
    return from(config.origins, "network", [&] {
        check_keys(network_of(config));
        return started_from(config, std::move(initial));
    });
}

std::string founder_text(const ResolvedConfig& config) {
    if (!names_initial(config)) return "";
    const std::vector<std::string> names = initial_names(config);
    const char* what = keeps_weights(config)         ? "structure, genes and weights are kept"
                       : is_structure(names.front()) ? "a structure; weights are drawn afresh"
                                                     : "structure and genes are kept, weights are "
                                                       "drawn afresh";
    return fmt::format("starts from {}, in place of network.layers ({})\n", fmt::join(names, ", "),
                       what);
}

namespace {

/// The folder that the run in a directory took its data paths from, if it is the run of a network.
std::optional<std::string> base_of_run(const fs::path& directory, const std::string& identity,
                                       const Schema& schema) {
    const fs::path path = directory / "config.json";
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
    if (identity.contains("task"))
        identity["task"] = evolve::task_of_generation(identity.at("task"), network.generation);
    // Beside the network, or above the folder that `cambrian extract` made.
    const fs::path beside = fs::path(network_path).parent_path();
    auto base = base_of_run(beside, network.identity_json, schema);
    if (!base) base = base_of_run(beside / "..", network.identity_json, schema);
    if (base) identity["run"]["base_directory"] = *base;
    try {
        return resolve(document_from(identity, origin, fs::current_path(), overrides), schema);
    } catch (const ConfigError& error) {
        // What its run knew, this program does not.
        if (!schema.plugins().empty() || !std::string_view(error.what()).starts_with(origin)) throw;
        throw ConfigError(without_plugin(error.what()));
    }
}

namespace {

/// Labels of digits such as 00 and 01, which were once taken for numbers; empty for others.
std::vector<double> numbers_of(const std::vector<std::string>& labels) {
    std::vector<double> numbers;
    for (const std::string& label : labels) {
        const auto number = csv_number(label);
        if (!number) return {};
        numbers.push_back(*number);
    }
    return numbers;
}

}  // namespace

std::string silent_forecast_note(const std::string& path, std::string_view taken_as) {
    return fmt::format(
        "{} does not say how many rows ahead it tells (an older version wrote it): {}", path,
        taken_as);
}

std::string preparation_note(const NamedNetwork& network, const evolve::Task& task) {
    const auto& own = network.file.preparation;
    std::optional<evolve::Preparation> given = task.preparation();
    if (!own || !given) return {};
    std::string silent;
    if (const std::int64_t ahead = given->ahead.value_or(0); !own->ahead && ahead > 0)
        silent = silent_forecast_note(network.path,
                                      fmt::format("it is taken to answer for t+{}", ahead));
    given->sequence_rows = own->sequence_rows;
    given->shown = own->shown;
    // The rows of a task are complete when a network sees them.
    given->missing_values = own->missing_values;
    // Older formats did not know these.
    if (!own->ahead) given->ahead.reset();
    if (!own->logits) given->logits = false;
    if (!own->tokenizer) given->tokenizer.reset();
    if (own->labels.empty() && !given->labels.empty() &&
        numbers_of(given->labels) == own->classes) {
        given->classes = own->classes;
        given->labels.clear();
        given->outputs = own->outputs;
    }
    for (std::size_t i = 0; i < std::min(given->inputs.size(), own->inputs.size()); ++i)
        given->inputs[i].fill = own->inputs[i].fill;
    if (*own == *given) return silent;
    if (const std::string why = evolve::other_meaning(*own, *given); !why.empty())
        throw ConfigError(
            fmt::format("{} is a network for other data ({}) give it the columns, in the order, "
                        "the classes, the tokenizer and the rows ahead that it has learnt with "
                        "('cambrian inspect' lists them)",
                        network.path, why));
    return fmt::format(
        "{}{}{} has learnt with other constants of scaling than those of this task's training "
        "rows: it answers as if its inputs were others",
        silent, silent.empty() ? "" : "; ", network.path);
}

}  // namespace cambrian::launch

#include "cambrian/launch/config/experiment_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/config/plugin_files.hpp"
#include "cambrian/launch/config/schema_validator.hpp"
#include "cambrian/launch/config/vain_settings.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// A section of a complete config, without what the program reads by itself.
template <class Settings>
Settings section(const Json& config, const char* name,
                 const std::vector<std::string_view>& others = {}) {
    Settings settings;
    field_json::read_fields(settings, nlohmann::json(config.at(name)), name, others);
    return settings;
}

template <class Value>
void read_key(Value& value, const Json& config, const char* section, const char* key) {
    field_json::read(value, nlohmann::json(config.at(section).at(key)),
                     json_read::member(section, key), {});
}

/// Throws ConfigError for a key of run.stop that only another one reads, which is not there.
void refuse_idle_stop(const char* key, const char* reader, const char* idle) {
    throw ConfigError(
        fmt::format("run.stop.{} is set (run.stop.{} is not, so nothing is {}) set both, or leave "
                    "it out: run.stop.{}=null",
                    key, reader, idle, key));
}

distributed::StopSettings stop_settings(const Json& json, Purpose purpose) {
    distributed::StopSettings stop;
    stop.generations = json.value("generations", stop.generations);
    stop.fitness = json.value("fitness", stop.fitness);
    stop.solved = json.value("solved", stop.solved);
    stop.candidates = json.value("candidates", stop.candidates);
    if (json.contains("fitness_of")) {
        field_json::read(stop.fitness_of, nlohmann::json(json.at("fitness_of")),
                         "run.stop.fitness_of", {});
        if (!json.contains("fitness")) refuse_idle_stop("fitness_of", "fitness", "compared");
    }
    // The networks of a run that has ended so, as older versions let it, can still be read.
    if (json.contains("candidates") && !stop.solved && purpose == Purpose::evolve)
        refuse_idle_stop("candidates", "solved", "tested");
    stop.evaluations = json.value("evaluations", stop.evaluations);
    stop.seconds = json.value("seconds", stop.seconds);
    return stop;
}

/// The rate of new layers that a section "mutation" says. "auto": none in a mesh, with a note.
/// @param path of the section.
float insertion_rate(const Json& mutation, const std::string& path,
                     distributed::Experiment& experiment) {
    const Json& given = mutation.at("layer_insert_rate");
    const std::string key = json_read::member(path, "layer_insert_rate");
    float rate = evolve::MutationSettings{}.layer_insert_rate;
    if (given != "auto") {
        field_json::read(rate, nlohmann::json(given), key, from_zero_to_one);
    } else if (experiment.genome == "volumetric" &&
               experiment.variation.founder.mode == NetworkMode::mesh) {
        rate = 0.0F;
        experiment.notes.push_back(
            fmt::format("{} is 0 unless it is set: the network is a mesh", key));
    }
    return rate;
}

/// What mutation.layers says: layers with some of their fields, in a network that says rules.
std::vector<AnyLayer> new_layers(const Json& given, const std::string& path,
                                 const ParameterRules& rules) {
    const nlohmann::json list(given);
    std::vector<AnyLayer> layers;
    for (std::size_t i = 0; i < json_read::list(list, path); ++i)
        layers.push_back(layer_from_json(list[i], json_read::element(path, i), rules));
    return layers;
}

/// Keys of the section "mutation" that no row of its settings is.
std::vector<std::string_view> other_mutation_keys(const evolve::MutationSettings& settings) {
    std::vector<std::string_view> keys{"layer_insert_rate", "layers"};
    for (const evolve::CustomMutation& added : settings.custom) keys.push_back(added.key);
    return keys;
}

/// The rates of mutations that programs and plug-ins have added.
void read_custom_rates(evolve::MutationSettings& settings, const Json& section,
                       const std::string& path) {
    for (evolve::CustomMutation& added : settings.custom)
        if (const auto rate = section.find(added.key); rate != section.end())
            field_json::read(added.rate, nlohmann::json(*rate), json_read::member(path, added.key),
                             from_zero_to_one);
}

evolve::MutationSettings mutation_settings(const Json& config,
                                           const std::vector<evolve::CustomMutation>& added) {
    evolve::MutationSettings keys;
    keys.custom = added;
    auto settings =
        section<evolve::MutationSettings>(config, "mutation", other_mutation_keys(keys));
    settings.custom = added;
    read_custom_rates(settings, config.at("mutation"), "mutation");
    const nlohmann::json network(config.at("network"));
    settings.rules = network_rules(network);
    settings.formats = network_formats(network).settled();
    settings.layers =
        new_layers(config.at("mutation").at("layers"), "mutation.layers", settings.rules);
    return settings;
}

/// Throws ConfigError where nobody would be born on an island.
void check_births(const Json& config, const evolve::PopulationSettings& settings,
                  std::uint64_t islands) {
    // Members stay there without a birth.
    if (config.at("steady_state").at("window") > 0) return;
    // Elsewhere elites are parents alone, or as many as leave room for a child.
    const bool carries = config.at("strategy").at("type") == "elite";
    if ((!carries && settings.size > 1) || evolve::elite_count(settings) < settings.size) return;
    const std::string fraction =
        carries ? fmt::format(" with population.elite_fraction {}", settings.elite_fraction) : "";
    throw ConfigError(fmt::format(
        "population.size {}{}{} carries every individual over (no child would ever be born) use a "
        "larger population{}{}",
        settings.size, islands > 1 ? " of an island" : "", fraction,
        settings.size > 1 ? " or a smaller fraction" : "", islands > 1 ? " or fewer islands" : ""));
}

/// Settings of a section with those of an island in their place.
template <class Settings>
Settings on_island(const Settings& common, const Json& island, const char* name,
                   const std::string& path, const std::vector<std::string_view>& others = {}) {
    Settings own = common;
    if (const auto found = island.find(name); found != island.end())
        field_json::read_fields(own, nlohmann::json(*found), json_read::member(path, name), others);
    return own;
}

void read_islands(const ResolvedConfig& config, distributed::Experiment& experiment) {
    const Json& json = *config.effective;
    experiment.islands = section<evolve::IslandSettings>(json, "islands", {"overrides"});
    for (const std::uint64_t size :
         evolve::island_sizes(experiment.islands, experiment.population.size))
        check_births(json, {size, experiment.population.elite_fraction}, experiment.islands.count);
    const Json& overrides = json.at("islands").at("overrides");
    if (overrides.empty()) return;
    if (overrides.size() != experiment.islands.count)
        throw ConfigError(fmt::format(
            "{}: islands.overrides has {} entries (islands.count is {}) give each island one, {{}} "
            "for an island like all",
            config.origins.of("islands.overrides"), overrides.size(), experiment.islands.count));
    for (std::size_t i = 0; i < overrides.size(); ++i) {
        const std::string path = fmt::format("islands.overrides[{}]", i);
        evolve::IslandVariation& island = experiment.variation.islands.emplace_back();
        island.mutation = on_island(experiment.variation.mutation, overrides[i], "mutation", path,
                                    other_mutation_keys(experiment.variation.mutation));
        island.splice = on_island(experiment.variation.splice, overrides[i], "splice", path);
        const auto own = overrides[i].find("mutation");
        if (own == overrides[i].end()) continue;
        const std::string place = path + ".mutation";
        read_custom_rates(island.mutation, *own, place);
        if (own->contains("layer_insert_rate"))
            island.mutation.layer_insert_rate = insertion_rate(*own, place, experiment);
        if (own->contains("layers"))
            island.mutation.layers = new_layers(
                own->at("layers"), json_read::member(place, "layers"), island.mutation.rules);
    }
}

/// Says when the task changes, and what.
void note_changes(distributed::Experiment& experiment) {
    std::string text;
    for (const evolve::TaskChange& change : experiment.changes)
        text +=
            fmt::format("{} generation {}: {}", text.empty() ? "" : ";", change.at, change.text);
    if (text.empty()) return;
    experiment.notes.push_back("the task changes, from" + text);
    for (const evolve::TaskChange& change : experiment.changes)
        for (const std::string& note : change.task->notes()) {
            const std::vector<std::string> first = experiment.task->notes();
            if (std::ranges::find(first, note) == first.end())
                experiment.notes.push_back(fmt::format("from generation {}: {}", change.at, note));
        }
    const std::uint64_t last = experiment.changes.back().at;
    if (last >= experiment.stop.generations)
        experiment.notes.push_back(fmt::format(
            "the task never comes to its last change, at generation {}: run.stop.generations is {}",
            last, experiment.stop.generations));
}

/// Says where a steady state ends before anybody has a child.
void note_founders(distributed::Experiment& experiment) {
    const evolve::SteadyStateSettings& steady = experiment.steady_state;
    if (!steady.on()) return;
    const std::uint64_t all = experiment.population.size;
    const std::uint64_t blocks = experiment.stop.generations;
    const std::uint64_t told = steady.window / steady.block;
    for (const std::uint64_t size : evolve::island_sizes(experiment.islands, all)) {
        // The largest part of a block that an island gets.
        const std::uint64_t births = (steady.block * size - 1) / all + 1;
        if (blocks > std::max(size / births, told)) return;
    }
    experiment.notes.push_back(
        fmt::format("the run ends before its first child: run.stop.generations is {}, counted in "
                    "blocks of {} births (steady_state.block), and the first {} births are "
                    "founders (population.size{})",
                    blocks, steady.block, std::max(all, steady.window),
                    steady.window > all ? ", steady_state.window" : ""));
}

evolve::LearningSettings learning_settings(const Json& config) {
    auto settings =
        section<evolve::LearningSettings>(config, "learning", {"optimizer", "clip_norm"});
    const nlohmann::json plain(config.at("learning"));
    settings.optimizer = optimizer_from_json(plain.at("optimizer"), "learning.optimizer");
    if (plain.at("clip_norm") != 0.0)
        field_json::read(settings.clip_norm.emplace(), plain.at("clip_norm"), "learning.clip_norm",
                         largest_norms);
    return settings;
}

/// The settings of the kind of genome of an island: those of all, and its own in their place.
Json genome_of_island(const Json& config, const Json& overrides, const std::string& path) {
    Json settings = config.at("genome");
    const auto own = overrides.find("genome");
    if (own == overrides.end()) return settings;
    if (own->contains("substrate"))
        throw ConfigError(fmt::format(
            "{}.genome.substrate is set (the genotypes that islands exchange become the same "
            "network everywhere) leave it out, and set genome.substrate",
            path));
    settings.merge_patch(*own);
    if (settings.at("type") != config.at("genome").at("type"))
        throw ConfigError(fmt::format(
            "{}.genome.type is {} (genome.type is {}: islands exchange genomes) leave it out", path,
            settings.at("type").dump(), config.at("genome").at("type").dump()));
    return settings;
}

/// The kind of genome of a run, and of each island.
void make_kinds(const ResolvedConfig& config, const evolve::GenomeRegistry& genomes,
                distributed::Experiment& experiment) {
    const Json& json = *config.effective;
    evolve::VariationSettings& variation = experiment.variation;
    const evolve::TaskSignature task = experiment.task->signature();
    variation.kind = from(config.origins, "genome", [&] {
        return genomes.make(nlohmann::json(json.at("genome")),
                            {variation.mutation, variation.splice, variation.limits,
                             variation.complexity, task.observations, task.outputs});
    });
    for (std::size_t i = 0; i < variation.islands.size(); ++i) {
        const std::string path = fmt::format("islands.overrides[{}]", i);
        evolve::IslandVariation& island = variation.islands[i];
        island.kind = from(config.origins, "islands", [&] {
            return genomes.make(nlohmann::json(genome_of_island(
                                    json, json.at("islands").at("overrides").at(i), path)),
                                {island.mutation, island.splice, variation.limits,
                                 variation.complexity, task.observations, task.outputs});
        });
    }
}

distributed::DistributionSettings distribution_settings(const Json& config) {
    auto result = section<distributed::DistributionSettings>(config, "distributed",
                                                             {"shard_size", "start_seconds"});
    if (const Json& size = config.at("distributed").at("shard_size"); size.is_number())
        result.shard_size = size.get<std::uint64_t>();
    read_key(result.mixed, config, "engine", "mixed");
    return result;
}

/// Where relative data paths start: run.base_directory, itself relative to the config.
fs::path base_directory(const Json& config, const fs::path& config_directory) {
    const fs::path chosen = config.at("run").at("base_directory").get<std::string>();
    const fs::path start = fs::absolute(config_directory);
    fs::path base = (chosen.empty() ? start : start / chosen).lexically_normal();
    require_utf8(base, "data paths start at",
                 "set run.base_directory to a folder with another name, or rename it");
    return base;
}

evolve::PopulationSettings population_settings(const Json& config) {
    const auto settings = section<evolve::PopulationSettings>(config, "population", {"reevaluate"});
    check_births(config, settings, 1);
    return settings;
}

/// Settings of islands for the genome are of the type of all, unless they name one.
Json with_island_types(Json config) {
    const nlohmann::ordered_json::json_pointer type("/genome/type");
    const nlohmann::ordered_json::json_pointer overrides("/islands/overrides");
    if (!config.contains(type) || !config.contains(overrides) || !config[overrides].is_array())
        return config;
    for (Json& island : config[overrides])
        if (island.is_object() && island.contains("genome") && island["genome"].is_object() &&
            !island["genome"].contains("type"))
            island["genome"]["type"] = config[type];
    return config;
}

/// Without any criterion the steady state, too, has the births of so many generations.
/// @param given what the config says.
void count_default_stop_in_blocks(const Json& given, Json& complete) {
    const Json run = given.value("run", Json::object());
    const Json& steady = complete.at("steady_state");
    if (steady.at("window") == 0 || !run.value("stop", Json::object()).empty()) return;
    Json& generations = complete.at("run").at("stop").at("generations");
    const std::uint64_t births = generations.get<std::uint64_t>() *
                                 complete.at("population").at("size").get<std::uint64_t>();
    generations = (births - 1) / steady.at("block").get<std::uint64_t>() + 1;
}

}  // namespace

ResolvedConfig resolve(const ConfigDocument& document, const Schema& schema,
                       const Environment& environment) {
    const Json json = with_island_types(*document.json);
    const Json effective = expanded(json, seed_of(json), environment, document.origins);
    try {
        validate(schema, effective, document.origins);
    } catch (const ConfigError& error) {
        if (!schema.plugins().empty() || !names_plugins(effective)) throw;
        throw ConfigError(without_plugin(error.what()));
    }

    Json complete = with_defaults(schema, effective);
    Json written = with_defaults(schema, json);
    count_default_stop_in_blocks(json, complete);
    count_default_stop_in_blocks(json, written);
    complete["run"]["directory"] = run_directory(complete, schema, document.origins);
    const fs::path base = base_directory(complete, document.base_directory);
    complete["run"]["base_directory"] = base.string();
    written["run"]["directory"] = complete["run"]["directory"];
    written["run"]["base_directory"] = unexpanded(base.string());
    std::vector<ChangedTask> changes = changed_tasks(schema, complete, document.origins);
    return {std::make_shared<const Json>(std::move(written)),
            std::make_shared<const Json>(std::move(complete)),
            base,
            document.origins,
            {},
            std::move(changes)};
}

namespace {

std::shared_ptr<const evolve::Task> make_one_task(const ResolvedConfig& config,
                                                  const Json& settings, const Origins& origins,
                                                  const evolve::TaskRegistry& tasks) {
    return from(origins, "task", [&] {
        const evolve::TaskContext context{.base_directory = config.base_directory.string(),
                                          .warn = [](const std::string& text) {
                                              std::cerr << "cambrian: warning: " + text + '\n';
                                          }};
        return std::shared_ptr<const evolve::Task>(tasks.make(nlohmann::json(settings), context));
    });
}

}  // namespace

std::shared_ptr<const evolve::Task> make_task(const ResolvedConfig& config,
                                              const evolve::TaskRegistry& tasks) {
    return make_one_task(config, evolve::first_task(config.effective->at("task")), config.origins,
                         tasks);
}

std::shared_ptr<const evolve::Task> make_whole_task(const ResolvedConfig& config,
                                                    const evolve::TaskRegistry& tasks) {
    std::shared_ptr<const evolve::Task> task = make_task(config, tasks);
    if (std::shared_ptr<const evolve::Task> whole = task->whole()) return whole;
    return task;
}

evolve::TaskSchedule make_tasks(const ResolvedConfig& config, const evolve::TaskRegistry& tasks) {
    evolve::TaskSchedule schedule(make_task(config, tasks));
    for (std::size_t i = 0; i < config.changes.size(); ++i) {
        const ChangedTask& change = config.changes[i];
        schedule.changes.push_back(
            {change.at,
             make_one_task(config, *change.settings, origins_of_change(config.origins, i), tasks),
             change.other});
    }
    return schedule;
}

void check_plugins(const Json& config, const std::vector<evolve::PluginIdentity>& loaded) {
    if (config.at("engine").at("plugins").empty() || !loaded.empty()) return;
    throw ConfigError(
        "engine.plugins is set (this program has loaded no plug-in) run it by 'cambrian', or load "
        "them by evolve::load_plugin");
}

distributed::Experiment make_experiment(const ResolvedConfig& config, const Schema& schema,
                                        const evolve::TaskRegistry& tasks,
                                        const evolve::StrategyRegistry& strategies,
                                        const evolve::GenomeRegistry& genomes) {
    evolve::TaskSchedule schedule = make_tasks(config, tasks);
    Founder founder = make_founder(config, *schedule.first);
    return make_experiment(config, schema, std::move(schedule), std::move(founder), Purpose::evolve,
                           strategies, genomes);
}

distributed::Experiment make_experiment(const ResolvedConfig& config, const Schema& schema,
                                        evolve::TaskSchedule tasks, Founder founder,
                                        Purpose purpose, const evolve::StrategyRegistry& strategies,
                                        const evolve::GenomeRegistry& genomes) {
    const Json& json = *config.effective;
    distributed::Experiment experiment;
    experiment.strategies = strategies;
    experiment.strategy = json.at("strategy").at("type").get<std::string>();
    experiment.genome = json.at("genome").at("type").get<std::string>();
    const Json& run = json.at("run");
    experiment.name = run.at("name").get<std::string>();
    experiment.directory = run.at("directory").get<std::string>();
    experiment.seed = run.at("seed").get<std::uint64_t>();
    experiment.stop = stop_settings(run.at("stop"), purpose);
    experiment.population = population_settings(json);
    read_key(experiment.reevaluate, json, "population", "reevaluate");

    experiment.task = std::move(tasks.first);
    experiment.changes = std::move(tasks.changes);
    experiment.variation.founder = std::move(founder.blueprint);
    experiment.variation.initial = std::move(founder.initial);
    experiment.variation.limits.time = experiment.task->signature().time;
    experiment.variation.mutation = mutation_settings(json, genomes.mutations());
    experiment.plugins = genomes.plugins();
    check_plugins(json, experiment.plugins);
    experiment.variation.mutation.layer_insert_rate =
        insertion_rate(json.at("mutation"), "mutation", experiment);
    experiment.notes.insert(experiment.notes.end(), founder.notes.begin(), founder.notes.end());
    for (std::string& note : vain_settings(config, schema, experiment.variation))
        experiment.notes.push_back(std::move(note));
    if (const auto& initial = experiment.variation.initial;
        initial && initial->genomes.size() > experiment.population.size)
        experiment.notes.push_back(
            fmt::format("network.initial has {} networks, of which the first {} are founders: "
                        "population.size is no larger",
                        initial->genomes.size(), experiment.population.size));
    experiment.variation.splice = section<evolve::SpliceSettings>(json, "splice");
    experiment.steady_state = section<evolve::SteadyStateSettings>(json, "steady_state");
    experiment.selection = section<evolve::SelectionSettings>(json, "selection");
    experiment.age_layers = section<evolve::AgeLayerSettings>(json, "age_layers");
    experiment.species = section<evolve::SpeciesSettings>(json, "species");
    experiment.variation.complexity = section<evolve::ComplexitySettings>(json, "complexity");
    read_islands(config, experiment);
    if (std::optional<std::string> note = vain_insertion(config, experiment))
        experiment.notes.push_back(*std::move(note));
    for (std::string& note : vain_fields(config, experiment))
        experiment.notes.push_back(std::move(note));
    make_kinds(config, genomes, experiment);
    check_genotypes(config, founder.of_runs, experiment.variation.kind.get());
    if (!develops(experiment.variation))
        check_initial_fits(config, *experiment.task, experiment.variation.initial);
    from(config.origins, "task", [&] { distributed::check_preparations(experiment); });
    if (purpose == Purpose::evolve) {
        from(config.origins, "task", [&] { distributed::check_changes(experiment); });
        note_changes(experiment);
        distributed::check_stop(experiment);
        static_cast<void>(distributed::make_strategy(experiment));
        note_founders(experiment);
        evolve::check_complexity(experiment.variation);
        // Refuses a network that no genome of the kind holds.
        from(config.origins, "genome",
             [&] { return evolve::Variation(experiment.seed, experiment.variation); });
    }
    read_key(experiment.family, json, "engine", "family");
    if (const Json& task_section = json.at("task"); task_section.contains("validation"))
        experiment.validation.every = task_section["validation"].at("every").get<std::uint64_t>();
    experiment.distribution = distribution_settings(json);
    experiment.learning = learning_settings(json);
    if (purpose == Purpose::evolve) distributed::check_learning(experiment);
    experiment.checkpoint = section<distributed::CheckpointSettings>(json, "checkpoint");
    experiment.log = section<distributed::LogSettings>(json, "log");
    experiment.identity_json = identity_text(schema, *config.written);
    experiment.resolved_json = config.written->dump(2);
    return experiment;
}

}  // namespace cambrian::launch

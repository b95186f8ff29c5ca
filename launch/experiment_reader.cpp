#include "cambrian/launch/experiment_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "cambrian/distributed/network_file.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/directory_template.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// The choice that a config names; the schema allows no other.
template <class Choice, std::size_t count>
Choice choice(const Json& text, const std::array<std::string_view, count>& names) {
    const auto found = std::find(names.begin(), names.end(), text.get<std::string>());
    CAMBRIAN_ASSERT(found != names.end());
    return static_cast<Choice>(found - names.begin());
}

/// The key that an error of a part begins with, else the section of the part.
std::string_view key_of(std::string_view text, std::string_view section) {
    const std::string_view first = text.substr(0, text.find_first_of(" :"));
    return first.starts_with(section) ? first : section;
}

/// Repeats an error of a part with the place in the config it comes from.
template <class Body>
auto from(const Origins& origins, const char* section, const Body& body) {
    try {
        return body();
    } catch (const ConfigError& error) {
        throw ConfigError(
            fmt::format("{}: {}", origins.of(key_of(error.what(), section)), error.what()));
    } catch (const ShapeError& error) {
        throw ShapeError(fmt::format("{}: {}", origins.of(section), error.what()));
    }
}

distributed::StopSettings stop_settings(const Json& json) {
    distributed::StopSettings stop;
    stop.generations = json.value("generations", stop.generations);
    stop.fitness = json.value("fitness", stop.fitness);
    stop.evaluations = json.value("evaluations", stop.evaluations);
    stop.seconds = json.value("seconds", stop.seconds);
    return stop;
}

evolve::MutationSettings mutation_settings(const Json& json) {
    const auto rate = [&](const char* key) { return json.at(key).get<float>(); };
    evolve::MutationSettings mutation;
    mutation.weight_rate = rate("weight_rate");
    mutation.weight_power = rate("weight_power");
    mutation.weight_replace_rate = rate("weight_replace_rate");
    mutation.activation_rate = rate("activation_rate");
    mutation.layer_type_rate = rate("layer_type_rate");
    mutation.layer_insert_rate = rate("layer_insert_rate");
    mutation.layer_toggle_rate = rate("layer_toggle_rate");
    mutation.link_add_rate = rate("link_add_rate");
    mutation.link_drop_rate = rate("link_drop_rate");
    mutation.layer_types = json.at("layer_types").get<std::vector<std::string>>();
    mutation.activations.clear();
    for (const Json& activation : json.at("activations"))
        mutation.activations.push_back(choice<Activation>(activation, activation_names));
    return mutation;
}

evolve::SpliceSettings splice_settings(const Json& json) {
    static constexpr std::array<std::string_view, 3> modes{"blend", "point", "uniform"};
    return {json.at("rate").get<float>(), choice<evolve::SpliceMode>(json.at("mode"), modes),
            json.at("alpha").get<float>(), json.at("split").get<float>()};
}

distributed::DistributionSettings distribution_settings(const Json& config) {
    static constexpr std::array<std::string_view, 2> exchanges{"births", "genomes"};
    const Json& json = config.at("distributed");
    distributed::DistributionSettings result;
    result.exchange = choice<distributed::Exchange>(json.at("exchange"), exchanges);
    if (json.at("shard_size").is_number())
        result.shard_size = json.at("shard_size").get<std::uint64_t>();
    result.lease_seconds = json.at("lease_seconds").get<double>();
    result.mixed = config.at("engine").at("mixed").get<bool>();
    return result;
}

Blueprint founder(const Json& network, const evolve::TaskSignature& task, const fs::path& base) {
    const std::string initial = network.at("initial").get<std::string>();
    if (!initial.empty() && network.contains("build"))
        throw ConfigError(
            "network.initial is given beside network.build (both say what the network is) keep one "
            "of the two");
    if (!initial.empty()) return distributed::read_network(base / initial).genome.blueprint;
    nlohmann::json structure;
    for (const char* key : {"layers", "grid", "links", "input", "mode", "build"})
        if (network.contains(key)) structure[key] = nlohmann::json(network[key]);
    return blueprint_from_json(structure, task.observations, task.outputs, task.time);
}

/// Where relative data paths start: run.base_directory, itself relative to the config.
fs::path base_directory(const Json& config, const fs::path& config_directory) {
    const fs::path chosen = config.at("run").at("base_directory").get<std::string>();
    const fs::path start = fs::absolute(config_directory);
    return (chosen.empty() ? start : start / chosen).lexically_normal();
}

evolve::PopulationSettings population_settings(const Json& population) {
    const evolve::PopulationSettings settings{population.at("size").get<std::uint64_t>(),
                                              population.at("elite_fraction").get<double>()};
    if (evolve::elite_count(settings) == settings.size)
        throw ConfigError(
            fmt::format("population.size {} with population.elite_fraction {} carries every "
                        "individual over (no child would ever be born) use a larger population{}",
                        settings.size, settings.elite_fraction,
                        settings.size > 1 ? " or a smaller fraction" : ""));
    return settings;
}

void flatten(const Json& value, const std::string& path, std::map<std::string, std::string>& flat) {
    if (!value.is_object() || value.empty()) {
        flat[path] = value.dump();
        return;
    }
    for (const auto& [name, child] : value.items())
        flatten(child, path.empty() ? name : path + "." + name, flat);
}

/// Class of a key; what the schema does not know belongs to a task of the user's own.
std::string class_of(const std::vector<SchemaKey>& keys, const Schema& schema,
                     const std::string& key) {
    for (const SchemaKey& known : keys)
        if (known.key == key) return schema.resolve(*known.node).value("x-class", "identity");
    return "identity";
}

[[noreturn]] void refuse(const Difference& change, const std::string& what) {
    throw ConfigError(
        fmt::format("{} cannot change from {} to {} ({}) keep it, or start another "
                    "run in another directory",
                    change.key, change.before, change.after, what));
}

Json read_run_config(const fs::path& path) {
    return *read_config(path, {}).json;
}

}  // namespace

ResolvedConfig resolve(const ConfigDocument& document, const Schema& schema,
                       const Environment& environment) {
    const Json& json = *document.json;
    std::uint64_t seed = 1;
    if (json.contains("run") && json["run"].is_object() && json["run"].contains("seed") &&
        json["run"]["seed"].is_number_integer())
        seed = json["run"]["seed"].get<std::uint64_t>();
    const Json effective = expanded(json, seed, environment, document.origins);
    validate(schema, effective, document.origins);

    Json complete = with_defaults(schema, effective);
    Json written = with_defaults(schema, json);
    complete["run"]["directory"] = run_directory(complete, schema, document.origins);
    const fs::path base = base_directory(complete, document.base_directory);
    complete["run"]["base_directory"] = base.string();
    written["run"]["directory"] = complete["run"]["directory"];
    written["run"]["base_directory"] = base.string();
    return {std::make_shared<const Json>(std::move(written)),
            std::make_shared<const Json>(std::move(complete)), base, document.origins};
}

std::shared_ptr<const evolve::Task> make_task(const ResolvedConfig& config,
                                              const evolve::TaskRegistry& tasks) {
    return from(config.origins, "task", [&] {
        return std::shared_ptr<const evolve::Task>(tasks.make(
            nlohmann::json(config.effective->at("task")), {config.base_directory.string()}));
    });
}

Blueprint make_founder(const ResolvedConfig& config, const evolve::Task& task) {
    return from(config.origins, "network", [&] {
        Blueprint blueprint =
            founder(config.effective->at("network"), task.signature(), config.base_directory);
        evolve::check_task_fits(task, blueprint);
        return blueprint;
    });
}

distributed::Experiment make_experiment(const ResolvedConfig& config, const Schema& schema,
                                        const evolve::TaskRegistry& tasks) {
    static constexpr std::array<std::string_view, 3> reevaluations{"auto", "always", "never"};
    static constexpr std::array<std::string_view, 3> families{"auto", "graph", "interpreted"};
    const Json& json = *config.effective;
    distributed::Experiment experiment;
    const Json& run = json.at("run");
    experiment.name = run.at("name").get<std::string>();
    experiment.directory = run.at("directory").get<std::string>();
    experiment.seed = run.at("seed").get<std::uint64_t>();
    experiment.stop = stop_settings(run.at("stop"));
    const Json& population = json.at("population");
    experiment.population = population_settings(population);
    experiment.reevaluate =
        choice<distributed::Reevaluate>(population.at("reevaluate"), reevaluations);

    experiment.task = make_task(config, tasks);
    const evolve::TaskSignature signature = experiment.task->signature();
    experiment.variation.founder = make_founder(config, *experiment.task);
    experiment.variation.limits.time = signature.time;
    experiment.variation.mutation = mutation_settings(json.at("mutation"));
    experiment.variation.splice = splice_settings(json.at("splice"));
    experiment.family = choice<evolve::FamilyChoice>(json.at("engine").at("family"), families);

    const Json validation = json.at("task").value("validation", Json::object());
    experiment.validation.every = validation.value("every", experiment.validation.every);
    experiment.distribution = distribution_settings(json);
    const Json& checkpoint = json.at("checkpoint");
    experiment.checkpoint = {checkpoint.at("every").get<std::uint64_t>(),
                             checkpoint.at("seconds").get<double>(),
                             checkpoint.at("keep").get<std::uint64_t>()};
    experiment.identity_json =
        nlohmann::json(keys_of_class(schema, *config.written, "identity")).dump();
    experiment.resolved_json = config.written->dump(2);
    return experiment;
}

std::vector<Difference> differences(const Schema& schema, const Json& before, const Json& after) {
    std::map<std::string, std::string> old_keys;
    std::map<std::string, std::string> new_keys;
    flatten(before, "", old_keys);
    flatten(after, "", new_keys);
    const std::vector<SchemaKey> known = schema.all_keys();
    std::map<std::string, Difference> found;
    const auto text = [](const auto& keys, const std::string& key) {
        const auto entry = keys.find(key);
        return entry == keys.end() ? std::string("absent") : entry->second;
    };
    for (const auto* keys : {&old_keys, &new_keys})
        for (const auto& [key, value] : *keys)
            if (text(old_keys, key) != text(new_keys, key))
                found[key] = {key, class_of(known, schema, key), text(old_keys, key),
                              text(new_keys, key)};
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
    Json before = read_run_config(path);
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
    const fs::path path = directory / "config.json";
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return;
    const Json then = with_defaults(schema, read_run_config(path));
    for (const Difference& change : differences(schema, then, *now.written))
        if (change.key_class == "identity")
            refuse(change, fmt::format("{} holds a run with another setting", directory.string()));
}

}  // namespace cambrian::launch

#include "cambrian/launch/config/training_reader.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/launch/config/network_reader.hpp"

namespace cambrian::launch {
namespace {

// What only evolution reads.
constexpr std::array evolution{"population", "strategy",    "steady_state", "selection", "species",
                               "age_layers", "islands",     "learning",     "splice",    "mutation",
                               "genome",     "distributed", "checkpoint",   "complexity"};

/// Those of them that a config holds.
std::vector<std::string> evolution_in(const Json& json) {
    std::vector<std::string> found;
    if (!json.is_object()) return found;
    for (const char* section : evolution)
        if (json.contains(section)) found.emplace_back(section);
    if (json.contains("run") && json["run"].is_object() && json["run"].contains("stop"))
        found.emplace_back("run.stop");
    if (json.contains("log") && json["log"].is_object() && json["log"].contains("individuals"))
        found.emplace_back("log.individuals");
    return found;
}

template <class Remove>
ResolvedConfig without(ResolvedConfig config, std::vector<std::string> ignored,
                       const Remove& remove) {
    for (std::shared_ptr<const Json>* part : {&config.written, &config.effective}) {
        Json json = **part;
        remove(json);
        *part = std::make_shared<const Json>(std::move(json));
    }
    config.ignored = std::move(ignored);
    return config;
}

ResolvedConfig without_evolution(ResolvedConfig config, std::vector<std::string> ignored) {
    return without(std::move(config), std::move(ignored), [](Json& json) {
        for (const char* section : evolution) json.erase(section);
        json["run"].erase("stop");
        json["log"].erase("individuals");
    });
}

/// A list of rates says how many individuals there are.
void fit_individuals(Json& training) {
    if (!training.is_object() || training.contains("individuals")) return;
    const auto rates = training.find("learning_rate");
    if (rates != training.end() && rates->is_array()) training["individuals"] = rates->size();
}

/// One rate for each individual.
std::vector<double> learning_rates(const Json& training) {
    const Json& rates = training.at("learning_rate");
    const auto individuals = training.at("individuals").get<std::size_t>();
    if (rates.is_number()) return std::vector<double>(individuals, rates.get<double>());
    if (individuals != rates.size())
        throw ConfigError(fmt::format(
            "training.individuals is {} (training.learning_rate lists {}) leave it out, or list as "
            "many rates",
            individuals, rates.size()));
    return rates.get<std::vector<double>>();
}

TrainingSettings settings_of(const Json& config, const Network& network, const Loss& loss) {
    const Json& training = config.at("training");
    const nlohmann::json plain(training);
    if (training.contains("targets") && !training.contains("method"))
        throw ConfigError(
            "training.targets is set (training.method is left out, and the gradient has no "
            "targets) add a method, or leave it out");
    TrainingSettings settings;
    static constexpr std::array<std::string_view, 6> others{
        "individuals", "learning_rate", "optimizer", "schedule", "clip_norm", "observe"};
    field_json::read_fields(settings, plain, "training", others);
    settings.loss = loss;
    settings.optimizer = optimizer_from_json(plain.at("optimizer"), "training.optimizer");
    settings.schedule = schedule_from_json(plain.at("schedule"), "training.schedule");
    settings.learning_rates = learning_rates(training);
    if (const double norm = training.at("clip_norm").get<double>(); norm > 0.0)
        settings.clip_norm = norm;
    settings.seed = config.at("run").at("seed").get<std::uint64_t>();
    check(settings);
    static_cast<void>(frozen_ranges(network, settings.frozen));
    return settings;
}

/// What a config of a training sets that nothing reads, since another key says so.
std::vector<std::string> vain_keys(const Json& task, const TrainingSettings& settings) {
    std::vector<std::string> notes;
    const auto note = [&](bool vain, std::string_view key, std::string_view why) {
        if (vain) notes.push_back(fmt::format("{} does nothing: {}", key, why));
    };
    const EarlyStop& stop = settings.early_stop;
    note(stop.min_change > 0.0 && stop.patience == 0, "training.early_stop.least_change",
         "training.early_stop.patience is 0");
    note(!settings.undecayed.empty() && weight_decay(settings.optimizer) == 0.0,
         "training.undecayed", "training.optimizer.weight_decay is 0");
    const TargetSettings& targets = settings.targets;
    const TargetSettings usual;
    const bool chain_rule = settings.method == TrainingMethod::target_propagation;
    const auto note_inverses = [&](bool changed, std::string_view key) {
        note(chain_rule && changed, key, "training.method is \"target_propagation\"");
    };
    note_inverses(targets.inverse_learning_rate != usual.inverse_learning_rate,
                  "training.targets.inverse_learning_rate");
    note_inverses(targets.inverse_noise != usual.inverse_noise, "training.targets.inverse_noise");
    note_inverses(targets.inverse_activation != usual.inverse_activation,
                  "training.targets.inverse_activation");
    const auto drawn = task.find("rows_per_evaluation");
    note(drawn != task.end() && *drawn > Json(0), "task.rows_per_evaluation",
         "a training sees all rows in each epoch");
    return notes;
}

distributed::WatchSettings watch_of(const Json& observe) {
    static constexpr std::array<std::string_view, 1> others{"to"};
    distributed::WatchSettings settings;
    field_json::read_fields(settings, nlohmann::json(observe), "training.observe", others);
    const auto to = observe.at("to").get<std::string>();
    settings.to_file = to == "file";
    if (!settings.to_file && to != "console")
        settings.to_address = distributed::read_loopback_address(to, "training.observe.to");
    return settings;
}

}  // namespace

void refuse_overrides_of_evolution(const ConfigDocument& document) {
    for (const std::string& key : evolution_in(*document.json))
        if (const std::string origin = document.origins.override_of(key); !origin.empty())
            throw ConfigError(fmt::format(
                "{}: {} is a key of evolution ('cambrian train' does not read it) remove it, or "
                "use 'cambrian evolve'",
                origin, key));
}

void refuse_overrides_of_training(const Origins& origins) {
    if (const std::string origin = origins.override_of("training"); !origin.empty())
        throw ConfigError(fmt::format(
            "{}: training is a section of 'cambrian train' (evolution changes weights by "
            "mutation) remove it, or use 'cambrian train'",
            origin));
}

ResolvedConfig resolve_training(const ConfigDocument& document, const Schema& schema,
                                const Environment& environment) {
    ConfigDocument complete = document;
    Json json = *document.json;
    if (!json.contains("training")) json["training"] = Json::object();
    fit_individuals(json["training"]);
    complete.json = std::make_shared<const Json>(std::move(json));
    return without_evolution(resolve(complete, schema, environment), evolution_in(*document.json));
}

ResolvedConfig resolve_evolution(const ConfigDocument& document, const Schema& schema,
                                 const Environment& environment) {
    std::vector<std::string> ignored;
    if (holds_training(document)) ignored.emplace_back("training");
    return without(resolve(document, schema, environment), std::move(ignored),
                   [](Json& json) { json.erase("training"); });
}

bool holds_training(const ConfigDocument& document) {
    return document.json->is_object() && document.json->contains("training");
}

bool holds_evolution(const ConfigDocument& document) {
    return !evolution_in(*document.json).empty();
}

std::string ignored_text(const ResolvedConfig& config, std::string_view reader) {
    if (config.ignored.empty()) return "";
    return fmt::format("ignored: {} (of 'cambrian {}')\n", fmt::join(config.ignored, ", "), reader);
}

bool holds_training(const std::filesystem::path& directory) {
    const std::optional<ConfigDocument> document = find_run_config(directory);
    return document && holds_training(*document);
}

ResolvedConfig read_resumed_training(const std::filesystem::path& directory,
                                     std::span<const std::string> overrides, const Schema& schema,
                                     std::vector<Difference>& changes) {
    refuse_overrides_of_evolution(read_config(directory / "config.json", overrides));
    return without_evolution(read_resumed(directory, overrides, schema, changes), {});
}

distributed::TrainingJob make_training(const ResolvedConfig& config, const Schema& schema,
                                       const evolve::TaskRegistry& tasks,
                                       const std::filesystem::path& resumed) {
    const Json& json = *config.effective;
    distributed::TrainingJob job;
    job.name = json.at("run").at("name").get<std::string>();
    job.directory = json.at("run").at("directory").get<std::string>();
    if (!config.changes.empty())
        throw ConfigError(fmt::format(
            "{}: task.changes is set (a training has no generations, of which they count from one) "
            "leave it out, or use 'cambrian evolve'",
            config.origins.of("task.changes")));
    job.task = make_whole_task(config, tasks);
    const evolve::Learning* learning = job.task->learning();
    if (learning == nullptr)
        throw ConfigError(fmt::format(
            "{}: task {} cannot be trained by gradient (it has no samples with answers) use task "
            "\"dataset\" or \"table\", or 'cambrian evolve'",
            config.origins.of("task"), job.task->type()));
    from(config.origins, "task", [&] { evolve::check_preparation(*job.task); });
    Founder founder = make_founder(
        config, *job.task, resumed.empty() ? IdleFormats::refused : IdleFormats::kept, resumed);
    job.blueprint = std::move(founder.blueprint);
    job.initial = std::move(founder.initial);
    check_genotypes(config, founder.of_runs, nullptr);
    check_initial_fits(config, *job.task, job.initial);
    if (job.initial && job.initial->genomes.size() > 1)
        throw ConfigError(fmt::format(
            "network.initial names {} networks (cambrian train starts from one) name one of them",
            job.initial->genomes.size()));
    job.notes = std::move(founder.notes);
    const Network network(job.blueprint);
    job.settings = settings_of(json, network, learning->loss);
    static_cast<void>(decaying_ranges(network, job.settings.undecayed));
    for (std::string& note : vain_keys(json.at("task"), job.settings))
        job.notes.push_back(std::move(note));
    if (job.keeps_weights()) job.settings.initial_weights = job.initial->genomes.front().weights;
    job.mixed = json.at("engine").at("mixed").get<bool>();
    job.watch = watch_of(json.at("training").at("observe"));
    job.tensorboard = json.at("log").at("tensorboard").get<bool>();
    job.plugins = schema.plugins();
    check_plugins(json, job.plugins);
    job.identity_json = identity_text(schema, *config.written);
    job.resolved_json = config.written->dump(2);
    return job;
}

ResolvedConfig read_resumed_evolution(const std::filesystem::path& directory,
                                      std::span<const std::string> overrides, const Schema& schema,
                                      std::vector<Difference>& changes) {
    if (asked_by_program(directory))
        throw ConfigError(
            fmt::format("the run in {} cannot be resumed from here (a program judges its networks, "
                        "with cambrian.Evolution) go on {}",
                        directory.string(), asking_program));
    ResolvedConfig config = read_resumed(directory, overrides, schema, changes);
    refuse_overrides_of_training(config.origins);
    return config;
}

}  // namespace cambrian::launch

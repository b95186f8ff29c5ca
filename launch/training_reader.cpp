#include "cambrian/launch/training_reader.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {
namespace {

// What only evolution reads.
constexpr std::array<const char*, 5> evolution{"population", "splice", "mutation", "distributed",
                                               "checkpoint"};

void refuse_evolution(const ConfigDocument& document) {
    const Json& json = *document.json;
    const auto refuse = [&](const std::string& key) {
        throw ConfigError(fmt::format(
            "{}: {} is a key of evolution ('cambrian train' does not read it) remove it, or use "
            "'cambrian evolve'",
            document.origins.of(key), key));
    };
    for (const char* section : evolution)
        if (json.contains(section)) refuse(section);
    if (json.contains("run") && json["run"].is_object() && json["run"].contains("stop"))
        refuse("run.stop");
    if (json.contains("log") && json["log"].is_object() && json["log"].contains("individuals"))
        refuse("log.individuals");
}

void remove_evolution(Json& json) {
    for (const char* section : evolution) json.erase(section);
    json["run"].erase("stop");
    json["log"].erase("individuals");
}

ResolvedConfig without_evolution(ResolvedConfig config) {
    for (std::shared_ptr<const Json>* part : {&config.written, &config.effective}) {
        Json json = **part;
        remove_evolution(json);
        *part = std::make_shared<const Json>(std::move(json));
    }
    return config;
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

TrainingSettings settings_of(const Json& config, const Loss& loss) {
    const Json& training = config.at("training");
    const nlohmann::json plain(training);
    TrainingSettings settings;
    settings.epochs = training.at("epochs").get<std::int64_t>();
    settings.batch = training.at("batch").get<std::int64_t>();
    settings.loss = loss;
    settings.optimizer = optimizer_from_json(plain.at("optimizer"), "training.optimizer");
    settings.schedule = schedule_from_json(plain.at("schedule"), "training.schedule");
    settings.learning_rates = learning_rates(training);
    if (const double norm = training.at("clip_norm").get<double>(); norm > 0.0)
        settings.clip_norm = norm;
    const Json& stop = training.at("early_stop");
    settings.early_stop = {stop.at("patience").get<std::int64_t>(),
                           stop.at("least_change").get<double>()};
    settings.seed = config.at("run").at("seed").get<std::uint64_t>();
    check(settings);
    return settings;
}

WatchSettings watch_of(const Json& observe) {
    return {.every = observe.at("every").get<std::int64_t>(),
            .window = observe.at("window").get<std::int64_t>(),
            .to_file = observe.at("to").get<std::string>() == "file"};
}

}  // namespace

ResolvedConfig resolve_training(const ConfigDocument& document, const Schema& schema,
                                const Environment& environment) {
    refuse_evolution(document);
    ConfigDocument complete = document;
    Json json = *document.json;
    if (!json.contains("training")) json["training"] = Json::object();
    fit_individuals(json["training"]);
    complete.json = std::make_shared<const Json>(std::move(json));
    return without_evolution(resolve(complete, schema, environment));
}

bool holds_training(const std::filesystem::path& directory) {
    const std::filesystem::path path = directory / "config.json";
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return false;
    const ConfigDocument document = read_config(path, {});
    return document.json->is_object() && document.json->contains("training");
}

ResolvedConfig read_resumed_training(const std::filesystem::path& directory,
                                     std::span<const std::string> overrides, const Schema& schema,
                                     std::vector<Difference>& changes) {
    refuse_evolution(read_config(directory / "config.json", overrides));
    return without_evolution(read_resumed(directory, overrides, schema, changes));
}

TrainingJob make_training(const ResolvedConfig& config, const Schema& schema,
                          const evolve::TaskRegistry& tasks) {
    const Json& json = *config.effective;
    TrainingJob job;
    job.name = json.at("run").at("name").get<std::string>();
    job.directory = json.at("run").at("directory").get<std::string>();
    job.task = make_task(config, tasks);
    const evolve::Learning* learning = job.task->learning();
    if (learning == nullptr)
        throw ConfigError(fmt::format(
            "{}: task {} cannot be trained by gradient (it has no samples with answers) use task "
            "\"dataset\" or \"table\", or 'cambrian evolve'",
            config.origins.of("task"), job.task->type()));
    job.blueprint = make_founder(config, *job.task);
    job.settings = settings_of(json, learning->loss);
    job.mixed = json.at("engine").at("mixed").get<bool>();
    job.log.interval = json.at("log").at("interval").get<double>();
    job.watch = watch_of(json.at("training").at("observe"));
    job.identity_json = nlohmann::json(keys_of_class(schema, *config.written, "identity")).dump();
    job.resolved_json = config.written->dump(2);
    return job;
}

void refuse_training(const ResolvedConfig& config) {
    if (config.written->contains("training"))
        throw ConfigError(fmt::format(
            "{}: training is a section of 'cambrian train' (evolution changes weights by mutation) "
            "remove it, or use 'cambrian train'",
            config.origins.of("training")));
}

}  // namespace cambrian::launch

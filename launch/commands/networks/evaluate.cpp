#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/analysis/statistics.hpp"
#include "cambrian/evolve/evaluation/answers.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/checkpoint_members.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/evaluation.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/launch/show/evaluation_text.hpp"

namespace cambrian::launch {
namespace {

using evolve::Phase;

Phase chosen_phase(const std::string& text, const evolve::Task& task) {
    const evolve::TaskSignature signature = task.signature();
    if (text.empty()) {
        if (signature.tests) return Phase::test;
        return signature.validates ? Phase::validation : Phase::train;
    }
    const auto solved = task.solved();
    const std::array<std::pair<Phase, bool>, evolve::phase_count> phases{
        {{Phase::train, true},
         {Phase::validation, signature.validates},
         {Phase::test, signature.tests},
         {Phase::champion, solved && solved->phase == Phase::champion}}};
    std::string known;
    for (const auto& [phase, present] : phases) {
        if (!present) continue;
        if (evolve::name(phase) == text) return phase;
        known += (known.empty() ? "" : ", ") + std::string(evolve::name(phase));
    }
    throw ConfigError(fmt::format("--phase is {} (task {} has: {}) choose one of these", text,
                                  task.type(), known));
}

/// @param samples one at least.
std::string sample_line(const std::vector<double>& samples) {
    const evolve::Distribution all = evolve::distribution_of(samples).value();
    return fmt::format(
        "  {} samples: mean {:.6g}, {}from {:.6g} to {:.6g}\n", samples.size(), all.mean,
        all.deviation ? fmt::format("deviation {:.6g}, ", *all.deviation) : std::string(),
        all.least, all.largest);
}

/// Throws ConfigError, which names the network among several.
void check_fits(const evolve::Task& task, const SourceNetwork& network, std::size_t networks) {
    try {
        evolve::check_task_fits(task, network.file.genome.blueprint);
    } catch (const ConfigError& error) {
        if (networks == 1) throw;
        throw ConfigError(network.name + ": " + error.what());
    }
}

/// What a network was evolved for; null where its file does not say.
Json own_task(const SourceNetwork& network) {
    if (network.file.identity_json.empty()) return {};
    return evolve::task_of_generation(distributed::identity_of(network.file).at("task"),
                                      network.file.generation);
}

void warn(const CommandContext& context, const EvaluateOptions& options,
          const std::vector<SourceNetwork>& networks, const evolve::Task& task) {
    std::ostream& out = options.json ? context.err : context.out;
    for (const SourceNetwork& network : networks)
        if (const std::string note = preparation_note({network.name, network.file}, task);
            !note.empty())
            out << "warning: " << note << '\n';
    if (!options.config.empty()) return;
    const Json first = own_task(networks.front());
    for (const SourceNetwork& network : networks)
        if (own_task(network) != first)
            out << fmt::format(
                "warning: the task of {} has other settings, or is not known: all are evaluated on "
                "that of {} (--config names one)\n",
                network.name, networks.front().name);
}

EvaluationSetting setting_of(const CommandContext& context, const EvaluateOptions& options,
                             const std::vector<SourceNetwork>& networks) {
    const SourceNetwork& first = networks.front();
    const Schema schema(context.tasks, context.genomes);
    ResolvedConfig config =
        config_of_network(first.path, first.file, options.config, options.overrides, schema);
    std::shared_ptr<const evolve::Task> task = make_whole_task(config, context.tasks);
    for (const SourceNetwork& network : networks) check_fits(*task, network, networks.size());
    // It starts from nothing here: network.initial may be gone.
    distributed::Experiment experiment =
        make_experiment(config, schema, task, {first.file.genome.blueprint, nullptr, {}},
                        Purpose::evaluate, context.strategies, context.genomes);
    warn(context, options, networks, *task);
    if (options.episodes > 0) {
        task = experiment.task->with_episodes(options.episodes);
        if (!task)
            throw ConfigError(fmt::format("--episodes is {} (task {} has no episodes) leave it out",
                                          options.episodes, experiment.task->type()));
    }
    const Phase phase = chosen_phase(options.phase, *task);
    return {std::move(config), std::move(experiment), std::move(task), phase};
}

void check_weights(const EvaluateOptions& options, std::size_t networks) {
    if (options.weights.empty()) return;
    if (options.ensemble != evolve::ensemble_names[1])
        throw ConfigError(
            "--weights are given (they belong to --ensemble weighted) add that, or leave them out");
    check_ensemble_weights(options.weights, networks);
}

/// What several come to, side by side, or any in JSON.
void print_table(const CommandContext& context, const EvaluateOptions& options,
                 const EvaluationTable& table) {
    if (options.json) {
        context.out << to_json(table).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
        return;
    }
    context.out << table_text(table);
    if (!options.metrics || !table.truth) return;
    std::vector<const EvaluatedNetwork*> all;
    for (const EvaluatedNetwork& network : table.networks) all.push_back(&network);
    if (table.together) all.push_back(&*table.together);
    for (const EvaluatedNetwork* network : all)
        if (network->answers)
            context.out << network->name << '\n' << metrics_text(*table.truth, *network->answers);
}

/// What one comes to.
void print_one(const CommandContext& context, const EvaluateOptions& options,
               const EvaluationSetting& setting, const NetworkEvaluation& evaluation,
               Backend& backend, const std::string& path) {
    const evolve::Task& task = *setting.task;
    const evolve::Evaluation result = evaluation.fitness().front();
    const bool valid = result.status == evolve::Status::ok;
    context.out << fmt::format("{}: task {}, {}: fitness {:.6g}\n", path, task.type(),
                               evolve::name(setting.phase), result.fitness);
    if (!valid)
        context.out << fmt::format("  the fitness is not valid ({})\n",
                                   evolve::name(result.status));
    else if (const auto share = evaluation.accuracy(0))
        context.out << fmt::format(
            "  {}accuracy {:.2f}%\n",
            task.signature().loss ? fmt::format("loss {:.6g}, ", -result.fitness) : std::string(),
            100.0 * *share);
    else if (const auto units = task.loss_units())
        context.out << fmt::format(
            "  loss {:.6g} ({}){}\n", -result.fitness, units->name,
            units->factor ? fmt::format(", {:.6g} scaled", -result.fitness / *units->factor)
                          : std::string());
    if (!result.per_sample.empty()) context.out << sample_line(result.per_sample);
    if (result.env_steps > 0) context.out << fmt::format("  {} steps\n", result.env_steps);
    if (options.metrics && valid) {
        const auto rows = evaluation.rows(setting.phase);
        context.out << metrics_text(evolve::truth_of(*rows), evaluation.answers(*rows).front());
    }
    if (options.profile) context.out << profile_text(backend);
    const auto baselines = task.baselines(setting.phase);
    if (!baselines.empty())
        context.out << fmt::format("  {:<20} {:.6g}\n", "loss", -result.fitness);
    for (const auto& [name, loss] : baselines)
        context.out << fmt::format("  {:<20} {:.6g}\n", name, loss);
}

}  // namespace

int evaluate_command(const CommandContext& context, const EvaluateOptions& options) {
    const std::vector<SourceNetwork> networks =
        read_source_networks(context, options.networks, options.elite);
    require_members(networks.size(), fmt::format("{}", fmt::join(options.networks, ", ")));
    if (options.elite > 0 && std::ranges::none_of(options.networks, is_checkpoint))
        throw ConfigError(
            "--elite is given (no checkpoint and no run is named, of which it would choose) leave "
            "it out");
    check_weights(options, networks.size());
    const EvaluationSetting setting = setting_of(context, options, networks);
    DeviceSettings settings = device_settings(setting.config.effective->at("engine"), RankPlace{});
    require_backend_for(settings, options.dump, options.profile);
    const auto backend = make_backend(settings);
    const NetworkEvaluation evaluation(*backend, setting, networks);
    if (options.metrics && !evaluation.rows(setting.phase))
        throw ConfigError(
            fmt::format("--metrics is given (task {} has no rows with right answers) leave it out",
                        setting.task->type()));
    if (networks.size() == 1 && options.ensemble.empty() && options.pairs == 0 && !options.json) {
        print_one(context, options, setting, evaluation, *backend, networks.front().name);
        return exit_done;
    }
    print_table(context, options, evaluation_table(options, evaluation));
    if (options.profile) (options.json ? context.err : context.out) << profile_text(*backend);
    return exit_done;
}

}  // namespace cambrian::launch

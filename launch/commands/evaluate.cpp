#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"
#include "cambrian/launch/devices/device.hpp"

namespace cambrian::launch {
namespace {

using evolve::Phase;

/// A round that no run reaches, so that its draws are new to every network.
constexpr std::uint64_t unseen_round = std::uint64_t{1} << 40U;

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

double mean_of(const std::vector<double>& samples) {
    double sum = 0.0;
    for (const double sample : samples) sum += sample;
    return sum / static_cast<double>(samples.size());
}

std::string sample_line(const std::vector<double>& samples) {
    const double mean = mean_of(samples);
    double variance = 0.0;
    for (const double sample : samples) variance += (sample - mean) * (sample - mean);
    variance /= static_cast<double>(samples.size());
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    return fmt::format("  {} samples: mean {:.6g}, deviation {:.6g}, from {:.6g} to {:.6g}\n",
                       samples.size(), mean, std::sqrt(variance), *least, *most);
}

}  // namespace

int evaluate_command(const CommandContext& context, const EvaluateOptions& options) {
    const distributed::NetworkFile network = distributed::read_network(options.network);
    const Schema schema(context.tasks, context.genomes);
    const ResolvedConfig config =
        config_of_network(options.network, network, options.config, options.overrides, schema);
    std::shared_ptr<const evolve::Task> task = make_task(config, context.tasks);
    evolve::check_task_fits(*task, network.genome.blueprint);
    // It starts from nothing here: network.initial may be gone.
    const distributed::Experiment experiment =
        make_experiment(config, schema, task, {network.genome.blueprint, nullptr, {}},
                        Purpose::evaluate, context.strategies, context.genomes);
    if (const std::string note = preparation_note({options.network, network}, *task); !note.empty())
        context.out << "warning: " << note << '\n';
    if (options.episodes > 0) {
        task = experiment.task->with_episodes(options.episodes);
        if (!task)
            throw ConfigError(fmt::format("--episodes is {} (task {} has no episodes) leave it out",
                                          options.episodes, experiment.task->type()));
    }
    const Phase phase = chosen_phase(options.phase, *task);
    DeviceSettings settings = device_settings(config.effective->at("engine"), RankPlace{});
    require_backend_for(settings, options.dump, options.profile);
    const auto backend = make_backend(settings);
    evolve::Evaluator evaluator(*backend, *task, experiment.seed,
                                evolve::family_of(experiment.family, experiment.variation));
    const std::array<const evolve::Genome*, 1> genomes{&network.genome};
    const evolve::EvaluationRound round{phase, unseen_round};
    evolve::Evaluation result = evaluator.evaluate(genomes, round).front();
    // A fitness is a mean in 32 bits, as every run has it: too few for this many episodes.
    if (options.episodes > 0 && result.status == evolve::Status::ok && !result.per_sample.empty())
        result.fitness = mean_of(result.per_sample);

    context.out << fmt::format("{}: task {}, {}: fitness {:.6g}\n", options.network, task->type(),
                               evolve::name(phase), result.fitness);
    if (result.status != evolve::Status::ok)
        context.out << fmt::format("  the fitness is not valid ({})\n",
                                   evolve::name(result.status));
    else if (const auto share =
                 evolve::accuracy(*backend, *task, network.genome, experiment.seed, round))
        context.out << fmt::format(
            "  {}accuracy {:.2f}%\n",
            task->signature().loss ? fmt::format("loss {:.6g}, ", -result.fitness) : std::string(),
            100.0 * *share);
    else if (const auto units = task->loss_units())
        context.out << fmt::format(
            "  loss {:.6g} ({}){}\n", -result.fitness, units->name,
            units->factor ? fmt::format(", {:.6g} scaled", -result.fitness / *units->factor)
                          : std::string());
    if (!result.per_sample.empty()) context.out << sample_line(result.per_sample);
    if (result.env_steps > 0) context.out << fmt::format("  {} steps\n", result.env_steps);
    if (options.profile) context.out << profile_text(*backend);
    const auto baselines = task->baselines(phase);
    if (!baselines.empty())
        context.out << fmt::format("  {:<20} {:.6g}\n", "loss", -result.fitness);
    for (const auto& [name, loss] : baselines)
        context.out << fmt::format("  {:<20} {:.6g}\n", name, loss);
    return exit_done;
}

}  // namespace cambrian::launch

#include "cambrian/distributed/experiment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/tensor/tensor_hash.hpp"
#include "cambrian/evolve/tasks/task_tensors.hpp"

namespace cambrian::distributed {

namespace {

Hash128 data_hash(const evolve::Task& task) {
    const evolve::TaskSignature signature = task.signature();
    Hasher hasher;
    const auto solved = task.solved();
    for (const auto& [phase, present] :
         {std::pair{evolve::Phase::train, true},
          {evolve::Phase::validation, signature.validates},
          {evolve::Phase::test, signature.tests},
          {evolve::Phase::champion, solved && solved->phase == evolve::Phase::champion}}) {
        if (!present) {
            continue;
        }
        const auto add = [&](const Tensor& tensor) {
            hasher.add(name(phase)).add(content_hash(tensor));
        };
        // Large data are not copied for it.
        if (const Samples* samples = task.held(phase)) {
            add(samples->inputs);
            add(samples->targets);
            continue;
        }
        for (const Tensor& tensor : evolve::data_of(task, phase)) {
            add(tensor);
        }
    }
    // Scaled rows may be the same ones where a column is in other units.
    if (const auto preparation = task.preparation()) {
        hasher.add(cambrian::hash128(evolve::encode(*preparation)));
    }
    return hasher.hash128();
}

}  // namespace

bool Experiment::reevaluates() const {
    switch (reevaluate) {
        case Reevaluate::always:
            return true;
        case Reevaluate::never:
            return false;
        case Reevaluate::automatic:
            break;
    }
    return task->signature().stochastic ||
           std::ranges::any_of(changes, [](const evolve::TaskChange& change) {
               return change.task->signature().stochastic;
           });
}

bool Experiment::runs_on_host() const {
    return task->signature().host ||
           std::ranges::any_of(changes, [](const evolve::TaskChange& change) {
               return change.task->signature().host;
           });
}

std::vector<std::uint64_t> first_generations(std::span<const evolve::TaskChange> changes) {
    std::vector<std::uint64_t> generations;
    for (const evolve::TaskChange& change : changes) {
        generations.push_back(change.at);
    }
    return generations;
}

void check_changes(const Experiment& experiment) {
    evolve::check_changes(*experiment.task, experiment.changes);
    if (!experiment.changes.empty() && experiment.steady_state.on()) {
        throw ConfigError(
            "task.changes is set and steady_state.window (a member is never evaluated again in the "
            "steady state, and would keep its fitness in a task that has passed) leave one of them "
            "out");
    }
}

void check_preparations(const Experiment& experiment) {
    evolve::check_preparation(*experiment.task);
    for (const evolve::TaskChange& change : experiment.changes) {
        evolve::check_preparation(*change.task);
    }
}

void check_stop(const Experiment& experiment) {
    const evolve::Task& last =
        experiment.changes.empty() ? *experiment.task : *experiment.changes.back().task;
    if (!experiment.stop.solved) {
        return;
    }
    const auto test = last.solved();
    if (!test) {
        throw ConfigError(
            fmt::format("run.stop.solved is true (task {} does not say what solves it) leave it "
                        "out, and give run.stop.fitness instead",
                        last.type()));
    }
    if (!test->unreachable.empty()) {
        throw ConfigError(fmt::format("run.stop.solved is true and {}, or give run.stop.fitness",
                                      test->unreachable));
    }
}

double price_of(const Experiment& experiment, const evolve::Structure& structure) {
    const evolve::SelectionSettings& selection = experiment.selection;
    double price = 0.0;
    if (selection.bytes_weight > 0.0) {
        price += selection.bytes_weight * static_cast<double>(structure.stored_bytes());
    }
    if (selection.products_weight > 0.0) {
        price += selection.products_weight * static_cast<double>(structure.products());
    }
    return price;
}

void check_learning(const Experiment& experiment) {
    evolve::check_learning(experiment.learning, *experiment.task);
    for (const evolve::TaskChange& change : experiment.changes) {
        evolve::check_learning(experiment.learning, *change.task);
    }
    if (experiment.learning.on() && develops(experiment.variation)) {
        throw ConfigError(fmt::format(
            "learning.mode is {} and genome.type \"{}\" (gradients change the network that "
            "develops "
            "from the genes, each with a structure of its own, and not the genes) set "
            "learning.mode "
            "to \"off\"",
            evolve::learning_mode_names[static_cast<std::size_t>(experiment.learning.mode)],
            experiment.genome));
    }
    if (inherits_learning(experiment) && experiment.distribution.exchange == Exchange::genomes) {
        throw ConfigError(
            "learning.mode is lamarckian and distributed.exchange is genomes (the coordinator "
            "makes "
            "all children, and would not know what they learn elsewhere) set the exchange to "
            "\"births\"");
    }
}

Blueprint first_network(const Experiment& experiment) {
    const evolve::VariationSettings& variation = experiment.variation;
    return develops(variation) && variation.initial
               ? variation.kind->develop(evolve::Individual(variation.initial->genomes.front()))
                     .blueprint()
               : variation.founder;
}

std::unique_ptr<evolve::Strategy> make_strategy(const Experiment& experiment) {
    evolve::StrategyContext context{.seed = experiment.seed,
                                    .population = experiment.population,
                                    .splice_rate = experiment.variation.splice.rate,
                                    .islands = experiment.islands,
                                    .steady_state = experiment.steady_state,
                                    .selection = experiment.selection,
                                    .age_layers = experiment.age_layers,
                                    .species = experiment.species,
                                    .complexity = experiment.variation.complexity,
                                    .splice_rates = {},
                                    .task_changes = first_generations(experiment.changes)};
    if (experiment.steady_state.on() && experiment.reevaluates()) {
        throw ConfigError(
            "steady_state.window is set (a member is never evaluated again in the steady state, "
            "and "
            "this task is stochastic or population.reevaluate is \"always\") set "
            "population.reevaluate to \"never\": a member keeps the fitness it was told once");
    }
    for (const evolve::IslandVariation& island : experiment.variation.islands) {
        context.splice_rates.push_back(island.splice.rate);
    }
    return experiment.strategies.make(experiment.strategy, context);
}

std::string run_identity(const Experiment& experiment) {
    nlohmann::json identity = nlohmann::json::parse(experiment.identity_json, nullptr, false);
    if (!identity.is_object()) {
        identity = nlohmann::json::object();
    }
    const std::string founder = to_json(experiment.variation.founder).dump();
    identity["content"] = {{"data", data_hash(*experiment.task).hex()},
                           {"founder", Hasher().add(founder).hash128().hex()}};
    for (const evolve::TaskChange& change : experiment.changes) {
        identity["content"]["changes"].push_back(
            {{"at", change.at}, {"data", data_hash(*change.task).hex()}});
    }
    if (const auto& initial = experiment.variation.initial) {
        identity["content"]["initial"] = evolve::content_hash(*initial).hex();
    }
    for (const evolve::PluginIdentity& plugin : experiment.plugins) {
        identity["content"]["plugins"][plugin.name] =
            fmt::format("{} {}", plugin.version, plugin.content.hex());
    }
    return identity.dump();
}

}  // namespace cambrian::distributed

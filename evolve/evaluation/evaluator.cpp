#include "cambrian/evolve/evaluation/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/evaluation/host_population.hpp"
#include "cambrian/evolve/evaluation/population_runner.hpp"
#include "cambrian/evolve/tasks/task_tensors.hpp"

namespace cambrian::evolve {
namespace {

struct PhaseInputs {
    bool has_data = false;
    std::optional<std::uint64_t> round;  ///< Whose draws are on the backend.
    SharedTensors data;
    SharedTensors draws;
};

/// Where the outputs of an objective graph are: the same for every network in a phase.
struct Layout {
    bool env_steps = false;
    std::optional<std::int64_t> samples{};  ///< Elements of per_sample.
    bool operator==(const Layout&) const = default;
};

std::string text_of(const Layout& layout) {
    return fmt::format(
        "{} env_steps and {}", layout.env_steps ? "with" : "without",
        layout.samples ? fmt::format("{} per_sample", *layout.samples) : "no per_sample");
}

/// @param known of the networks before; nothing before the first.
std::vector<Var> build_objective(const Task& task, Phase phase, const ObjectiveContext& context,
                                 std::optional<Layout>& known) {
    const Objective objective = task.build(context, phase);
    const auto require = [&](const char* what, const Var& value, ValueType type, int rank) {
        require_output(task, context.graph, what, value, type, rank);
    };
    require("fitness", objective.fitness, ValueType::real, 0);
    std::vector<Var> outputs{objective.fitness};
    Layout layout;
    if (objective.env_steps) {
        require("env_steps", *objective.env_steps, ValueType::integer, 0);
        outputs.push_back(*objective.env_steps);
        layout.env_steps = true;
    }
    if (objective.per_sample) {
        require("per_sample", *objective.per_sample, ValueType::real, 1);
        outputs.push_back(*objective.per_sample);
        layout.samples = objective.per_sample->shape().elements();
    }
    if (known && *known != layout)
        throw ConfigError(fmt::format(
            "task {} gives results {} for one network, {} for another (all networks have the same "
            "ones) mend its build()",
            task.type(), text_of(*known), text_of(layout)));
    known = layout;
    return outputs;
}

void judge(Evaluation& evaluation, double fitness) {
    if (std::isfinite(fitness)) {
        evaluation.fitness = fitness;
    } else {
        evaluation.status = Status::non_finite;
        evaluation.fitness = worst_fitness;
        evaluation.per_sample.clear();
    }
}

Evaluation evaluation_from(const Task& task, const std::vector<PopulationOutput>& outputs,
                           const Layout& layout, std::size_t index, bool wants_samples) {
    Evaluation result;
    if (layout.env_steps) {
        const std::int32_t steps = outputs[1].integers[index];
        if (steps < 0)
            throw ConfigError(fmt::format(
                "task {} gives {} as the env_steps of a network (no less than 0 were taken) mend "
                "its build()",
                task.type(), steps));
        result.env_steps = static_cast<std::uint64_t>(steps);
    }
    if (layout.samples && wants_samples) {
        const PopulationOutput& samples = outputs.back();
        const auto width = static_cast<std::size_t>(samples.elements);
        const auto first = samples.reals.begin() + static_cast<std::ptrdiff_t>(index * width);
        result.per_sample.assign(first, first + static_cast<std::ptrdiff_t>(width));
    }
    judge(result, static_cast<double>(outputs[0].reals[index]));
    return result;
}

void read_evaluations(const Task& task, const std::vector<PopulationOutput>& outputs,
                      const Layout& layout, bool samples, ThreadPool& threads,
                      std::span<Evaluation> evaluations) {
    constexpr std::size_t at_once = 256;
    const std::size_t count = evaluations.size();
    const std::size_t parts = (count + at_once - 1) / at_once;
    threads.for_each(static_cast<std::int64_t>(parts), [&](std::int64_t part, int) {
        const std::size_t first = static_cast<std::size_t>(part) * at_once;
        for (std::size_t i = first; i < std::min(first + at_once, count); ++i)
            evaluations[i] = evaluation_from(task, outputs, layout, i, samples);
    });
}

}  // namespace

struct Evaluator::State {
    State(Backend& used_backend, const Task& used_task, std::uint64_t used_seed, Family family)
        : backend(used_backend), task(used_task), seed(used_seed), runner(used_backend, family) {}

    PhaseInputs& prepare(const EvaluationRound& round);
    void start(std::size_t flight, std::size_t of, std::span<const Individual* const> individuals,
               const EvaluationRound& round, const Options& options);
    void finish(std::size_t flight, std::span<Evaluation> evaluations);
    std::vector<Evaluation> on_backend(std::span<const Individual* const> individuals,
                                       const EvaluationRound& round, const Options& options) {
        start(0, 1, individuals, round, options);
        std::vector<Evaluation> evaluations(individuals.size());
        finish(0, evaluations);
        return evaluations;
    }
    std::vector<Evaluation> on_host(std::span<const Individual* const> individuals,
                                    const EvaluationRound& round, std::span<const BirthId> origins);

    Backend& backend;
    const Task& task;
    std::uint64_t seed;
    PopulationRunner runner;
    std::array<PhaseInputs, phase_count> phases;
    std::array<std::optional<Layout>, phase_count> layouts;
    struct Started {
        Phase phase = Phase::train;
        std::size_t individuals = 0;
        bool samples = false;
    };
    std::array<Started, PopulationRunner::max_flights> started;
    std::uint64_t halvings = 0;  ///< Where memory ran out though the limit left room.
};

PhaseInputs& Evaluator::State::prepare(const EvaluationRound& round) {
    PhaseInputs& inputs = phases[static_cast<std::size_t>(round.phase)];
    if (!inputs.has_data) inputs.data.upload(backend, task, "data", data_of(task, round.phase));
    inputs.has_data = true;
    if (inputs.round == round.round) return inputs;
    inputs.round.reset();  // An upload that fails leaves the draws of no round.
    inputs.draws.upload(backend, task, "draws", draws_of(task, round.phase, seed, round.round));
    inputs.round = round.round;
    return inputs;
}

void Evaluator::State::start(std::size_t flight, std::size_t of,
                             std::span<const Individual* const> individuals,
                             const EvaluationRound& round, const Options& options) {
    const PhaseInputs& inputs = prepare(round);
    std::vector<Binding> shared;
    inputs.data.bind(shared);
    inputs.draws.bind(shared);
    std::optional<Layout>& layout = layouts[static_cast<std::size_t>(round.phase)];
    const auto build = [&](Graph& graph, const ForwardModel& network,
                           const NetworkOperands& operands) {
        const std::vector<Var> data = inputs.data.inputs(graph, "data");
        const std::vector<Var> draws = inputs.draws.inputs(graph, "draws");
        return build_objective(task, round.phase,
                               {.graph = graph,
                                .network = network,
                                .operands = operands,
                                .data = data,
                                .draws = draws},
                               layout);
    };
    started.at(flight) = {round.phase, individuals.size(), options.samples};
    runner.start(flight, of, individuals,
                 {.variant = static_cast<std::int64_t>(round.phase),
                  .build = build,
                  .shared = shared,
                  .meanwhile = options.meanwhile});
}

void Evaluator::State::finish(std::size_t flight, std::span<Evaluation> evaluations) {
    const Started& of = started.at(flight);
    CAMBRIAN_EXPECT(evaluations.size() == of.individuals);
    const auto& outputs = runner.finish(flight);
    if (evaluations.empty()) return;
    const std::optional<Layout>& layout = layouts[static_cast<std::size_t>(of.phase)];
    CAMBRIAN_ASSERT(layout);
    read_evaluations(task, outputs, *layout, of.samples, runner.threads(), evaluations);
}

std::vector<Evaluation> Evaluator::State::on_host(std::span<const Individual* const> individuals,
                                                  const EvaluationRound& round,
                                                  std::span<const BirthId> origins) {
    HostPopulation population(backend, runner, task.signature(), individuals, origins);
    const std::vector<double> fitness = task.evaluate(population, round.phase, seed, round.round);
    if (fitness.size() != individuals.size())
        throw ConfigError(fmt::format(
            "task {} returned {} fitness values (the population has {} networks) return one for "
            "each network, in their order, from its evaluate()",
            task.type(), fitness.size(), individuals.size()));
    std::vector<Evaluation> result(individuals.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
        judge(result[i], fitness[i]);
        result[i].env_steps = population.env_steps(i);
        if (population.has_failed(i)) result[i].status = Status::failed;
    }
    return result;
}

Evaluator::Evaluator(Backend& backend, const Task& task, std::uint64_t seed, Family family)
    : state_(std::make_unique<State>(backend, task, seed, family)) {}

Evaluator::~Evaluator() = default;

std::vector<Evaluation> Evaluator::evaluate(std::span<const Individual* const> individuals,
                                            const EvaluationRound& round, const Options& options) {
    if (individuals.empty()) return {};
    const auto part = [&](std::size_t first, std::size_t count) {
        const auto own = individuals.subspan(first, count);
        if (!state_->task.signature().host) return state_->on_backend(own, round, options);
        const auto origins =
            options.origins.empty() ? options.origins : options.origins.subspan(first, count);
        return state_->on_host(own, round, origins);
    };
    return in_halves(0, individuals.size(), part, [this] { ++state_->halvings; });
}

void Evaluator::start(std::size_t flight, std::size_t of,
                      std::span<const Individual* const> individuals, const EvaluationRound& round,
                      const Options& options) {
    CAMBRIAN_EXPECT(!state_->task.signature().host);
    state_->start(flight, of, individuals, round, options);
}

bool Evaluator::forget_flights() {
    return state_->runner.forget_flights();
}

std::size_t Evaluator::flights() const {
    return state_->runner.flights();
}

void Evaluator::finish(std::size_t flight, std::span<Evaluation> evaluations) {
    state_->finish(flight, evaluations);
}

std::vector<Evaluation> Evaluator::evaluate(std::span<const Genome* const> genomes,
                                            const EvaluationRound& round) {
    return evaluate(Individuals(genomes).pointers, round);
}

Evaluator::Counters Evaluator::counters() const {
    return {.programs_compiled = state_->runner.programs_compiled(),
            .programs_reused = state_->runner.programs_reused(),
            .memory_splits = state_->runner.memory_splits() + state_->halvings};
}

}  // namespace cambrian::evolve

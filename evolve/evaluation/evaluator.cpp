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

namespace cambrian::evolve {
namespace {

/// Tensors that all individuals share, on the backend.
class SharedTensors {
  public:
    void upload(Backend& backend, std::span<const Tensor> tensors) {
        const bool fits =
            std::ranges::equal(tensors, infos_, [](const Tensor& tensor, const ValueInfo& info) {
                return tensor.type == info.type && tensor.shape == info.shape;
            });
        if (!fits) allocate(backend, tensors);
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            const std::vector<double>& elements = tensors[i].elements;
            if (tensors[i].type == ValueType::real) {
                backend.upload(*buffers_[i], 0, std::span<const double>(elements));
            } else {
                const std::vector<std::int32_t> words(elements.begin(), elements.end());
                backend.upload(*buffers_[i], 0, std::span<const std::int32_t>(words));
            }
        }
    }

    [[nodiscard]] std::vector<Var> inputs(Graph& graph, std::string_view name) const {
        std::vector<Var> result;
        for (const ValueInfo& info : infos_)
            result.push_back(
                graph.input(fmt::format("{}.{}", name, result.size()), info.type, info.shape));
        return result;
    }
    void bind(std::vector<Binding>& bindings) const {
        for (const auto& buffer : buffers_) bindings.push_back({buffer.get(), 0});
    }

  private:
    void allocate(Backend& backend, std::span<const Tensor> tensors) {
        CAMBRIAN_ASSERT(buffers_.empty());
        // Kept only when all fit: after a failure the next call starts afresh.
        std::vector<ValueInfo> infos;
        std::vector<std::unique_ptr<Buffer>> buffers;
        for (const Tensor& tensor : tensors) {
            infos.push_back({.type = tensor.type, .shape = tensor.shape});
            buffers.push_back(
                backend.allocate(tensor.type, std::max<std::int64_t>(1, tensor.shape.elements())));
        }
        infos_ = std::move(infos);
        buffers_ = std::move(buffers);
    }

    std::vector<ValueInfo> infos_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
};

struct PhaseInputs {
    bool has_data = false;
    std::optional<std::uint64_t> round;  ///< Whose draws are on the backend.
    SharedTensors data;
    SharedTensors draws;
};

/// Where the outputs of an objective graph are.
struct Layout {
    bool env_steps = false;
    bool per_sample = false;
};

/// Throws ConfigError for an output of a task's graph that is no such number.
void require_output(const Task& task, const char* what, const Var& value, ValueType type,
                    int rank) {
    if (value.graph != nullptr && value.info().type == type && value.rank() == rank) return;
    const std::string given = value.graph == nullptr ? "nothing"
                                                     : fmt::format("{} {}", name(value.info().type),
                                                                   value.shape().text());
    throw ConfigError(
        fmt::format("task {} gives {} as its {} (it is {} of rank {}, for one network) mend its "
                    "build()",
                    task.type(), given, what, name(type), rank));
}

std::vector<Var> build_objective(const Task& task, Phase phase, const ObjectiveContext& context,
                                 Layout& layout) {
    const Objective objective = task.build(context, phase);
    require_output(task, "fitness", objective.fitness, ValueType::real, 0);
    if (objective.env_steps)
        require_output(task, "env_steps", *objective.env_steps, ValueType::integer, 0);
    if (objective.per_sample)
        require_output(task, "per_sample", *objective.per_sample, ValueType::real, 1);
    std::vector<Var> outputs{objective.fitness};
    layout = {.env_steps = objective.env_steps.has_value(),
              .per_sample = objective.per_sample.has_value()};
    if (objective.env_steps) outputs.push_back(*objective.env_steps);
    if (objective.per_sample) outputs.push_back(*objective.per_sample);
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

Evaluation evaluation_from(const std::vector<PopulationOutput>& outputs, const Layout& layout,
                           std::size_t index, bool wants_samples) {
    Evaluation result;
    if (layout.env_steps) result.env_steps = static_cast<std::uint64_t>(outputs[1].integers[index]);
    if (layout.per_sample && wants_samples) {
        const PopulationOutput& samples = outputs.back();
        const auto width = static_cast<std::size_t>(samples.elements);
        const auto first = samples.reals.begin() + static_cast<std::ptrdiff_t>(index * width);
        result.per_sample.assign(first, first + static_cast<std::ptrdiff_t>(width));
    }
    judge(result, static_cast<double>(outputs[0].reals[index]));
    return result;
}

void read_evaluations(const std::vector<PopulationOutput>& outputs, const Layout& layout,
                      bool samples, ThreadPool& threads, std::span<Evaluation> evaluations) {
    constexpr std::size_t at_once = 256;
    const std::size_t count = evaluations.size();
    const std::size_t parts = (count + at_once - 1) / at_once;
    threads.for_each(static_cast<std::int64_t>(parts), [&](std::int64_t part, int) {
        const std::size_t first = static_cast<std::size_t>(part) * at_once;
        for (std::size_t i = first; i < std::min(first + at_once, count); ++i)
            evaluations[i] = evaluation_from(outputs, layout, i, samples);
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
    std::array<Layout, phase_count> layouts;
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
    if (!inputs.has_data) inputs.data.upload(backend, task.data(round.phase));
    inputs.has_data = true;
    if (inputs.round == round.round) return inputs;
    inputs.round.reset();  // An upload that fails leaves the draws of no round.
    inputs.draws.upload(backend, task.draws(round.phase, seed, round.round));
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
    Layout& layout = layouts[static_cast<std::size_t>(round.phase)];
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
    read_evaluations(runner.finish(flight), layouts[static_cast<std::size_t>(of.phase)], of.samples,
                     runner.threads(), evaluations);
}

std::vector<Evaluation> Evaluator::State::on_host(std::span<const Individual* const> individuals,
                                                  const EvaluationRound& round,
                                                  std::span<const BirthId> origins) {
    HostPopulation population(backend, runner, task.signature(), individuals, origins);
    const std::vector<double> fitness = task.evaluate(population, round.phase, seed, round.round);
    CAMBRIAN_ASSERT(fitness.size() == individuals.size());
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

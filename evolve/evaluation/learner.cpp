#include "cambrian/evolve/evaluation/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/evolve/evaluation/population_runner.hpp"

namespace cambrian::evolve {
namespace {

/// Rows of a step and the operands of a network.
struct Lesson {
    Var inputs;
    Var targets;
    Var activations;
    Var enabled;
};

/// The loss of a batch, as a graph that is simplified before it is differentiated, so that the
/// gradient of a tensor of weights needs no zeros around it.
Var loss_of(Graph& graph, const Network& network, const Loss& loss, std::span<const Var> parts,
            const Lesson& lesson) {
    std::vector<Var> outer(parts.begin(), parts.end());
    outer.insert(outer.end(), {lesson.inputs, lesson.targets, lesson.activations, lesson.enabled});
    Graph inner;
    std::vector<Var> inputs;
    for (const Var value : outer)
        inputs.push_back(
            inner.input("", value.info().type, value.shape(), value.info().per_individual));
    const std::span<const Var> given = std::span<const Var>(inputs).subspan(parts.size());
    const NetworkOperands operands{
        .weights = concat(std::span<const Var>(inputs).first(parts.size()), 0),
        .activations = given[2],
        .enabled = given[3],
        .masters = true};
    const Var answers = training_graphs::answers(network, operands, given[0], given[1], loss);
    inner.output(measure(loss, answers, given[1]).mean);
    return inline_graph(graph, eliminate_dead_code(fold_constants(inner, evaluate_node)), outer)[0];
}

/// Which weights learn, and which of them decay: 1 or 0 for each.
struct Masks {
    Var learns;
    std::optional<Var> decays;
};

/// Whether a tensor is computed with: not that of a disabled slot, but where others share it. 1 or
/// 0, of each network by itself.
Var in_use(const Network& network, const WeightRange& range, Var enabled) {
    const Blueprint& blueprint = network.blueprint();
    const Var always = constant(*enabled.graph, 1.0);
    if (range.slot < 0) return always;
    std::vector<int> slots = borrowers(blueprint, range.slot, range.parameter.name);
    slots.push_back(range.slot);
    Var used = constant(*enabled.graph, 0.0);
    for (const int slot : slots) {
        if (slot == blueprint.grid.slots() || !network.can_disable(slot)) return always;
        used = max(used, cast(reshape(slice(enabled, 0, slot, 1), Shape{}), ValueType::real));
    }
    return used;
}

Masks masks_of(Graph& graph, const Network& network, const Optimizer& optimizer, Var enabled) {
    const auto mask = [&](const auto& value_of) {
        std::vector<Var> parts;
        for (const WeightRange& range : network.weights())
            parts.push_back(broadcast(value_of(range), {range.count}));
        return concat(parts, 0);
    };
    const Var none = constant(graph, 0.0);
    const Var all = constant(graph, 1.0);
    Masks masks{.learns = mask(
                    [&](const WeightRange& range) { return range.parameter.buffer ? none : all; }),
                .decays = std::nullopt};
    if (weight_decay(optimizer) != 0.0)
        masks.decays = mask([&](const WeightRange& range) {
            return range.parameter.decays() ? in_use(network, range, enabled) : none;
        });
    return masks;
}

/// One step: carries weights, moments and the number of steps taken; reads positions of rows, the
/// tables of inputs and targets, and the operands of the network.
Graph lesson_body(const Network& network, const LearningSettings& settings, const Loss& loss,
                  std::span<const Var> carries, Var rows, std::span<const Var> invariants) {
    Graph graph;
    std::vector<Var> inputs;
    for (const Var carry : carries)
        inputs.push_back(graph.input("carry", carry.info().type, carry.shape()));
    const Var positions = graph.input("rows", ValueType::integer, Shape{rows.shape()[1]});
    std::vector<Var> given;
    for (const Var invariant : invariants)
        given.push_back(graph.input("operand", invariant.info().type, invariant.shape()));

    const Var weights = inputs.front();
    const std::vector<Var> moments(inputs.begin() + 1, inputs.end() - 1);
    const std::vector<Var> parts = training_graphs::parts_of(network, weights);
    const Var mean = loss_of(graph, network, loss, parts,
                             {.inputs = gather(given[0], positions),
                              .targets = gather(given[1], positions),
                              .activations = given[2],
                              .enabled = given[3]});
    const Masks masks = masks_of(graph, network, settings.optimizer, given[3]);
    const ClippedGradients clipped =
        clip_norm(std::array{concat(gradient(mean, parts), 0) * masks.learns}, settings.clip_norm);
    const StepScalars scalars{.learning_rate = constant(graph, settings.learning_rate),
                              .step = inputs.back() + 1.0};
    UpdatedParameter next =
        update(settings.optimizer, scalars, weights, clipped.gradients[0], moments, masks.decays);
    next.value = training_graphs::kept_positive(network, weights, next.value);
    const UpdatedParameter after = select(clipped.finite, next, {weights, moments});
    graph.output(after.value);
    for (const Var moment : after.moments) graph.output(moment);
    graph.output(select(clipped.finite, scalars.step, inputs.back()));
    return graph;
}

}  // namespace

void check_learning(const LearningSettings& settings, const Task& task) {
    if (!settings.on() || task.learning() != nullptr) return;
    throw ConfigError(fmt::format(
        "learning.mode is {} (task {} has no samples to learn from by gradient) set it to \"off\", "
        "or use a task of rows, such as table, dataset or parity",
        learning_mode_names.at(static_cast<std::size_t>(settings.mode)), task.type()));
}

struct Learner::State {
    State(Backend& used_backend, const Task& task, std::uint64_t seed,
          const LearningSettings& used_settings)
        : backend(used_backend),
          learning(*task.learning()),
          settings(used_settings),
          key(random_key(seed, "learn")),
          runner(used_backend, Family::graph, WeightUse::masters) {}

    [[nodiscard]] std::int64_t rows() const {
        return std::min(settings.batch, learning.data.train.rows());
    }
    void upload_samples();
    void upload_order(std::uint64_t round);
    [[nodiscard]] std::vector<Var> build(Graph& graph, const ForwardModel& model,
                                         const NetworkOperands& operands) const;
    /// The weights of each of a group with as many weights each, one after the other.
    [[nodiscard]] std::vector<float> run(std::span<const Individual* const> group);

    Backend& backend;
    const Learning& learning;
    LearningSettings settings;
    RandomKey key;
    PopulationRunner runner;
    std::uint64_t halvings = 0;
    std::unique_ptr<Buffer> inputs;
    std::unique_ptr<Buffer> targets;
    std::unique_ptr<Buffer> order;
    std::optional<std::uint64_t> round;  ///< Whose order is on the backend.
};

void Learner::State::upload_samples() {
    if (order) return;
    inputs = upload_tensor(backend, learning.data.train.inputs);
    targets = upload_tensor(backend, learning.data.train.targets);
    order = backend.allocate(ValueType::integer, settings.steps * rows());
}

/// Where a batch holds all rows, they come in their order.
void Learner::State::upload_order(std::uint64_t wanted) {
    if (round == wanted) return;
    const std::int64_t all = learning.data.train.rows();
    RandomStream rng(key, wanted);
    std::vector<std::int32_t> positions(static_cast<std::size_t>(settings.steps * rows()));
    for (std::size_t i = 0; i < positions.size(); ++i)
        positions[i] = rows() == all
                           ? static_cast<std::int32_t>(i % static_cast<std::size_t>(all))
                           : static_cast<std::int32_t>(rng.index(static_cast<std::uint32_t>(all)));
    round.reset();  // An upload that fails leaves the order of no round.
    backend.upload(*order, 0, std::span<const std::int32_t>(positions));
    round = wanted;
}

std::vector<Var> Learner::State::build(Graph& graph, const ForwardModel& model,
                                       const NetworkOperands& operands) const {
    const auto& network = dynamic_cast<const Network&>(model);
    const Samples& samples = learning.data.train;
    const auto table = [&](std::string_view name, const Tensor& tensor) {
        return graph.input(name, tensor.type, tensor.shape);
    };
    const Var input_table = table("inputs", samples.inputs);
    const Var target_table = table("targets", samples.targets);
    const Var positions = graph.input("order", ValueType::integer, Shape{settings.steps, rows()});

    std::vector<Var> carries{operands.weights};
    for (std::size_t i = 0; i < moment_count(settings.optimizer); ++i)
        carries.push_back(filled(graph, {network.weight_count()}, 0.0));
    carries.push_back(constant(graph, 0.0));
    const std::array invariants{input_table, target_table, operands.activations, operands.enabled};
    const ScanResult end =
        scan(lesson_body(network, settings, learning.loss, carries, positions, invariants), carries,
             std::span(&positions, 1), invariants, {.length = settings.steps});
    return {end.carries.front()};
}

/// In halves where memory runs out.
std::vector<float> Learner::State::run(std::span<const Individual* const> group) {
    const auto network = [this](Graph& graph, const ForwardModel& model,
                                const NetworkOperands& operands) {
        return build(graph, model, operands);
    };
    const std::array<Binding, 3> shared{{{inputs.get(), 0}, {targets.get(), 0}, {order.get(), 0}}};
    const auto part = [&](std::size_t first, std::size_t count) {
        return runner.run(group.subspan(first, count), {.build = network, .shared = shared})[0]
            .reals;
    };
    return in_halves(0, group.size(), part, [this] { ++halvings; });
}

Learner::Learner(Backend& backend, const Task& task, std::uint64_t seed,
                 const LearningSettings& settings) {
    check_learning(settings, task);
    state_ = std::make_unique<State>(backend, task, seed, settings);
}

Learner::~Learner() = default;

std::uint64_t Learner::memory_splits() const {
    return state_->runner.memory_splits() + state_->halvings;
}

std::vector<std::vector<float>> Learner::learn(std::span<const Individual* const> individuals,
                                               std::uint64_t round) {
    state_->upload_samples();
    state_->upload_order(round);
    std::map<std::int64_t, std::vector<std::size_t>> sizes;  // a run gives outputs of one size
    for (std::size_t i = 0; i < individuals.size(); ++i) {
        CAMBRIAN_EXPECT(individuals[i]->on_host());
        sizes[individuals[i]->structure->weight_count()].push_back(i);
    }
    std::vector<std::vector<float>> learned(individuals.size());
    for (const auto& [weights, members] : sizes) {
        if (weights == 0) continue;
        std::vector<const Individual*> group;
        for (const std::size_t member : members) group.push_back(individuals[member]);
        const std::vector<float> all = state_->run(group);
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(i) * weights;
            learned[members[i]].assign(first, first + weights);
        }
    }
    return learned;
}

}  // namespace cambrian::evolve

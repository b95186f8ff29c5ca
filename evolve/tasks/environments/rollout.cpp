#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/evolve/tasks/environment.hpp"

namespace cambrian::evolve {
namespace {

/// Reads one after another what a scan body was given, or what a scan gave back.
class Reader {
  public:
    explicit Reader(std::span<const Var> values) : values_(values) {}
    Var next() { return values_[position_++]; }
    std::span<const Var> next(std::size_t count) {
        position_ += count;
        return values_.subspan(position_ - count, count);
    }

  private:
    std::span<const Var> values_;
    std::size_t position_ = 0;
};

/// A mask [episodes] shaped to choose between tensors [episodes, ...] of some rank.
Var mask_of_rank(Var mask, int rank) {
    std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 1);
    extents[0] = mask.shape()[0];
    return reshape(mask, Shape(extents));
}

/// Chooses by episode between new and old tensors, so that finished episodes stand still.
class Freeze {
  public:
    explicit Freeze(Var alive) : alive_(alive) {}
    Var operator()(Var changed, Var unchanged) {
        Var& mask = masks_[static_cast<std::size_t>(changed.rank())];
        if (mask.graph == nullptr) mask = mask_of_rank(alive_, changed.rank());
        return select(mask, changed, unchanged);
    }

  private:
    Var alive_;
    std::array<Var, Shape::max_rank + 1> masks_{};
};

class RolloutTask final : public Task {
  public:
    RolloutTask(std::shared_ptr<const Environment> environment, const RolloutSettings& settings)
        : environment_(std::move(environment)), settings_(settings) {
        CAMBRIAN_ASSERT(settings.episodes > 0 && settings.steps > 0 &&
                        settings.validation.episodes > 0);
        const std::int64_t episodes = std::max(settings.episodes, settings.validation.episodes);
        if (episodes > std::numeric_limits<std::int32_t>::max() / settings.steps)
            throw ConfigError(fmt::format(
                "{} episodes of {} steps are too many (all steps of a network are counted in 32 "
                "bits) use fewer or shorter episodes",
                episodes, settings.steps));
    }

    std::string_view type() const override { return environment_->type(); }

    TaskSignature signature() const override {
        return {.observations = environment_->observations(),
                .outputs = environment_->outputs(),
                .time = true,
                .stochastic = fresh_episodes(),
                .validates = true};
    }

    std::vector<Tensor> draws(Phase phase, std::uint64_t seed, std::uint64_t round) const override {
        const bool fixed = phase == Phase::train && !fresh_episodes();
        const RandomKey key = random_key(
            seed, fmt::format("episodes/{}/{}", name(phase), fixed ? std::uint64_t{0} : round));
        const auto word = [](std::uint64_t bits) {
            return static_cast<double>(
                std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
        };
        return {Tensor(ValueType::integer, Shape{2}, {word(key.value), word(key.value >> 32)})};
    }

    Objective build(const ObjectiveContext& context, Phase phase) const override;

    std::unique_ptr<Task> with_episodes(std::int64_t episodes) const override {
        RolloutSettings settings = settings_;
        settings.episodes = episodes;
        settings.validation.episodes = episodes;
        return std::make_unique<RolloutTask>(environment_, settings);
    }

  private:
    [[nodiscard]] bool fresh_episodes() const {
        return settings_.episode_seeds == EpisodeSeeds::per_generation;
    }
    Graph body(const ForwardModel& network, std::span<const Var> carries,
               std::span<const Var> invariants, std::size_t state_count) const;

    std::shared_ptr<const Environment> environment_;
    RolloutSettings settings_;
};

Objective RolloutTask::build(const ObjectiveContext& context, Phase phase) const {
    Graph& graph = context.graph;
    const std::int64_t episodes =
        phase == Phase::train ? settings_.episodes : settings_.validation.episodes;
    const auto filled = [&](ValueType type, double value) {
        return graph.constant(Tensor(
            type, Shape{episodes}, std::vector<double>(static_cast<std::size_t>(episodes), value)));
    };

    const Var starts = random(context.draws[0], iota(graph, episodes), environment_->reset_draws());
    std::vector<Var> carries = environment_->reset(starts);
    const std::size_t state_count = carries.size();
    for (const Var state : context.network.initial_state(graph, episodes)) carries.push_back(state);
    carries.push_back(filled(ValueType::real, 0.0));     // return of each episode
    carries.push_back(filled(ValueType::integer, 0.0));  // steps of each episode
    carries.push_back(filled(ValueType::boolean, 1.0));  // alive

    const std::array invariants{context.operands.weights, context.operands.activations,
                                context.operands.enabled};
    const ScanResult result =
        scan(body(context.network, carries, invariants, state_count), carries, {}, invariants,
             {.length = settings_.steps, .alive_carry = static_cast<int>(carries.size()) - 1});
    const Var returns = result.carries[carries.size() - 3];
    const Var steps = result.carries[carries.size() - 2];
    return {.fitness = mean_all(returns), .env_steps = reduce_sum(steps, 0), .per_sample = returns};
}

Graph RolloutTask::body(const ForwardModel& network, std::span<const Var> carries,
                        std::span<const Var> invariants, std::size_t state_count) const {
    Graph graph;
    std::vector<Var> inputs;
    for (const Var carry : carries)
        inputs.push_back(graph.input("carry", carry.info().type, carry.shape()));
    for (const Var invariant : invariants)
        inputs.push_back(graph.input("operand", invariant.info().type, invariant.shape()));

    Reader reader(inputs);
    const auto state = reader.next(state_count);
    const auto memory = reader.next(network.state().size());
    const Var returns = reader.next();
    const Var steps = reader.next();
    const Var alive = reader.next();
    const NetworkOperands operands{
        .weights = reader.next(), .activations = reader.next(), .enabled = reader.next()};

    const StepResult reaction = network.step(environment_->observe(state), memory, operands);
    const EnvironmentStep change = environment_->step(state, reaction.output);
    CAMBRIAN_ASSERT(change.state.size() == state.size() && reaction.state.size() == memory.size());

    Freeze freeze(alive);
    for (std::size_t i = 0; i < state.size(); ++i) graph.output(freeze(change.state[i], state[i]));
    for (std::size_t i = 0; i < memory.size(); ++i)
        graph.output(freeze(reaction.state[i], memory[i]));
    graph.output(returns + select(alive, change.reward, constant(graph, 0.0)));
    graph.output(steps + cast(alive, ValueType::integer));
    graph.output(logical_and(alive, logical_not(change.done)));
    return graph;
}

}  // namespace

std::unique_ptr<Task> make_rollout_task(std::unique_ptr<Environment> environment,
                                        const RolloutSettings& settings) {
    return std::make_unique<RolloutTask>(std::move(environment), settings);
}

TaskKind rollout_task(std::function<std::unique_ptr<Environment>()> environment,
                      std::string meaning) {
    const auto describe = [](nlohmann::ordered_json& schema) {
        field_json::describe_fields<RolloutSettings>(schema["properties"]);
    };
    std::string name(environment()->type());
    auto make = [environment = std::move(environment)](const nlohmann::json& json,
                                                       const TaskContext&) {
        static constexpr std::array<std::string_view, 1> others{"type"};
        RolloutSettings settings;
        field_json::read_fields(settings, json, "task", others);
        return make_rollout_task(environment(), settings);
    };
    return {std::move(name), std::move(meaning), std::move(make), describe};
}

}  // namespace cambrian::evolve

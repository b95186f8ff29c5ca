#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
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

/// One step of all episodes: the network reacts, the environment changes.
/// @param records whether each step gives its state, after the carries.
Graph rollout_body(const Environment& environment, const ForwardModel& network,
                   const NetworkOperands& outer, std::span<const Var> carries,
                   std::span<const Var> invariants, std::size_t state_count, bool records = false) {
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
    const Var weights = reader.next();
    const Var activations = reader.next();
    const NetworkOperands operands = outer.inside(weights, activations, reader.next());

    const StepResult reaction = network.step(environment.observe(state), memory, operands);
    const EnvironmentStep change = environment.step(state, reaction.output);
    // Finite but where an output is no number. What an environment makes of that may look like
    // success: the episode ends, and its return is no number, either. (Of a product with 0 some
    // devices think that it is 0.)
    const Var shown = reduce_sum(clamp(reaction.output, -1.0, 1.0), 1);
    const Var answered = is_finite(shown);
    const Var reward = select(answered, change.reward, shown);
    CAMBRIAN_ASSERT(change.state.size() == state.size() && reaction.state.size() == memory.size());

    Freeze freeze(alive);
    std::vector<Var> next;
    for (std::size_t i = 0; i < state.size(); ++i)
        next.push_back(freeze(change.state[i], state[i]));
    for (const Var value : next) graph.output(value);
    for (std::size_t i = 0; i < memory.size(); ++i)
        graph.output(freeze(reaction.state[i], memory[i]));
    graph.output(returns + select(alive, reward, constant(graph, 0.0)));
    graph.output(steps + cast(alive, ValueType::integer));
    graph.output(logical_and(alive, logical_and(answered, logical_not(change.done))));
    for (const Var value : next)
        if (records) graph.output(value);
    return graph;
}

/// Episodes of one environment.
struct Course {
    const Environment& environment;
    std::int64_t episodes;
    std::int64_t steps;
};

class RolloutTask final : public Task {
  public:
    RolloutTask(std::shared_ptr<const Environment> environment, const RolloutSettings& settings)
        : environment_(std::move(environment)),
          solution_(environment_->solution()),
          settings_(settings) {
        if (settings_.steps == 0) settings_.steps = environment_->steps();
        CAMBRIAN_ASSERT(settings_.episodes > 0 && settings_.steps > 0 &&
                        settings_.validation.episodes > 0 && settings_.champion.episodes > 0);
        if (settings_.steps > environment_->most_steps())
            throw ConfigError(fmt::format(
                "task.steps is {} (the arithmetic of {} stands {}) use shorter episodes",
                settings_.steps, type(), environment_->most_steps()));
        for (const Phase phase : {Phase::train, Phase::validation, Phase::champion})
            for (const Course& course : courses(phase)) check_count(course);
    }

    std::string_view type() const override { return environment_->type(); }
    [[nodiscard]] const Environment& environment() const { return *environment_; }

    TaskSignature signature() const override {
        return {.observations = environment_->observations(),
                .outputs = environment_->outputs(),
                .time = true,
                .stochastic = fresh_episodes(),
                .validates = draws_starts(*environment_)};
    }

    std::optional<SolvedTest> solved() const override;

    std::vector<Tensor> draws(Phase phase, std::uint64_t seed, std::uint64_t round) const override {
        if (!draws_starts(phase)) return {};
        const bool fixed = phase == Phase::train && !fresh_episodes();
        const RandomKey key = random_key(
            seed, fmt::format("episodes/{}/{}", name(phase), fixed ? std::uint64_t{0} : round));
        const auto word = [](std::uint64_t bits) {
            return static_cast<double>(
                std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
        };
        return {Tensor(ValueType::integer, Shape{2}, {word(key.value), word(key.value >> 32)})};
    }

    Objective build(const ObjectiveContext& context, Phase phase) const override {
        Objective whole;
        for (const Course& course : courses(phase)) {
            if (!whole.env_steps) {
                whole = build(context, course);
                continue;
            }
            // A product with 0 is known before its other factors.
            const Var counts = logical_not(equal(whole.fitness, constant(context.graph, 0.0)));
            const Objective part = build(context, course, counts);
            whole = {.fitness = whole.fitness * part.fitness,
                     .env_steps = *whole.env_steps + *part.env_steps,
                     .per_sample = part.per_sample};
        }
        return whole;
    }

    [[nodiscard]] RolloutRecord record(const ObjectiveContext& context, Phase phase,
                                       std::int64_t max_steps) const;

    std::unique_ptr<Task> with_episodes(std::int64_t episodes) const override {
        if (!draws_starts(*environment_)) return nullptr;
        RolloutSettings settings = settings_;
        settings.episodes = episodes;
        settings.validation.episodes = episodes;
        settings.champion.episodes = episodes;
        return std::make_unique<RolloutTask>(environment_, settings);
    }

  private:
    [[nodiscard]] static bool draws_starts(const Environment& environment) {
        return environment.reset_draws() > 0;
    }
    /// Whether an episode of a phase begins with draws.
    [[nodiscard]] bool draws_starts(Phase phase) const {
        return std::ranges::any_of(
            courses(phase), [](const Course& course) { return draws_starts(course.environment); });
    }
    [[nodiscard]] bool fresh_episodes() const {
        return draws_starts(*environment_) &&
               settings_.episode_seeds == EpisodeSeeds::per_generation;
    }
    static void check_count(const Course& course) {
        if (course.episodes > std::numeric_limits<std::int32_t>::max() / course.steps)
            throw ConfigError(fmt::format(
                "{} episodes of {} steps are too many (all steps of a network are counted in 32 "
                "bits) use fewer or shorter episodes",
                course.episodes, course.steps));
    }
    [[nodiscard]] std::vector<Course> courses(Phase phase) const;
    /// @param runs whether a network runs it at all, rank 0.
    [[nodiscard]] Objective build(const ObjectiveContext& context, const Course& course,
                                  std::optional<Var> runs = std::nullopt) const;

    std::shared_ptr<const Environment> environment_;
    std::optional<Solution> solution_;
    RolloutSettings settings_;
};

std::optional<SolvedTest> RolloutTask::solved() const {
    if (!solution_) return std::nullopt;
    SolvedTest test{
        .candidate = solution_->candidate, .phase = solution_->phase, .passes = solution_->passes};
    // Who passes the test of whole episodes has all of the mark but what the steps that lack pay.
    const double pay = environment_->max_score(settings_.steps);
    const double lack = environment_->max_score(environment_->steps()) - pay;
    if (lack <= 0.0) return test;
    constexpr double hair = 1e-6;  // Fitness is summed up in 32 bits.
    if (test.phase != Phase::train) {
        test.candidate -= lack * (1.0 + hair);
    } else if (pay < test.passes) {
        test.unreachable = fmt::format(
            "task.steps is {} (so short an episode of {} pays {} at most, and {} solve it) leave "
            "task.steps out",
            settings_.steps, type(), pay, test.passes);
    }
    return test;
}

std::vector<Course> RolloutTask::courses(Phase phase) const {
    const auto course = [](const Environment& environment, std::int64_t episodes,
                           std::int64_t steps) {
        return Course{environment, draws_starts(environment) ? episodes : environment.starts(),
                      steps};
    };
    if (phase != Phase::champion || !solution_)
        return {course(*environment_,
                       phase == Phase::train ? settings_.episodes : settings_.validation.episodes,
                       settings_.steps)};
    const std::int64_t episodes = settings_.champion.episodes;
    if (solution_->tests.empty()) return {course(*environment_, episodes, environment_->steps())};
    std::vector<Course> courses;
    for (const auto& test : solution_->tests)
        courses.push_back(course(*test, episodes, test->steps()));
    return courses;
}

/// What a walk through the steps carries, before the first one.
struct Start {
    std::vector<Var> carries;
    std::size_t state_count = 0;
};

/// @param runs whether any episode begins, rank 0; by default it does.
Start start_of(const ObjectiveContext& context, const Course& course, bool draws,
               std::optional<Var> runs = std::nullopt) {
    Graph& graph = context.graph;
    const Shape each{course.episodes};
    const auto all = [&](ValueType type, double value) {
        return graph.constant(Tensor(
            type, each, std::vector<double>(static_cast<std::size_t>(course.episodes), value)));
    };
    const Var starts = draws ? random(context.draws[0], iota(graph, course.episodes),
                                      course.environment.reset_draws())
                             : filled(graph, {course.episodes, 1}, 0.0);
    Start start{course.environment.reset(starts), 0};
    start.state_count = start.carries.size();
    for (const Var state : context.network.initial_state(graph, course.episodes))
        start.carries.push_back(state);
    start.carries.push_back(all(ValueType::real, 0.0));     // return of each episode
    start.carries.push_back(all(ValueType::integer, 0.0));  // steps of each episode
    start.carries.push_back(runs ? broadcast(*runs, each) : all(ValueType::boolean, 1.0));  // alive
    return start;
}

/// Steps of all episodes one after the other.
ScanResult walk(const ObjectiveContext& context, const Environment& environment, const Start& start,
                std::int64_t steps, bool records) {
    const std::array invariants{context.operands.weights, context.operands.activations,
                                context.operands.enabled};
    ScanOptions options{.length = steps};
    if (!records) options.alive_carry = static_cast<int>(start.carries.size()) - 1;
    return scan(rollout_body(environment, context.network, context.operands, start.carries,
                             invariants, start.state_count, records),
                start.carries, {}, invariants, options);
}

Objective RolloutTask::build(const ObjectiveContext& context, const Course& course,
                             std::optional<Var> runs) const {
    const Environment& environment = course.environment;
    const Start start = start_of(context, course, draws_starts(environment), runs);
    const ScanResult end = walk(context, environment, start, course.steps, false);
    const Var steps = end.carries[end.carries.size() - 2];
    const Var scores = environment.score(std::span(end.carries).first(start.state_count),
                                         end.carries[end.carries.size() - 3]);
    return {.fitness = environment.fitness(scores),
            .env_steps = reduce_sum(steps, 0),
            .per_sample = scores};
}

RolloutRecord RolloutTask::record(const ObjectiveContext& context, Phase phase,
                                  std::int64_t max_steps) const {
    constexpr std::int64_t max_numbers = std::int64_t{1} << 24U;
    Course course = courses(phase).front();
    const Environment& environment = *environment_;
    CAMBRIAN_EXPECT(&course.environment == &environment && max_steps > 0);
    Start start = start_of(context, course, draws_starts(environment));
    RolloutRecord record;
    std::int64_t numbers = 0;
    for (const Var state : std::span(start.carries).first(start.state_count)) {
        record.start.push_back(state);
        numbers += state.shape().elements();
    }
    const std::int64_t seen =
        std::min({max_steps, course.steps, std::max<std::int64_t>(1, max_numbers / numbers)});
    ScanResult end = walk(context, environment, start, seen, true);
    record.states = std::move(end.stacked);
    if (course.steps > seen)
        end = walk(context, environment, {std::move(end.carries), start.state_count},
                   course.steps - seen, false);
    record.steps = end.carries[end.carries.size() - 2];
    record.scores = environment.score(std::span(end.carries).first(start.state_count),
                                      end.carries[end.carries.size() - 3]);
    return record;
}

}  // namespace

std::unique_ptr<Task> make_rollout_task(std::shared_ptr<const Environment> environment,
                                        const RolloutSettings& settings) {
    return std::make_unique<RolloutTask>(std::move(environment), settings);
}

const Environment* environment_of(const Task& task) {
    const auto* rollout = dynamic_cast<const RolloutTask*>(&task.inner());
    return rollout == nullptr ? nullptr : &rollout->environment();
}

RolloutRecord record_rollout(const Task& task, const ObjectiveContext& context, Phase phase,
                             std::int64_t max_steps) {
    const auto* rollout = dynamic_cast<const RolloutTask*>(&task.inner());
    CAMBRIAN_EXPECT(rollout != nullptr);
    return rollout->record(context, phase, max_steps);
}

}  // namespace cambrian::evolve

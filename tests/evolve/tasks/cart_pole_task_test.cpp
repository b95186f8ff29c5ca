#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve::cart_pole_task_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The equations of Gym's CartPole-v1, written once more in plain double arithmetic.
struct Pole {
    double x = 0.0, x_dot = 0.0, theta = 0.0, theta_dot = 0.0;

    /// Returns whether the episode is over.
    bool step(int action) {
        const double force = action == 1 ? 10.0 : -10.0;
        const double cosine = std::cos(theta);
        const double sine = std::sin(theta);
        const double swing = (force + 0.05 * theta_dot * theta_dot * sine) / 1.1;
        const double theta_acceleration =
            (9.8 * sine - cosine * swing) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1));
        const double x_acceleration = swing - 0.05 * theta_acceleration * cosine / 1.1;
        x += 0.02 * x_dot;
        x_dot += 0.02 * x_acceleration;
        theta += 0.02 * theta_dot;
        theta_dot += 0.02 * theta_acceleration;
        return std::abs(x) > 2.4 || std::abs(theta) > 12.0 * 2.0 * std::numbers::pi / 360.0;
    }
};

constexpr std::string_view linear = R"({"layers": [{"type": "dense"}]})";
constexpr std::string_view recurrent =
    R"({"layers": [{"type": "rnn", "hidden": 3}, {"type": "dense"}]})";

/// One step of the environment's graph for one episode: 4 numbers of state, then done.
std::array<double, 5> graph_step(Backend& backend, const Environment& environment,
                                 const std::array<double, 4>& state,
                                 const std::array<double, 2>& output) {
    Graph graph;
    std::vector<Var> parts;
    std::vector<Tensor> inputs;
    for (const double value : state) {
        parts.push_back(graph.input("state", ValueType::real, Shape{1, 1}));
        inputs.emplace_back(ValueType::real, Shape{1, 1}, std::vector<double>{value});
    }
    const Var reaction = graph.input("output", ValueType::real, Shape{1, 2});
    inputs.emplace_back(ValueType::real, Shape{1, 2},
                        std::vector<double>(output.begin(), output.end()));
    const EnvironmentStep next = environment.step(parts, reaction);
    for (const Var part : next.state) graph.output(part);
    graph.output(next.done);
    const auto outputs = evaluate(backend, graph, 1, inputs);
    std::array<double, 5> result{};
    for (std::size_t i = 0; i < 5; ++i) result[i] = outputs[i].elements.at(0);
    return result;
}

TEST(CartPole, FollowsTheEquationsOfGym) {
    const auto backend = make_reference_backend(Precision::f32);
    const auto task = testing::standard_task(R"({"type": "cart_pole"})");
    const Environment& environment = *environment_of(*task);
    RandomStream rng(random_key(3, "test.actions"), 0);
    for (int episode = 0; episode < 5; ++episode) {
        Pole pole{.x = static_cast<double>(rng.uniform() * 0.1F - 0.05F)};
        std::array<double, 5> state{pole.x, 0, 0, 0, 0};
        bool done = false;
        for (int step = 0; step < 60 && !done; ++step) {
            const int action = rng.chance(0.5F) ? 1 : 0;
            done = pole.step(action);
            const std::array<double, 2> output{action == 0 ? 1.0 : -1.0, 0.0};
            state =
                graph_step(*backend, environment, {state[0], state[1], state[2], state[3]}, output);
            EXPECT_NEAR(state[0], pole.x, 1e-5);
            EXPECT_NEAR(state[1], pole.x_dot, 1e-5);
            EXPECT_NEAR(state[2], pole.theta, 1e-5);
            EXPECT_NEAR(state[3], pole.theta_dot, 1e-5);
            EXPECT_EQ(state[4] != 0.0, done);
        }
        EXPECT_TRUE(done) << "random pushes must let the pole fall";
    }
}

TEST(CartPole, LeavingTheTrackEndsTheEpisode) {
    const auto backend = make_reference_backend(Precision::f32);
    const auto task = testing::standard_task(R"({"type": "cart_pole"})");
    const Environment& environment = *environment_of(*task);
    const auto done = [&](double x, double x_dot, double theta) {
        return graph_step(*backend, environment, {x, x_dot, theta, 0.0}, {0.0, 1.0})[4] != 0.0;
    };
    EXPECT_FALSE(done(2.39, 0.0, 0.0));
    EXPECT_TRUE(done(2.39, 1.0, 0.0));
    EXPECT_TRUE(done(-2.39, -1.0, 0.0));
    EXPECT_FALSE(done(0.0, 0.0, 0.2094));
    EXPECT_TRUE(done(0.0, 0.0, 0.2095));
    EXPECT_TRUE(done(0.0, 0.0, -0.2095));
}

TEST(CartPole, EqualOutputsPushLeft) {
    const auto backend = make_reference_backend(Precision::f32);
    const auto task = testing::standard_task(R"({"type": "cart_pole"})");
    const Environment& environment = *environment_of(*task);
    EXPECT_LT(graph_step(*backend, environment, {0, 0, 0, 0}, {0.5, 0.5})[1], 0.0);
    EXPECT_GT(graph_step(*backend, environment, {0, 0, 0, 0}, {0.5, 0.6})[1], 0.0);
}

/// Start of an episode from the words a rollout draws: the key's stream of that episode.
Pole start_of(const Task& task, Phase phase, std::uint64_t seed, std::uint64_t round,
              std::uint64_t episode) {
    const Tensor key = task.draws(phase, seed, round)[0];
    const auto word = [&](std::size_t i) {
        return static_cast<std::uint64_t>(
            static_cast<std::uint32_t>(static_cast<std::int32_t>(key.elements[i])));
    };
    RandomStream rng(RandomKey{word(0) | word(1) << 32}, episode);
    const auto draw = [&] { return static_cast<double>(rng.uniform() * 0.1F - 0.05F); };
    Pole pole;
    pole.x = draw();
    pole.x_dot = draw();
    pole.theta = draw();
    pole.theta_dot = draw();
    return pole;
}

/// Steps until the end of an episode under a linear policy [2, 4], bias [2].
int steps_of(Pole pole, std::span<const float> weights, int most) {
    for (int step = 1; step <= most; ++step) {
        const std::array state{pole.x, pole.x_dot, pole.theta, pole.theta_dot};
        std::array<double, 2> output{};
        for (std::size_t row = 0; row < 2; ++row) {
            output[row] = static_cast<double>(weights[8 + row]);
            for (std::size_t i = 0; i < 4; ++i)
                output[row] += static_cast<double>(weights[row * 4 + i]) * state[i];
        }
        if (pole.step(output[1] > output[0] ? 1 : 0)) return step;
    }
    return most;
}

TEST(CartPoleRollout, ReturnsEqualAHandWrittenRollout) {
    const auto task = testing::standard_task(
        R"({"type": "cart_pole", "episodes": 7, "steps": 60, "validation": {"episodes": 4}})");
    const auto backend = make_cpu_backend({});
    for (const auto& [phase, episodes] : {std::pair{Phase::train, 7}, {Phase::validation, 4}}) {
        Genome genome = testing::genome_for(*task, linear);
        // Pushes against the lean too weakly at one end, so that episodes differ in length.
        genome.weights = {0, 0, 0, 0, 0.3F, 0.1F, 1, 0.2F, 0.01F, 0};
        const Evaluation result =
            testing::evaluate_one(*backend, *task, genome, {.phase = phase, .round = 9}, 4);
        ASSERT_EQ(result.per_sample.size(), static_cast<std::size_t>(episodes));
        double total = 0.0;
        for (std::size_t episode = 0; episode < result.per_sample.size(); ++episode) {
            const int steps = steps_of(start_of(*task, phase, 4, 9, episode), genome.weights, 60);
            EXPECT_EQ(result.per_sample[episode], steps) << "episode " << episode;
            total += steps;
        }
        EXPECT_EQ(result.env_steps, static_cast<std::uint64_t>(total));
        EXPECT_NEAR(result.fitness, total / episodes, 1e-4);
    }
}

TEST(CartPoleRollout, FinishedEpisodesStandStill) {
    const auto backend = make_cpu_backend({});
    Evaluation shorter;
    for (const std::string_view network : {linear, recurrent}) {
        for (const int steps : {100, 500}) {
            const auto task = testing::standard_task(
                fmt::format(R"({{"type": "cart_pole", "episodes": 3, "steps": {}}})", steps));
            Genome genome = testing::genome_for(*task, network);
            // Always pushes right: the pole falls within about ten steps.
            std::fill(genome.weights.begin(), genome.weights.end(), 0.0F);
            genome.weights.back() = 1.0F;
            const Evaluation result = testing::evaluate_one(*backend, *task, genome);
            EXPECT_GT(result.fitness, 7.0);
            EXPECT_LT(result.fitness, 12.0);
            if (steps == 100)
                shorter = result;
            else
                EXPECT_EQ(result.per_sample, shorter.per_sample);
        }
    }
}

TEST(CartPoleRollout, BalancingPolicyReachesTheLastStep) {
    const auto backend = make_cpu_backend({});
    const auto task = testing::standard_task(R"({"type": "cart_pole"})");
    Genome genome = testing::genome_for(*task, linear);
    genome.weights = {0, 0, 0, 0, 0.5F, 1, 10, 3, 0, 0};
    const Evaluation result = testing::evaluate_one(*backend, *task, genome);
    EXPECT_EQ(result.fitness, 500.0);
    EXPECT_EQ(result.env_steps, 2500U);
}

TEST(CartPoleRollout, EpisodesAreFreshForEachRoundUnlessFixed) {
    const auto fresh = testing::standard_task(R"({"type": "cart_pole"})");
    const auto fixed = testing::standard_task(R"({"type": "cart_pole", "episode_seeds": "fixed"})");
    EXPECT_TRUE(fresh->signature().stochastic);
    EXPECT_FALSE(fixed->signature().stochastic);
    EXPECT_NE(fresh->draws(Phase::train, 1, 0), fresh->draws(Phase::train, 1, 1));
    EXPECT_NE(fresh->draws(Phase::train, 1, 0), fresh->draws(Phase::train, 2, 0));
    EXPECT_NE(fresh->draws(Phase::train, 1, 0), fresh->draws(Phase::validation, 1, 0));
    EXPECT_EQ(fixed->draws(Phase::train, 1, 0), fixed->draws(Phase::train, 1, 1));
    EXPECT_NE(fixed->draws(Phase::validation, 1, 0), fixed->draws(Phase::validation, 1, 1));
}

TEST(CartPoleRollout, EpisodesCanBeChosenByTheCaller) {
    const auto backend = make_cpu_backend({});
    const auto task = testing::standard_task(R"({"type": "cart_pole", "steps": 20})");
    const auto more = task->with_episodes(12);
    const Evaluation result = testing::evaluate_one(
        *backend, *more, testing::genome_for(*more, linear), {.phase = Phase::validation});
    EXPECT_EQ(result.per_sample.size(), 12U);
}

TEST(CartPoleRollout, BadSettingsNameKeyAndRange) {
    const auto error = [](std::string_view settings) {
        return testing::message_of<ConfigError>([&] { (void)testing::standard_task(settings); });
    };
    EXPECT_THAT(
        error(R"({"type": "cart_pole", "epsiodes": 5})"),
        AllOf(HasSubstr("task.epsiodes is not a key"), HasSubstr("did you mean \"episodes\"?")));
    EXPECT_THAT(error(R"({"type": "cart_pole", "episodes": 0})"),
                AllOf(HasSubstr("task.episodes is 0"), HasSubstr("from 1 to")));
    EXPECT_THAT(error(R"({"type": "cart_pole", "steps": 2.5})"), HasSubstr("task.steps is 2.5"));
    EXPECT_THAT(error(R"({"type": "cart_pole", "episode_seeds": "fix"})"),
                AllOf(HasSubstr("task.episode_seeds"), HasSubstr("per_generation, fixed")));
    EXPECT_THAT(error(R"({"type": "cart_pole", "episodes": 100000, "steps": 100000})"),
                HasSubstr("100000 episodes of 100000 steps are too many"));
    EXPECT_THAT(error(R"({"type": "cart_pole", "validation": {"episode": 3}})"),
                HasSubstr("task.validation.episode is not a key"));
    EXPECT_THAT(error(R"({"type": "cart_pole", "validation": 3})"),
                HasSubstr("task.validation is 3 (an object is needed)"));
}

TEST(CartPole, TheMeanOfManyEqualScoresIsThatScore) {
    const auto task = testing::standard_task(R"({"type": "cart_pole"})");
    const Tensor scores(ValueType::real, {200000}, std::vector<double>(200000, 500.0));
    Graph graph;
    graph.output(
        environment_of(*task)->fitness(graph.input("scores", ValueType::real, scores.shape)));
    const auto backend = make_cpu_backend({});
    EXPECT_EQ(evaluate(*backend, graph, 1, std::array{scores})[0].elements[0], 500.0);
}

}  // namespace
}  // namespace cambrian::evolve::cart_pole_task_test

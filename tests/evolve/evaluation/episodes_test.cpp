#include "cambrian/evolve/evaluation/episodes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/plugins/guarded.hpp"
#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/evolve/tasks/labelled_rows.hpp"
#include "cambrian/evolve/tasks/visible_task.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace episodes_tests {
namespace {

constexpr std::string_view plain_net = R"({"layers": [{"type": "dense", "activation": "tanh"}]})";
constexpr std::string_view recurrent_net =
    R"({"layers": [{"type": "rnn", "hidden": 3}, {"type": "dense"}]})";
constexpr EvaluationRound round{Phase::train, 7};

std::vector<double> scores_of(Backend& backend, const Task& task, const Genome& genome,
                              Family family = Family::graph) {
    Evaluator evaluator(backend, task, 5, family);
    const std::array<const Genome*, 1> genomes{&genome};
    return evaluator.evaluate(genomes, round).front().per_sample;
}

TEST(BestEpisode, IsTheBestThatAnEvaluationHas) {
    const auto backend = make_cpu_backend({});
    for (const char* config :
         {R"({"type": "cart_pole", "episodes": 7})", R"({"type": "pendulum", "episodes": 3})",
          R"({"type": "mountain_car", "episodes": 2})", R"({"type": "acrobot", "steps": 60})",
          R"({"type": "swing_up", "steps": 200})", R"({"type": "t_maze", "trials": 40})",
          R"({"type": "mountain_car_continuous", "steps": 50})",
          R"({"type": "double_pole", "steps": 300})",
          R"({"type": "double_pole", "fitness": "damping"})"}) {
        SCOPED_TRACE(config);
        const auto task = testing::standard_task(config);
        for (const std::string_view network : {plain_net, recurrent_net}) {
            const Genome genome = testing::genome_for(*task, network, 3);
            const std::vector<double> scores = scores_of(*backend, *task, genome);
            const auto episode = best_episode({*backend, *task, 5}, genome, round, 4000);
            ASSERT_TRUE(episode);
            const auto best = std::ranges::max_element(scores);
            EXPECT_EQ(episode->score, *best);
            EXPECT_EQ(episode->number, best - scores.begin());
            EXPECT_EQ(episode->episodes, std::ssize(scores));
            EXPECT_GT(episode->steps, 0);
            EXPECT_EQ(std::ssize(episode->pictures), episode->steps + 1);
            // Whatever begins moves.
            EXPECT_NE(episode->pictures.front().marks().size(), 0U);
        }
    }
}

TEST(BestEpisode, HasTheScoreOfAFamilyThatRoundsDifferently) {
    const auto backend = make_cpu_backend({.math = Math::fast});
    const auto task = testing::standard_task(R"({"type": "swing_up", "episodes": 5})");
    bool differ = false;
    for (const std::uint64_t seed : {4U, 5U, 6U}) {
        const Genome genome = testing::genome_for(*task, plain_net, seed);
        const std::vector<double> scores = scores_of(*backend, *task, genome, Family::interpreted);
        const auto episode =
            best_episode({*backend, *task, 5, Family::interpreted}, genome, round, 10);
        ASSERT_TRUE(episode && episode->drawn_score);
        const auto best = std::ranges::max_element(scores);
        EXPECT_EQ(episode->score, *best) << seed;
        EXPECT_EQ(episode->number, best - scores.begin()) << seed;
        EXPECT_NEAR(*episode->drawn_score, *best, 1e-2 * std::abs(*best)) << seed;
        differ = differ || *episode->drawn_score != *best;
    }
    EXPECT_TRUE(differ || !cpu::fuses_multiply_add);
}

TEST(BestEpisode, ShowsTheFirstStepsOfALongOneAndScoresAll) {
    const auto backend = make_cpu_backend({});
    const auto task = testing::standard_task(R"({"type": "mountain_car"})");
    const Genome genome = testing::genome_for(*task, plain_net, 3);
    const auto whole = best_episode({*backend, *task, 5}, genome, round, 4000);
    const auto part = best_episode({*backend, *task, 5}, genome, round, 10);
    ASSERT_TRUE(whole && part);
    EXPECT_GT(whole->steps, 10);
    EXPECT_EQ(part->steps, whole->steps);
    EXPECT_EQ(part->score, whole->score);
    ASSERT_EQ(part->pictures.size(), 11U);
    for (std::size_t i = 0; i < part->pictures.size(); ++i) {
        const auto& car = part->pictures[i].marks().back().points.front();
        EXPECT_EQ(car.x, whole->pictures[i].marks().back().points.front().x);
    }
}

TEST(BestEpisode, IsDrawnAsItWent) {
    // A network whose outputs are its biases pushes right for ever: position and flag follow.
    const auto backend = make_cpu_backend({});
    const auto task = testing::standard_task(R"({"type": "cart_pole", "episodes": 1})");
    Genome genome = testing::genome_for(*task, R"({"layers": [{"type": "dense"}]})", 0);
    ASSERT_EQ(genome.weights.size(), 10U);
    std::ranges::fill(genome.weights, 0.0F);
    genome.weights[9] = 1.0F;
    const auto episode = best_episode({*backend, *task, 5}, genome, round, 4000);
    ASSERT_TRUE(episode);
    const auto cart = [&](std::size_t step) {
        // Track, two ends, cart, pole, hinge.
        const auto& marks = episode->pictures[step].marks();
        EXPECT_EQ(marks.size(), 6U);
        return marks.back().points.front().x;
    };
    const auto pole_top = [&](std::size_t step) {
        return episode->pictures[step].marks()[4].points[1];
    };
    const auto last = static_cast<std::size_t>(episode->steps);
    EXPECT_LT(std::abs(cart(0)), 0.05);
    EXPECT_GT(cart(last), cart(0));
    // The pole falls to the left, beyond 12 degrees at the end.
    EXPECT_LT(pole_top(last).x - cart(last), -0.2);
    EXPECT_NEAR(pole_top(last).y, std::sqrt(1.0 - std::pow(pole_top(last).x - cart(last), 2)),
                1e-6);
}

TEST(BestEpisode, IsThereForEveryEnvironmentAndNoOtherTask) {
    const TaskRegistry tasks = standard_tasks();
    int environments = 0;
    for (const std::string& name : tasks.names()) {
        std::unique_ptr<Task> task;
        try {
            task = tasks.make(nlohmann::json{{"type", name}}, TaskContext{});
        } catch (const std::exception&) {
            continue;  // one that needs data
        }
        const bool environment = environment_of(*task) != nullptr;
        EXPECT_EQ(is_visible(*task), environment) << name;
        environments += environment ? 1 : 0;
    }
    EXPECT_GE(environments, 8);
    const auto xor_task = testing::standard_task(R"({"type": "xor"})");
    const auto backend = make_cpu_backend({});
    const Genome genome = testing::genome_for(*xor_task, plain_net, 0);
    EXPECT_FALSE(best_episode({*backend, *xor_task, 5}, genome, round, 10));
}

TEST(BestEpisode, IsWhatAHostTaskPlays) {
    const TaskSignature signature{.observations = 1, .outputs = 1, .time = true};
    const auto task = make_visible_task(
        "walk", signature,
        [](Population& networks, const HostRound&) {
            return std::vector<double>(networks.size(), 1.0);
        },
        [](Population& network, const HostRound& asked, std::int64_t max_steps) {
            EXPECT_EQ(network.size(), 1U);
            DrawnEpisode episode{.score = static_cast<double>(asked.round), .steps = 2};
            network.reset();
            for (std::int64_t step = 0; step < max_steps; ++step) {
                const std::vector<float> answer = network.step(std::vector<float>{1.0F}, 1);
                Picture picture({0, 0}, {1, 1}, 0.1);
                picture.circle(Picture::Ink::body, {static_cast<double>(answer.front()), 0}, 0.1);
                episode.pictures.push_back(std::move(picture));
            }
            return episode;
        });
    EXPECT_TRUE(is_visible(*task));
    const auto backend = make_cpu_backend({});
    const Genome genome = testing::genome_for(*task, recurrent_net, 1);
    const auto episode = best_episode({*backend, *task, 5}, genome, round, 3);
    ASSERT_TRUE(episode);
    EXPECT_EQ(episode->score, 7.0);
    ASSERT_EQ(episode->pictures.size(), 3U);
    const std::vector<float> expected =
        infer(*backend, genome, std::vector<float>{1.0F, 1.0F, 1.0F}, 1, 3);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_FLOAT_EQ(static_cast<float>(episode->pictures[i].marks()[0].points[0].x),
                        expected[i]);
    EXPECT_EQ(scores_of(*backend, *task, genome).size(), 0U);
}

TEST(BestEpisode, OfAHostTaskIsPlayedByTheFamilyThatIsEvaluated) {
    std::vector<float> answers;
    const auto walk = [&answers](Population& network) {
        answers.clear();
        network.reset();
        for (int step = 0; step < 50; ++step) {
            const auto observation = static_cast<float>(std::sin(step));
            answers.push_back(network.step(std::vector<float>{observation}, 1).front());
        }
    };
    const auto task = make_visible_task(
        "walk", {.observations = 1, .outputs = 1, .time = true},
        [&walk](Population& networks, const HostRound&) {
            walk(networks);
            return std::vector<double>(networks.size(), 1.0);
        },
        [&walk](Population& network, const HostRound&, std::int64_t) {
            walk(network);
            return DrawnEpisode{};
        });
    const auto backend = make_cpu_backend({.math = Math::fast});
    const Genome genome = testing::genome_for(*task, recurrent_net, 1);
    std::vector<std::vector<float>> evaluated;
    for (const Family family : {Family::graph, Family::interpreted}) {
        static_cast<void>(scores_of(*backend, *task, genome, family));
        evaluated.push_back(answers);
        ASSERT_TRUE(best_episode({*backend, *task, 5, family}, genome, round, 3));
        EXPECT_EQ(answers, evaluated.back());
    }
    EXPECT_TRUE(evaluated[0] != evaluated[1] || !cpu::fuses_multiply_add);
}

/// A task of a plug-in that is more than a task, and fails in what it is more.
class JugglingTask final : public Task, public VisibleTask, public LabelledTask {
  public:
    std::string_view type() const override { return "juggling"; }
    TaskSignature signature() const override {
        return {.observations = 1, .outputs = 1, .host = true};
    }
    DrawnEpisode play(Population&, const HostRound&, std::int64_t) const override { throw 7; }
    std::shared_ptr<const LabelledRows> labelled_rows(Phase) const override { throw 8; }
};

TEST(BestEpisode, WhatAPluginThrowsInItNamesThePlugin) {
    const TaskKind kind = guarded_task(
        {"juggling", "",
         [](const nlohmann::json&, const TaskContext&) { return std::make_unique<JugglingTask>(); },
         nullptr},
        "circus");
    const std::unique_ptr<Task> task = kind.make({}, {});
    ASSERT_TRUE(is_visible(*task));
    const auto backend = make_cpu_backend({.threads = 1});
    const Genome genome = testing::genome_for(*task, plain_net);
    const std::string named =
        "task \"juggling\" of the plug-in \"circus\" fails (it throws what is no exception) mend "
        "the plug-in";
    EXPECT_EQ(testing::message_of<ConfigError>([&] {
                  static_cast<void>(best_episode({*backend, *task, 5}, genome, round, 3));
              }),
              named);
    EXPECT_EQ(testing::message_of<ConfigError>(
                  [&] { static_cast<void>(labelled_rows(*task, Phase::train)); }),
              named);
}

}  // namespace
}  // namespace episodes_tests
}  // namespace cambrian::evolve

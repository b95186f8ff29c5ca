#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Runs whose individuals learn: where they do so changes no byte.
namespace cambrian::distributed::learning {
namespace {

using evolve::LearningMode;
using testing::HasSubstr;

std::string results(Experiment experiment, const std::filesystem::path& directory,
                    const Launch& settings) {
    experiment.directory = directory;
    const Launched launched = launch(experiment, settings);
    EXPECT_TRUE(launched.worker_errors.empty());
    EXPECT_TRUE(launched.reporter.warnings.empty());
    return results_of(directory);
}

class LearningRun : public ::testing::TestWithParam<LearningMode> {};

TEST_P(LearningRun, IsTheSameOnManyRanks) {
    const TemporaryDirectory place;
    for (const bool stochastic : {false, true}) {
        Experiment experiment = learning_experiment(GetParam(), stochastic);
        const auto at = [&](const std::string& name) {
            return place.path() / (name + (stochastic ? "s" : ""));
        };
        const std::string expected = results(experiment, at("alone"), {});
        for (const int ranks : {2, 4}) {
            experiment.distribution.shard_size = static_cast<std::uint64_t>(ranks) - 1;
            // Any number of genomes may be made once more, where that is right.
            EXPECT_EQ(expected, results(experiment, at(std::to_string(ranks)),
                                        {.ranks = ranks, .remaking_share = 1e9}));
        }
    }
}

/// New species are founded by children as they are after learning, wherever that was.
TEST_P(LearningRun, OfSpeciesIsTheSameOnManyRanks) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(GetParam());
    experiment.strategy = "species";
    experiment.species.threshold = 0.5;
    experiment.species.target = 6;
    const std::string expected = results(experiment, place.path() / "alone", {});
    for (const int ranks : {2, 4}) {
        EXPECT_EQ(expected, results(experiment, place.path() / std::to_string(ranks),
                                    {.ranks = ranks, .remaking_share = 1e9}));
    }
}

TEST_P(LearningRun, InterruptsChangeNoByte) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(GetParam());
    experiment.checkpoint.every = 1000;  // All that follows the first one is made once more.
    const std::string expected = results(experiment, place.path() / "whole", {});
    experiment.directory = place.path() / "pieces";
    EXPECT_GE(run_in_pieces(experiment, 1, InterruptedAt::end).interrupts, 2);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST_P(LearningRun, IsFitterThanOneWithout) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(GetParam());
    experiment.learning.steps = 20;
    experiment.directory = place.path() / "learning";
    const std::optional<double> learning = launch(experiment, {}).result.best_fitness;
    experiment.learning.mode = LearningMode::off;
    experiment.directory = place.path() / "off";
    EXPECT_GT(learning, launch(experiment, {}).result.best_fitness);
}

TEST_P(LearningRun, LeavesWhatWasLearned) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(GetParam());
    experiment.directory = place.path();
    const std::optional<double> fitness = launch(experiment, {}).result.best_fitness;
    ASSERT_TRUE(fitness);
    const NetworkFile best = read_network(place.path() / "best.cmb");
    const auto backend = make_cpu_backend({});
    const std::vector<const evolve::Genome*> one{&best.genome};
    EXPECT_NEAR(
        evolve::Evaluator(*backend, *experiment.task, experiment.seed).evaluate(one, {})[0].fitness,
        *fitness, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Modes, LearningRun,
                         ::testing::Values(LearningMode::baldwinian, LearningMode::lamarckian),
                         [](const auto& instance) {
                             return std::string(evolve::learning_mode_names.at(
                                 static_cast<std::size_t>(instance.param)));
                         });

/// Mini-batches of learning are drawn anew in each generation: a champion that was carried over
/// keeps what it learned when it was evaluated last, which its fitness is of.
TEST(LearnedChampion, HasTheFitnessOfWhatItLearned) {
    const TemporaryDirectory place;
    const std::shared_ptr<const evolve::Task> other_task = evolve::standard_tasks().make(
        nlohmann::json::parse(
            R"({"type": "dataset", "loss": {"type": "cross_entropy"}, "split": {"validation": 0.2},
                "source": {"type": "blobs", "features": 2, "classes": 3, "rows": 60, "spread": 2}})"),
        {});
    for (const char* kind : {"once", "always", "changes"})
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            Experiment experiment = learning_experiment(LearningMode::baldwinian);
            experiment.seed = seed;
            experiment.stop.generations = 10;
            experiment.validation.every = 1;
            experiment.learning.batch = 2;
            experiment.population.elite_fraction = 0.5;
            if (kind == std::string_view("always")) experiment.reevaluate = Reevaluate::always;
            if (kind == std::string_view("changes")) experiment.changes.push_back({5, other_task});
            const auto directory = place.path() / (kind + std::to_string(seed));
            static_cast<void>(results(experiment, directory, {}));
            const NetworkFile best = read_network(directory / "best.cmb");
            const auto backend = make_cpu_backend({.threads = 1});
            evolve::Evaluator evaluator(*backend, *experiment.task_at(best.generation),
                                        experiment.seed);
            const std::vector<const evolve::Genome*> one{&best.genome};
            EXPECT_NEAR(evaluator.evaluate(one, {}).front().fitness, best.fitness, 1e-6)
                << kind << seed;
        }
}

/// It learns once more in each generation, from other rows: another network than the one that
/// failed.
TEST(LearnedChampion, IsTestedAgainWhereItLearnsAnew) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(LearningMode::baldwinian);
    experiment.task =
        solvable_task(experiment.task,
                      {.candidate = -1e300, .phase = evolve::Phase::validation, .passes = 1e300});
    experiment.reevaluate = Reevaluate::always;
    experiment.population.elite_fraction = 0.5;
    experiment.stop.generations = 12;
    experiment.stop.solved = true;
    experiment.directory = place.path();
    bool stayed = false;
    evolve::BirthId last = 0;
    for (const GenerationReport& report : launch(experiment, {}).reporter.reports) {
        EXPECT_EQ(report.tests.count, report.generation + 1);
        stayed = stayed || (report.generation > 0 && report.tests.origin == last);
        last = report.tests.origin;
    }
    EXPECT_TRUE(stayed) << "there was none to be tested again";
}

TEST(LearningSettings, WhatIsLearnedElsewhereCannotBeMadeHere) {
    Experiment experiment = learning_experiment(LearningMode::lamarckian);
    experiment.distribution.exchange = Exchange::genomes;
    EXPECT_THAT([&] { check_learning(experiment); },
                testing::ThrowsMessage<ConfigError>(HasSubstr("set the exchange to \"births\"")));
    experiment.learning.mode = LearningMode::baldwinian;
    check_learning(experiment);
}

}  // namespace
}  // namespace cambrian::distributed::learning

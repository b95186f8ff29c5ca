#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// What a change of the task in the middle of a run means to those who live through it.
namespace cambrian::distributed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The individuals of each generation.
std::map<std::uint64_t, std::vector<LoggedIndividual>> by_generation(
    const std::filesystem::path& directory) {
    std::map<std::uint64_t, std::vector<LoggedIndividual>> found;
    for (const IndividualBlock& block : individuals_of(directory)) {
        auto& all = found[block.generation];
        all.insert(all.end(), block.individuals.begin(), block.individuals.end());
    }
    return found;
}

TEST(TaskChange, MembersAreEvaluatedAnew) {
    const TemporaryDirectory place;
    const Experiment experiment = changing_experiment(place.path() / "run");
    static_cast<void>(launch(experiment, {.ranks = 2}));
    const auto generations = by_generation(experiment.directory);
    ASSERT_EQ(generations.size(), 8U);
    for (std::uint64_t generation = 1; generation < 8; ++generation) {
        const bool changes = generation == 3 || generation == 5;
        std::map<std::uint64_t, double> before;
        for (const LoggedIndividual& one : generations.at(generation - 1)) {
            before[one.id] = one.fitness;
        }
        int carried = 0;
        for (const LoggedIndividual& one : generations.at(generation)) {
            if (one.recipe != evolve::Recipe::carry) {
                continue;
            }
            ++carried;
            const double then = before.at(one.parents.front());
            EXPECT_EQ(one.evaluated, changes) << generation;
            EXPECT_EQ(one.fitness, changes ? -then : then) << generation;
        }
        EXPECT_EQ(carried, 3) << generation;
    }
}

TEST(TaskChange, TheLogTellsTheTaskAndTheBestIsItsOwn) {
    const TemporaryDirectory place;
    Experiment experiment = changing_experiment(place.path() / "run");
    experiment.changes.pop_back();
    const Launched launched = launch(experiment, {});
    std::vector<std::uint64_t> tasks;
    double best = evolve::worst_fitness;
    for (const GenerationReport& report : launched.reporter.reports) {
        tasks.push_back(report.task.value());
        best = *report.task == 1 ? std::max(best, report.best) : best;
    }
    EXPECT_THAT(tasks, ElementsAre(0, 0, 0, 1, 1, 1, 1, 1));
    EXPECT_EQ(launched.result.best_fitness, best);
    const NetworkFile file = read_network(experiment.directory / "best.cmb");
    EXPECT_EQ(file.fitness, best);
    EXPECT_GE(file.generation, 3U);
    EXPECT_THAT(text_of(experiment.directory / "generations.csv"),
                HasSubstr("validated,parameters,task,env_steps"));
}

TEST(TaskChange, TheBestOfATaskThatHasPassedIsNone) {
    const TemporaryDirectory place;
    Experiment experiment = changing_experiment(place.path() / "run");
    // After the change nobody has a fitness.
    experiment.changes = {{3,
                           evolve::make_callback_task(2, 1,
                                                      [](evolve::Population& population) {
                                                          return std::vector<double>(
                                                              population.size(),
                                                              evolve::worst_fitness);
                                                      }),
                           "none"}};
    experiment.stop.generations = 5;
    const RunResult result = launch(experiment, {}).result;
    EXPECT_FALSE(result.best_fitness);
    EXPECT_LT(read_network(experiment.directory / "best.cmb").generation, 3U);
}

TEST(TaskChange, GoalsCountOnceTheLastTaskHasCome) {
    const TemporaryDirectory place;
    Experiment experiment = changing_experiment(place.path() / "run");
    experiment.stop.fitness = -1e9;
    const RunResult result = launch(experiment, {}).result;
    EXPECT_EQ(result.reason, StopReason::fitness);
    EXPECT_EQ(result.last.generation, 5U);
    experiment = changing_experiment(place.path() / "solved");
    const evolve::SolvedTest any{.candidate = -1e9, .phase = evolve::Phase::train, .passes = -1e9};
    experiment.task = solvable_task(experiment.task, any);
    for (evolve::TaskChange& change : experiment.changes) {
        change.task = solvable_task(change.task, any);
    }
    experiment.stop.solved = true;
    const RunResult solved = launch(experiment, {.ranks = 2}).result;
    EXPECT_EQ(solved.reason, StopReason::solved);
    EXPECT_EQ(solved.last.generation, 5U);
}

TEST(TaskChange, NetworksAreValidatedOnTheirOwnTask) {
    const TemporaryDirectory place;
    Experiment experiment = changing_cart_pole(place.path() / "run");
    experiment.validation.every = 1;
    const Launched launched = launch(experiment, {});
    // The same networks judged by hand: those of a task are judged by it.
    const NetworkFile file = read_network(experiment.directory / "best.cmb");
    EXPECT_GE(file.generation, 5U);
    EXPECT_EQ(launched.result.best_validated, file.validated);
    std::optional<double> best;
    for (const GenerationReport& report : launched.reporter.reports) {
        if (*report.task == 2 && (!best || *report.validated > *best)) {
            best = report.validated;
        }
    }
    EXPECT_EQ(file.validated, best);
}

TEST(TaskChange, ContradictionsAreRefused) {
    const TemporaryDirectory place;
    const auto refused = [&](const std::vector<evolve::TaskChange>& changes,
                             const std::string& why) {
        Experiment experiment = changing_experiment(place.path() / "run");
        experiment.changes = changes;
        EXPECT_THAT([&] { static_cast<void>(launch(experiment, {})); },
                    ThrowsMessage<ConfigError>(HasSubstr(why)));
    };
    const auto nothing = [](evolve::Population&) { return std::vector<double>(); };
    refused({{0, sum_task(-1.0)}}, "task.changes[0].at is 0");
    refused({{2, sum_task(-1.0)}, {2, sum_task()}}, "task.changes[1].at is 2");
    refused({{2, evolve::make_callback_task(3, 1, nothing)}}, "it gives networks 3 values");
    refused({{2, evolve::make_callback_task(2, 2, nothing)}}, "reads 2");
    Experiment steady = changing_experiment(place.path() / "run");
    steady.steady_state = {.window = 12, .block = 3};
    EXPECT_THAT([&] { static_cast<void>(launch(steady, {})); },
                ThrowsMessage<ConfigError>(HasSubstr("never evaluated again")));
}

TEST(TaskChange, OtherTasksAreOtherRuns) {
    Experiment experiment = changing_experiment({});
    const std::string identity = run_identity(experiment);
    experiment.changes.back().at = 6;
    EXPECT_NE(run_identity(experiment), identity);
    experiment.changes.clear();
    EXPECT_EQ(run_identity(experiment).find("changes"), std::string::npos);
}

}  // namespace
}  // namespace cambrian::distributed

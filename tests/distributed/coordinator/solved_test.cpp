#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Runs that end when the task is solved (run.stop.solved).
namespace cambrian::distributed {
namespace solved_tests {
namespace {

using evolve::Phase;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double any_fitness = -1e300;

/// xor whose test is a higher fitness: the same for a network whenever it is tested.
Experiment fixed_test(const std::filesystem::path& directory, double candidate, double passes) {
    Experiment experiment = xor_experiment(directory);
    experiment.task = solvable_task(
        experiment.task, {.candidate = candidate, .phase = Phase::test, .passes = passes});
    experiment.stop.generations = 40;
    experiment.stop.solved = true;
    return experiment;
}

/// The fitness of best.cmb in a phase and round.
double fitness_of_best(const Experiment& experiment, Phase phase, std::uint64_t round) {
    const NetworkFile best = read_network(experiment.directory / "best.cmb");
    const auto backend = make_cpu_backend({.threads = 1});
    evolve::Evaluator evaluator(*backend, *experiment.task, experiment.seed,
                                evolve::family_of(experiment.family, experiment.variation));
    const std::array<const evolve::Genome*, 1> genomes{&best.genome};
    return evaluator.evaluate(genomes, {phase, round}).front().fitness;
}

nlohmann::json status_of(const Experiment& experiment) {
    return nlohmann::json::parse(text_of(experiment.directory / "status.json"));
}

/// What each generation's best does in its test, from a run that ends late.
std::vector<GenerationReport> all_tested() {
    const TemporaryDirectory place;
    return launch(long_cart_pole_experiment(place.path() / "all"), {}).reporter.reports;
}

double hardest(const std::vector<GenerationReport>& reports) {
    double value = any_fitness;
    for (const GenerationReport& report : reports) {
        value = std::max(value, report.validated.value_or(value));
    }
    return value;
}

TEST(Solved, EndsWithTheFirstBestThatPasses) {
    const TemporaryDirectory place;
    const std::vector<GenerationReport> reports = all_tested();
    const auto wanted = std::ranges::find(reports, hardest(reports), &GenerationReport::validated);
    ASSERT_GT(wanted->generation, 1U);
    Experiment experiment =
        solvable_cart_pole(place.path() / "solved", any_fitness, *wanted->validated);
    const RunResult result = launch(experiment, {}).result;
    EXPECT_EQ(result.reason, StopReason::solved);
    EXPECT_EQ(result.solved, true);
    EXPECT_EQ(result.last.generation, wanted->generation);
    EXPECT_EQ(result.last.evaluations, wanted->evaluations);
    EXPECT_EQ(result.last.tests.count, wanted->generation + 1);
    // The network that solved it, though others before it may have been fitter.
    EXPECT_EQ(fitness_of_best(experiment, Phase::validation, wanted->generation),
              *wanted->validated);
    const nlohmann::json status = status_of(experiment);
    EXPECT_EQ(status["solved"], true);
    EXPECT_EQ(status["reason"], "solved");
    EXPECT_EQ(status["champion_tests"], wanted->generation + 1);
}

TEST(Solved, OnlyCandidatesAreTested) {
    const TemporaryDirectory place;
    const std::vector<GenerationReport> reports = all_tested();
    const double candidate = reports[7].best;
    const auto candidates = std::ranges::count_if(
        reports, [&](const GenerationReport& report) { return report.best >= candidate; });
    ASSERT_GT(candidates, 0);
    ASSERT_LT(candidates, 15);
    Experiment experiment = solvable_cart_pole(place.path() / "unsolved", candidate, 1e300);
    experiment.stop.require_solved = true;
    const RunResult result = launch(experiment, {}).result;
    EXPECT_EQ(result.reason, StopReason::generations);
    EXPECT_EQ(result.solved, false);
    EXPECT_EQ(result.last.tests.count, static_cast<std::uint64_t>(candidates));
    EXPECT_EQ(result.last.evaluations, reports.back().evaluations);
    EXPECT_EQ(status_of(experiment)["solved"], false);
    EXPECT_EQ(status_of(experiment)["exit_code"], 6);
}

TEST(Solved, NetworkThatFailedIsNotTestedAgainWhereNothingIsDrawn) {
    const TemporaryDirectory place;
    Experiment experiment = fixed_test(place.path() / "run", any_fitness, 1e300);
    const Launched launched = launch(experiment, {});
    // Elites keep their fitness: another best is a fitter one.
    std::uint64_t improvements = 0;
    double best = any_fitness;
    for (const GenerationReport& report : launched.reporter.reports) {
        improvements += report.best > best ? 1U : 0U;
        best = std::max(best, report.best);
        EXPECT_EQ(report.tests.count, improvements) << report.generation;
    }
    EXPECT_LT(improvements, 40U);
}

TEST(Solved, NetworkThatFailedIsNotTestedAgainInAWorldWithOneStart) {
    const TemporaryDirectory place;
    const std::shared_ptr<const evolve::Task> task = evolve::standard_tasks().make(
        nlohmann::json::parse(R"({"type": "double_pole", "hold_steps": 200})"), {});
    Experiment experiment = callback_experiment(
        place.path() / "run",
        solvable_task(task, {.candidate = any_fitness, .phase = Phase::champion, .passes = 1e300}));
    experiment.stop.generations = 20;
    experiment.stop.solved = true;
    const RunResult result = launch(experiment, {}).result;
    EXPECT_EQ(result.last.generation, 19U);
    EXPECT_GT(result.last.tests.count, 0U);
    EXPECT_LT(result.last.tests.count, 20U);
}

TEST(Solved, EveryBirthMayBeACandidate) {
    const TemporaryDirectory place;
    Experiment experiment = fixed_test(place.path() / "run", any_fitness, 1e300);
    experiment.stop.candidates = 1000;
    for (const GenerationReport& report : launch(experiment, {}).reporter.reports) {
        // Once each: who stays is not tested again.
        EXPECT_EQ(report.tests.count, report.evaluations) << report.generation;
    }
}

TEST(Solved, OfSeveralCandidatesTheBestInItsTestSolves) {
    const TemporaryDirectory place;
    const double passes = hardest(all_tested());
    Experiment alone = solvable_cart_pole(place.path() / "alone", any_fitness, passes);
    Experiment several = solvable_cart_pole(place.path() / "several", any_fitness, passes);
    several.stop.candidates = 6;
    several.validation.every = 1;
    const RunResult first = launch(alone, {}).result;
    const RunResult second = launch(several, {}).result;
    ASSERT_EQ(second.reason, StopReason::solved);
    EXPECT_LE(second.last.generation, first.last.generation);
    EXPECT_GT(second.last.tests.count, second.last.generation + 1);
    EXPECT_LE(second.last.tests.count, 6 * (second.last.generation + 1));
    const double reached = fitness_of_best(several, Phase::validation, second.last.generation);
    EXPECT_GE(reached, passes);
    // What its generation has validated is that network, too.
    EXPECT_EQ(read_network(several.directory / "best.cmb").validated, reached);
    // With the mark where it came to, nobody but that network passes.
    Experiment again = solvable_cart_pole(place.path() / "again", any_fitness, reached);
    again.stop.candidates = 6;
    const RunResult third = launch(again, {}).result;
    EXPECT_EQ(third.last.generation, second.last.generation);
    EXPECT_EQ(fitness_of_best(again, Phase::validation, third.last.generation), reached);
}

TEST(Solved, TrainFitnessMayBeTheTest) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.task = solvable_task(
        experiment.task, {.candidate = any_fitness, .phase = Phase::train, .passes = 3.05});
    experiment.stop.generations = 60;
    experiment.stop.solved = true;
    const Launched launched = launch(experiment, {});
    EXPECT_EQ(launched.result.reason, StopReason::solved);
    EXPECT_EQ(launched.result.last.tests.count, 0U);
    for (const GenerationReport& report : launched.reporter.reports) {
        EXPECT_EQ(report.tests.passed, report.best >= 3.05) << report.generation;
    }
    // A run that goes on knows that it has ended.
    const Launched again = launch(experiment, {.start = Start::resume});
    EXPECT_EQ(again.result.reason, StopReason::solved);
    EXPECT_TRUE(again.reporter.reports.empty());
}

TEST(Solved, FourAnswersOnTheRightSideSolveXor) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.variation.mutation.weight_power = 0.5F;
    experiment.stop.generations = 300;
    experiment.stop.solved = true;
    const RunResult result = launch(experiment, {}).result;
    ASSERT_EQ(result.reason, StopReason::solved);
    EXPECT_EQ(fitness_of_best(experiment, Phase::champion, 0), 1.0);
}

/// Kinds of runs that must end alike however they are run.
std::vector<Experiment> kinds() {
    Experiment steady = fixed_test({}, 3.0, 3.05);
    steady.name = "steady";
    steady.steady_state = {.window = 15, .block = 5};
    steady.stop.generations = 300;
    Experiment islands = fixed_test({}, 3.0, 3.05);
    islands.name = "islands";
    islands.islands.count = 3;
    Experiment several = solvable_cart_pole({}, 12.0, hardest(all_tested()));
    several.name = "several";
    several.stop.candidates = 3;
    return {solvable_cart_pole({}, 12.0, hardest(all_tested())), fixed_test({}, 3.0, 3.05), steady,
            islands, several};
}

TEST(Solved, RanksAndInterruptsChangeNothing) {
    const TemporaryDirectory place;
    for (Experiment experiment : kinds()) {
        experiment.directory = place.path() / (experiment.name + "-whole");
        const RunResult whole = launch(experiment, {}).result;
        ASSERT_EQ(whole.reason, StopReason::solved) << experiment.name;
        ASSERT_GT(whole.last.generation, 1U) << experiment.name;
        const std::string expected = results_of(experiment.directory);

        experiment.directory = place.path() / (experiment.name + "-ranks");
        EXPECT_EQ(launch(experiment, {.ranks = 3}).result.last.tests.count, whole.last.tests.count);
        EXPECT_EQ(expected, results_of(experiment.directory)) << experiment.name;

        experiment.directory = place.path() / (experiment.name + "-pieces");
        const auto [interrupts, last] = run_in_pieces(experiment, 1, InterruptedAt::end);
        EXPECT_GE(interrupts, 1);
        EXPECT_EQ(last.reason, StopReason::solved) << experiment.name;
        EXPECT_EQ(last.last.tests.count, whole.last.tests.count) << experiment.name;
        EXPECT_EQ(expected, results_of(experiment.directory)) << experiment.name;
    }
}

TEST(Solved, RunThatNoLongerAsksGoesOn) {
    const TemporaryDirectory place;
    Experiment experiment = fixed_test(place.path() / "run", 3.0, 3.05);
    const RunResult first = launch(experiment, {}).result;
    ASSERT_EQ(first.reason, StopReason::solved);
    experiment.stop.solved = false;
    experiment.stop.generations = first.last.generation + 3;
    const RunResult second = launch(experiment, {.start = Start::resume}).result;
    EXPECT_EQ(second.reason, StopReason::generations);
    EXPECT_EQ(second.solved, std::nullopt);
    EXPECT_EQ(second.last.generation, first.last.generation + 2);
}

TEST(Solved, RunThatAsksAgainCountsOn) {
    const TemporaryDirectory place;
    Experiment experiment = fixed_test(place.path() / "run", any_fitness, 1e300);
    experiment.stop.candidates = 1000;
    const auto run_to = [&](std::uint64_t generations, bool solved, Start start) {
        experiment.stop.generations = generations;
        experiment.stop.solved = solved;
        return launch(experiment, {.start = start}).result.last;
    };
    const GenerationReport asked = run_to(4, true, Start::fresh);
    EXPECT_EQ(asked.tests.count, asked.evaluations);
    const GenerationReport unasked = run_to(6, false, Start::resume);
    EXPECT_EQ(unasked.tests.count, asked.tests.count);
    EXPECT_TRUE(status_of(experiment)["champion_tests"].is_null());
    const GenerationReport again = run_to(8, true, Start::resume);
    const std::uint64_t births = again.evaluations - unasked.evaluations;
    // A best that nobody tested meanwhile is tested, too.
    EXPECT_GE(again.tests.count, asked.tests.count + births);
    EXPECT_LE(again.tests.count, asked.tests.count + births + 1);
    EXPECT_EQ(status_of(experiment)["champion_tests"], again.tests.count);
}

TEST(Solved, WhoPassedIsTestedAgainWhereARunAsksAgain) {
    const TemporaryDirectory place;
    Experiment experiment = fixed_test(place.path() / "run", 3.0, 3.05);
    const RunResult first = launch(experiment, {}).result;
    ASSERT_EQ(first.reason, StopReason::solved);
    experiment.stop.solved = false;
    experiment.stop.generations = first.last.generation + 2;
    static_cast<void>(launch(experiment, {.start = Start::resume}));
    experiment.stop.solved = true;
    experiment.stop.generations = first.last.generation + 20;
    const RunResult again = launch(experiment, {.start = Start::resume}).result;
    EXPECT_EQ(again.reason, StopReason::solved);
    EXPECT_EQ(again.last.generation, first.last.generation + 2);
    EXPECT_EQ(again.last.tests.count, first.last.tests.count + 1);
}

TEST(Solved, TaskThatDoesNotSayWhatSolvesItIsRefused) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment(place.path() / "run", sum_task());
    experiment.stop.solved = true;
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {})); },
                ThrowsMessage<ConfigError>(HasSubstr("task callback does not say what solves it")));
    EXPECT_FALSE(std::filesystem::exists(experiment.directory));
}

TEST(Solved, MarkThatNoNetworkReachesIsRefused) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.task = solvable_task(experiment.task, {.unreachable = "task.steps is 7 (why) why"});
    experiment.stop.solved = true;
    EXPECT_THAT(
        [&] { static_cast<void>(launch(experiment, {})); },
        ThrowsMessage<ConfigError>(HasSubstr("run.stop.solved is true and task.steps is 7")));
    EXPECT_FALSE(std::filesystem::exists(experiment.directory));
}

}  // namespace
}  // namespace solved_tests
}  // namespace cambrian::distributed

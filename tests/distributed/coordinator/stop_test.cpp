#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cambrian/tests/distributed/support/run_support.hpp"

// When a run ends by itself.
namespace cambrian::distributed {
namespace {

TEST(Run, StopsAtAFitness) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.stop.fitness = -1e9;
    const Launched launched = launch(experiment, {});
    EXPECT_EQ(launched.result.reason, StopReason::fitness);
    EXPECT_EQ(launched.reporter.reports.size(), 1U);
}

TEST(Run, StopsAtTheMeanOrTheLeastFitness) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "all");
    experiment.stop.generations = 12;
    const auto reports = launch(experiment, {}).reporter.reports;
    for (const FitnessOf of : {FitnessOf::mean, FitnessOf::least}) {
        const auto value = [&](const GenerationReport& report) {
            return of == FitnessOf::mean ? report.mean : report.worst;
        };
        // The highest of all, which no generation before reaches, nor its best makes up for.
        const auto wanted = std::ranges::max_element(reports, {}, value);
        ASSERT_EQ(wanted->invalid, 0U);
        ASSERT_LT(value(*wanted), wanted->best);
        experiment.directory = place.path() / fitness_of_names[static_cast<std::size_t>(of)];
        experiment.stop.fitness_of = of;
        experiment.stop.fitness = value(*wanted);
        const Launched launched = launch(experiment, {});
        EXPECT_EQ(launched.result.reason, StopReason::fitness);
        EXPECT_EQ(launched.result.last.generation, wanted->generation);
        EXPECT_EQ(launched.result.solved, true);
    }
}

TEST(Run, AGenerationWithAnInvalidOneHasNoLeastFitness) {
    const TemporaryDirectory place;
    const evolve::TaskSignature signature{.observations = 2, .outputs = 1};
    Experiment experiment =
        callback_experiment(place.path() / "run",
                            evolve::make_simulator_task(
                                "fails_at_first", signature,
                                [](evolve::Population& population, const evolve::HostRound& round) {
                                    if (round.round < 3) {
                                        population.fail(0);
                                    }
                                    return std::vector<double>(population.size(), 1.0);
                                }));
    experiment.stop.fitness_of = FitnessOf::least;
    experiment.stop.fitness = 1.0;
    const Launched launched = launch(experiment, {});
    ASSERT_GT(launched.reporter.reports[0].invalid, 0U);
    ASSERT_EQ(launched.reporter.reports[0].worst, 1.0);
    EXPECT_EQ(launched.result.reason, StopReason::fitness);
    EXPECT_EQ(launched.result.last.generation, 3U);
}

TEST(Run, StopsAfterEvaluations) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.stop.evaluations = 31;
    const Launched launched = launch(experiment, {});
    EXPECT_EQ(launched.result.reason, StopReason::evaluations);
    EXPECT_EQ(launched.reporter.reports.size(), 2U);
}

constexpr double seconds_of_a_generation = 0.02;

/// Each generation takes at least so long; the last one is far away.
Experiment slow_experiment(const std::filesystem::path& directory) {
    Experiment experiment = callback_experiment(
        directory, watched_task(sum_task(), [](auto) {
            std::this_thread::sleep_for(std::chrono::duration<double>(seconds_of_a_generation));
        }));
    experiment.stop.generations = 100;
    experiment.checkpoint.every = 1000;
    return experiment;
}

TEST(Run, StopsAfterSeconds) {
    const TemporaryDirectory place;
    Experiment experiment = slow_experiment(place.path() / "run");
    experiment.stop.seconds = 0.2;
    const Launched launched = launch(experiment, {});
    EXPECT_EQ(launched.result.reason, StopReason::seconds);
    EXPECT_GE(launched.result.last.elapsed_seconds, experiment.stop.seconds);
    EXPECT_LE(launched.reporter.reports.size(), 11U);
    const Launched resumed = launch(experiment, {.start = Start::resume});
    EXPECT_EQ(resumed.result.reason, StopReason::seconds);
    EXPECT_TRUE(resumed.reporter.reports.empty());
}

/// An interrupt leaves its seconds in a checkpoint, a death in the journal.
TEST(Run, StopsAfterSecondsOverAllResumes) {
    const TemporaryDirectory place;
    for (const bool killed : {false, true}) {
        Experiment experiment = slow_experiment(place.path() / (killed ? "killed" : "interrupted"));
        std::atomic<int> interrupt{0};
        double before = 0.0;
        const auto end = [&](RecordedNetwork&, const GenerationReport& report) {
            if (report.elapsed_seconds < 0.16) {
                return;
            }
            before = report.elapsed_seconds;
            interrupt = 1;
            if (killed) {
                throw std::runtime_error("killed");
            }
        };
        const Launch first{.on_generation = end, .interrupt = &interrupt};
        if (killed) {
            EXPECT_THROW(static_cast<void>(launch(experiment, first)), std::runtime_error);
        } else {
            EXPECT_EQ(launch(experiment, first).result.reason, StopReason::interrupted);
        }
        // Room for three more, where eight and more would come if its time began again.
        experiment.stop.seconds = before + 2.0 * seconds_of_a_generation;
        const Launched resumed = launch(experiment, {.start = Start::resume});
        EXPECT_EQ(resumed.result.reason, StopReason::seconds);
        EXPECT_GE(resumed.result.last.elapsed_seconds, experiment.stop.seconds);
        EXPECT_LE(resumed.reporter.reports.size(), 3U);
    }
}

}  // namespace
}  // namespace cambrian::distributed

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

/// A run on one rank with such a backend.
RecordingReporter run_on(const Experiment& experiment, const CpuOptions& options) {
    const auto backend = make_cpu_backend(options);
    RecordingReporter reporter;
    const std::atomic<int> interrupt{0};
    Communicator communicator = make_local_communicator();
    static_cast<void>(
        run_coordinator(communicator, *backend, experiment, Start::fresh, reporter, interrupt));
    return reporter;
}

/// A run on one rank whose backend is refused memory after so many allocations.
RecordingReporter run_with(const Experiment& experiment, int allocations) {
    return run_on(experiment, {.math = Math::strict,
                               .refuse_memory = [&allocations] { return --allocations < 0; }});
}

/// Sum of a column of timings.csv, counted from the last one.
int sum_of(const Experiment& experiment, int column) {
    std::istringstream lines(text_of(experiment.directory / "timings.csv"));
    int sum = 0;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        for (int i = 0; i < column; ++i) line.resize(line.rfind(','));
        sum += std::stoi(line.substr(line.rfind(',') + 1));
    }
    return sum;
}
int fallbacks_of(const Experiment& experiment) {
    return sum_of(experiment, 2);
}
int splits_of(const Experiment& experiment) {
    return sum_of(experiment, 3);
}

TEST(Fallback, WorkWithoutMemoryIsDoneElsewhereAndCounted) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "enough");
    experiment.distribution.fallback = [] { return make_cpu_backend({.math = Math::strict}); };
    static_cast<void>(run_with(experiment, 1000000));
    const std::string expected = results_of(experiment.directory);
    EXPECT_EQ(fallbacks_of(experiment), 0);
    for (const int allocations : {0, 3}) {
        experiment.directory = place.path() / std::to_string(allocations);
        static_cast<void>(run_with(experiment, allocations));
        EXPECT_EQ(results_of(experiment.directory), expected) << allocations;
        EXPECT_GT(fallbacks_of(experiment), 0) << allocations;
    }
}

TEST(Fallback, WorkAboveTheMemoryLimitIsDoneElsewhereAndCounted) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "enough");
    experiment.distribution.fallback = [] { return make_cpu_backend({.math = Math::strict}); };
    static_cast<void>(run_with(experiment, 1000000));
    const std::string expected = results_of(experiment.directory);
    // The first has no room for the weights of one network.
    for (const int limit : {10, 1000}) {
        experiment.directory = place.path() / std::to_string(limit);
        static_cast<void>(run_on(experiment, {.math = Math::strict, .memory_limit = limit}));
        EXPECT_EQ(results_of(experiment.directory), expected) << limit;
        EXPECT_GT(fallbacks_of(experiment), 0) << limit;
    }
}

TEST(Fallback, WhoFindsNoMemoryLearnsElsewhere) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment(
        {}, evolve::standard_tasks().make(
                nlohmann::json::parse(R"({"type": "dataset", "source": {"type": "blobs"},
                    "loss": {"type": "cross_entropy"}})"),
                {}));
    experiment.stop = {};
    experiment.stop.generations = 2;
    experiment.population.size = 6;
    experiment.learning.mode = evolve::LearningMode::lamarckian;
    experiment.learning.steps = 2;
    experiment.distribution.fallback = [] { return make_cpu_backend({.math = Math::strict}); };
    experiment.directory = place.path() / "enough";
    static_cast<void>(run_with(experiment, 1000000));
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "little";
    static_cast<void>(run_on(experiment, {.math = Math::strict, .memory_limit = 1000}));
    EXPECT_EQ(results_of(experiment.directory), expected);
    EXPECT_GT(fallbacks_of(experiment), 2);
}

TEST(Fallback, WithoutOneTheRunFails) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "refused");
    EXPECT_THROW(static_cast<void>(run_with(experiment, 0)), OutOfMemoryError);
    experiment.directory = place.path() / "limited";
    EXPECT_THAT([&] { static_cast<void>(run_on(experiment, {.memory_limit = 1000})); },
                testing::ThrowsMessage<OutOfMemoryError>(testing::HasSubstr("the limit of 1000")));
    EXPECT_THAT(text_of(experiment.directory / "status.json"),
                testing::HasSubstr("\"exit_code\": 4"));
}

TEST(Fallback, WithoutOneAShortageIsOvercomeInParts) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "enough");
    static_cast<void>(run_with(experiment, 1000000));
    const std::string expected = results_of(experiment.directory);
    for (const int first : {1, 4}) {
        experiment.directory = place.path() / std::to_string(first);
        int asked = 0;
        // Refused once, and when it is tried again.
        static_cast<void>(run_on(experiment, {.math = Math::strict, .refuse_memory = [&] {
                                                  return ++asked == first || asked == first + 1;
                                              }}));
        EXPECT_EQ(results_of(experiment.directory), expected) << first;
        EXPECT_GT(splits_of(experiment), 0) << first;
    }
}

TEST(Fallback, WithoutOneAWorkerAboveItsLimitLeaves) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "alone");
    experiment.distribution.shard_size = 3;
    static_cast<void>(run_on(experiment, {}));
    const std::string expected = results_of(experiment.directory);

    experiment.directory = place.path() / "run";
    RecordedNetwork network(2);
    const std::atomic<int> interrupt{0};
    std::thread worker([&] {
        const auto backend = make_cpu_backend({.memory_limit = 1000});
        Communicator communicator = network.communicator(1);
        EXPECT_THROW(
            static_cast<void>(run_worker(communicator, *backend, experiment, interrupt, {})),
            OutOfMemoryError);
    });
    const auto backend = make_cpu_backend({});
    RecordingReporter reporter;
    Communicator communicator = network.communicator(0);
    static_cast<void>(
        run_coordinator(communicator, *backend, experiment, Start::fresh, reporter, interrupt));
    worker.join();
    EXPECT_EQ(results_of(experiment.directory), expected);
    EXPECT_THAT(reporter.warnings, testing::Contains(testing::AllOf(
                                       testing::HasSubstr("leaves the run"),
                                       testing::HasSubstr("of the limit of 1000 bytes"))));
}

}  // namespace
}  // namespace cambrian::distributed

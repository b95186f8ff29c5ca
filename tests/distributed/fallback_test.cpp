#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "run_support.hpp"

namespace cambrian::distributed {
namespace {

/// A run on one rank whose backend is refused memory after so many allocations.
RecordingReporter run_with(const Experiment& experiment, int allocations) {
    const auto backend = make_cpu_backend(
        {.math = Math::strict, .refuse_memory = [&allocations] { return --allocations < 0; }});
    RecordingReporter reporter;
    const std::atomic<int> interrupt{0};
    Communicator communicator = make_local_communicator();
    static_cast<void>(
        run_coordinator(communicator, *backend, experiment, Start::fresh, reporter, interrupt));
    return reporter;
}

/// Sum of the last column of timings.csv.
int fallbacks_of(const Experiment& experiment) {
    std::istringstream lines(text_of(experiment.directory / "timings.csv"));
    int sum = 0;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) sum += std::stoi(line.substr(line.rfind(',') + 1));
    return sum;
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

TEST(Fallback, WithoutOneTheRunFails) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    EXPECT_THROW(static_cast<void>(run_with(experiment, 0)), DeviceError);
}

}  // namespace
}  // namespace cambrian::distributed

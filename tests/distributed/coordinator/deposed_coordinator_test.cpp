#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "cambrian/distributed/coordinator/journal.hpp"
#include "cambrian/distributed/coordinator/succession.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/runs/run_status.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// A coordinator whose run is that of another one by now writes nothing.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;

/// What a run of two ranks that rank 0 coordinates ends with where it was overtaken, and nobody was
/// told to stop. Rank 1 never speaks.
std::string deposed_with(const Experiment& experiment, Start start, const Reign& reign,
                         RecordingReporter& reporter) {
    RecordedNetwork network(2);
    Communicator communicator = network.communicator(0);
    const auto backend = make_cpu_backend({.threads = 1});
    const std::atomic<int> interrupt{0};
    std::string text;
    try {
        static_cast<void>(run_coordinator(communicator, *backend, experiment, start, reporter,
                                          interrupt, {reign}));
    } catch (const Deposed& error) {
        text = error.what();
    }
    for (const RecordedNetwork::Record& record : network.records()) {
        EXPECT_NE(record.kind, MessageKind::stop);
    }
    return text;
}

TEST(Takeover, CoordinatorThatWakesLateWritesNothing) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.stop.generations = 40;
    experiment.distribution.lease_seconds = 0.2;
    RecordingReporter reporter;
    RunStatus others;
    others.state = "running";
    others.generation = 1234;
    reporter.on_generation = [&](const GenerationReport& report) {
        if (report.generation != 5) return;
        // Another rank took over while this one slept.
        write_reign(experiment.directory, {9, 1, {0}});
        write_status_file(experiment.directory / "status.json", others);
    };
    EXPECT_THAT(deposed_with(experiment, Start::fresh, {}, reporter),
                testing::AllOf(HasSubstr("rank 1 has taken"), HasSubstr("in epoch 9, this was 1")));
    // Entries are written after a while, so some before it may be missing; none follows.
    EXPECT_LE(Journal::read(experiment.directory, 0).size(), 6U);
    EXPECT_EQ(read_reign(experiment.directory)->epoch, 9U);
    EXPECT_EQ(read_status_file(experiment.directory / "status.json")->generation, 1234U);
}

TEST(Takeover, SuccessorThatWasOvertakenOnItsWayLeavesTheRunAlone) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.lease_seconds = 0.2;
    std::filesystem::create_directory(experiment.directory);
    std::optional<RunLock> others(std::in_place, experiment.directory);
    write_reign(experiment.directory, {3, 1, {2, 0}});
    // While the other one coordinates, and after it has ended.
    for (const bool held : {true, false}) {
        if (!held) others.reset();
        RecordingReporter reporter;
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_THAT(deposed_with(experiment, Start::proceed, {2, 0, {2}}, reporter),
                    HasSubstr("rank 1 has taken"));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
        EXPECT_FALSE(std::filesystem::exists(experiment.directory / "status.json"));
    }
}

TEST(Takeover, CoordinatorThatFailsOnceItWasOvertakenLeavesTheRunAlone) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.lease_seconds = 0.2;
    RecordingReporter reporter;
    reporter.on_generation = [&](const GenerationReport&) {
        write_reign(experiment.directory, {9, 1, {0}});
        throw InputError("the other one has swept away what this one was writing");
    };
    EXPECT_THAT(deposed_with(experiment, Start::proceed, {}, reporter),
                HasSubstr("in epoch 9, this was 1"));
}

TEST(Succession, WhoseDirectoryIsAnotherOneWritesNothing) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.checkpoint.every = 1000;
    const auto backend = make_cpu_backend({});
    Communicator communicator = make_local_communicator();
    RecordingReporter reporter;
    const std::atomic<int> interrupt{0};
    reporter.on_generation = [&](const GenerationReport& report) {
        if (report.generation != 2) return;
        while (!std::filesystem::exists(experiment.directory / "checkpoint.cmb"))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // Nothing else is under way.
        std::filesystem::rename(experiment.directory, place.path() / "moved");
        std::filesystem::create_directory(experiment.directory);
        write_reign(experiment.directory, {1, 0, {}});
        std::ofstream(experiment.directory / "lock") << "another's";
    };
    try {
        static_cast<void>(
            run_coordinator(communicator, *backend, experiment, Start::fresh, reporter, interrupt));
        FAIL() << "it went on";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("is not this run's directory any more"));
    }
    EXPECT_FALSE(std::filesystem::exists(experiment.directory / "status.json"));
    EXPECT_FALSE(std::filesystem::exists(experiment.directory / "checkpoint.cmb"));
}

}  // namespace
}  // namespace cambrian::distributed

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/backend_rank.hpp"

// Whole runs whose weights stay on backends that fail: the results of a rank alone on the host.
namespace cambrian::distributed {
namespace {

/// A run of two ranks, whose worker has a backend that fails.
struct FailingRun {
    RecordingReporter reporter;
    std::string worker_error;
    std::string results;
    int calls = 0;  ///< In which the worker's backend wrote weights.
};

FailingRun run_with(Experiment experiment, const std::filesystem::path& directory,
                    const std::function<void(int call)>& before_call) {
    experiment.directory = directory;
    FailingRun run;
    RecordedNetwork network(2);
    const std::atomic<int> interrupt{0};
    std::thread worker([&] {
        const auto backend = make_inheriting_backend(1);
        backend->before_inheritance = [&] { before_call(++run.calls); };
        Communicator communicator = network.communicator(1);
        try {
            static_cast<void>(run_worker(communicator, *backend, experiment, interrupt, {}));
        } catch (const std::exception& error) {
            run.worker_error = error.what();
        }
    });
    const auto backend = make_inheriting_backend(1);
    Communicator communicator = network.communicator(0);
    static_cast<void>(
        run_coordinator(communicator, *backend, experiment, Start::fresh, run.reporter, interrupt));
    worker.join();
    run.results = results_of(directory);
    return run;
}

class FailingBackend : public testing::Test {
  protected:
    FailingBackend() {
        experiment_.distribution.shard_size = 4;
        experiment_.stop.generations = 8;
        const auto cpu = make_cpu_backend({.math = Math::strict});
        RecordingReporter reporter;
        const std::atomic<int> interrupt{0};
        experiment_.directory = place_.path() / "host";
        Communicator alone = make_local_communicator();
        static_cast<void>(
            run_coordinator(alone, *cpu, experiment_, Start::fresh, reporter, interrupt));
        expected_ = results_of(experiment_.directory);
    }

    TemporaryDirectory place_;
    Experiment experiment_ = large_networks({});
    std::string expected_;
};

TEST_F(FailingBackend, ARankWhoseDeviceIsLostLeavesTheRun) {
    for (const int lost : {1, 2, 4}) {
        const FailingRun run =
            run_with(experiment_, place_.path() / std::to_string(lost), [lost](int call) {
                if (call >= lost) throw DeviceError("the device is lost");
            });
        EXPECT_EQ(run.results, expected_) << lost;
        ASSERT_GE(run.calls, lost);
        EXPECT_EQ(run.worker_error, "the device is lost");
        EXPECT_THAT(run.reporter.warnings,
                    testing::Contains(testing::AllOf(testing::HasSubstr("leaves the run"),
                                                     testing::HasSubstr("the device is lost"))));
    }
}

TEST_F(FailingBackend, ARankWithoutMemoryNowAndThenGoesOn) {
    for (const int every : {2, 3, 5, 7}) {
        const FailingRun run =
            run_with(experiment_, place_.path() / std::to_string(every), [every](int call) {
                if (call % every == 0) throw OutOfMemoryError("there is no memory");
            });
        EXPECT_EQ(run.results, expected_) << every;
        EXPECT_GT(run.calls, every);
        EXPECT_EQ(run.worker_error, "");
    }
}

}  // namespace
}  // namespace cambrian::distributed

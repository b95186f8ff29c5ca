#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "cambrian/distributed/communicator/simulated_network.hpp"
#include "cambrian/distributed/coordinator/succession.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Another rank goes on where the coordinator dies.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;

class Killed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A job whose coordinators die: in the order of `deaths`, each after that generation.
struct DyingJob {
    int ranks = 3;
    std::vector<std::uint64_t> deaths;
    bool moves = false;  ///< Its directory goes elsewhere at a death.
};

struct Ended {
    std::vector<int> coordinators;  ///< In their order.
    std::vector<std::string> errors;
    std::optional<RunResult> result;
    double longest_pause = 0.0;  ///< Between two generations.
};

Ended run(const Experiment& experiment, const DyingJob& job) {
    RecordedNetwork network(job.ranks);
    std::mutex mutex;
    Ended ended;
    std::atomic<int> interrupt{0};
    auto last = std::chrono::steady_clock::now();
    const auto coordinate = [&](int rank, Communicator& communicator, Backend& backend, Start start,
                                const Turn& turn) {
        RecordingReporter reporter;
        std::size_t death = 0;
        {
            const std::lock_guard lock(mutex);
            death = ended.coordinators.size();
            ended.coordinators.push_back(rank);
        }
        reporter.on_generation = [&](const GenerationReport& report) {
            const auto now = std::chrono::steady_clock::now();
            const std::chrono::duration<double> pause = now - std::exchange(last, now);
            ended.longest_pause = std::max(ended.longest_pause, pause.count());
            if (death < job.deaths.size() && report.generation == job.deaths[death]) {
                network.silence(rank);
                if (job.moves) {
                    std::filesystem::rename(experiment.directory,
                                            experiment.directory.string() + "-moved");
                }
                throw Killed("killed");
            }
        };
        const RunResult result =
            run_coordinator(communicator, backend, experiment, start, reporter, interrupt, turn);
        const std::lock_guard lock(mutex);
        ended.result = result;
    };
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < job.ranks; ++rank) {
        ranks.emplace_back([&, rank] {
            const auto backend = make_cpu_backend({.threads = 1});
            Communicator communicator = network.communicator(rank);
            WorkerLimits limits;
            limits.silence_seconds = 0.2;
            try {
                run_rank(communicator, *backend, experiment, Start::fresh, interrupt, limits,
                         [&](Start start, const Turn& turn) {
                             coordinate(rank, communicator, *backend, start, turn);
                         });
            } catch (const Killed&) {
                // Its death leaves the lock, as that of a process does.
            } catch (const std::exception& error) {
                const std::lock_guard lock(mutex);
                ended.errors.emplace_back(error.what());
            }
        });
    }
    ranks.clear();
    return ended;
}

TEST(Takeover, DeadCoordinatorsAreFollowedAndNoByteChanges) {
    const TemporaryDirectory place;
    int number = 0;
    Experiment steady = xor_experiment({});
    steady.name = "steady";
    steady.steady_state = {.window = 15, .block = 5};
    Experiment changing = changing_cart_pole({});
    changing.name = "changing";
    for (Experiment experiment : {xor_experiment({}), cart_pole_experiment({}), steady, changing}) {
        experiment.stop.generations = 8;
        experiment.distribution.lease_seconds = 0.4;
        const std::string expected =
            uninterrupted(experiment, place.path() / (experiment.name + "-whole"));
        for (const DyingJob& job : {DyingJob{3, {0}}, DyingJob{3, {4}}, DyingJob{4, {2, 3}},
                                    DyingJob{4, {1, 3, 6}}, DyingJob{2, {3}}}) {
            experiment.directory = place.path() / std::to_string(++number);
            const Ended ended = run(experiment, job);
            EXPECT_EQ(ended.coordinators.size(), job.deaths.size() + 1);
            EXPECT_THAT(ended.errors, testing::IsEmpty());
            ASSERT_TRUE(ended.result);
            EXPECT_EQ(ended.result->reason, StopReason::generations);
            EXPECT_EQ(expected, results_of(experiment.directory));
            EXPECT_LT(ended.longest_pause, 0.4 + 2.0);
            EXPECT_EQ(read_reign(experiment.directory)->epoch, job.deaths.size() + 1);
        }
    }
}

TEST(Takeover, TestsOfChampionsAreFollowed) {
    const TemporaryDirectory place;
    // As hard as the best of a few generations can do.
    double passes = 0.0;
    for (const GenerationReport& report :
         launch(long_cart_pole_experiment(place.path() / "all"), {}).reporter.reports) {
        passes = std::max(passes, report.validated.value_or(0.0));
    }
    Experiment experiment = solvable_cart_pole(place.path() / "whole", 30.0, passes);
    experiment.distribution.lease_seconds = 0.4;
    const RunResult whole = launch(experiment, {}).result;
    ASSERT_EQ(whole.reason, StopReason::solved);
    const std::uint64_t end = whole.last.generation;
    ASSERT_GT(end, 0U);
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "killed";
    // Before the test is passed, and between the line that says so and the end of the run.
    const Ended ended = run(experiment, {4, {end - 1, end}});
    ASSERT_TRUE(ended.result);
    EXPECT_EQ(ended.result->reason, StopReason::solved);
    EXPECT_EQ(ended.result->last.tests.count, whole.last.tests.count);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Takeover, ValidationsOfABestThatDiesAreFollowed) {
    const TemporaryDirectory place;
    Experiment experiment = restarting_experiment(place.path() / "whole");
    experiment.distribution.lease_seconds = 0.4;
    std::uint64_t validated = 0;
    for (const GenerationReport& report : launch(experiment, {}).reporter.reports) {
        validated = report.validated ? report.generation : validated;
    }
    ASSERT_GT(validated, 0U);
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "killed";
    const Ended ended = run(experiment, {4, {validated - 1, validated}});
    EXPECT_EQ(ended.coordinators.size(), 3U);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Takeover, LastRankGoesOnAlone) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.lease_seconds = 0.3;
    const Ended ended = run(experiment, {3, {1, 3}});
    EXPECT_EQ(ended.coordinators.size(), 3U);
    EXPECT_EQ(uninterrupted(experiment, place.path() / "whole"), results_of(experiment.directory));
}

TEST(Takeover, IsLeftWhereTheDirectoryIsAnotherOne) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.lease_seconds = 0.3;
    experiment.stop.generations = 1000;
    testing::internal::CaptureStderr();
    const Ended ended = run(experiment, {3, {200}, true});  // All have begun by then.
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::Not(HasSubstr("this run's directory")))
        << "each rank would say it";
    EXPECT_EQ(ended.coordinators, std::vector<int>{0});
    EXPECT_EQ(ended.errors.size(), 2U);
    EXPECT_THAT(ended.errors, testing::Each(HasSubstr("is not this run's directory any more")));
    EXPECT_FALSE(std::filesystem::exists(experiment.directory)) << "it is not made anew";
}

TEST(Takeover, IsLeftWhereItIsNotWanted) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.lease_seconds = 0.3;
    experiment.distribution.takeover = Takeover::never;
    const Ended ended = run(experiment, {3, {2}});
    EXPECT_EQ(ended.coordinators, std::vector<int>{0});
    EXPECT_EQ(ended.errors.size(), 2U);
    EXPECT_THAT(ended.errors, testing::Each(HasSubstr("the coordinator has been silent")));
}

TEST(Takeover, IsLeftToOthersWhereTheLockMeansNothing) {
    const TemporaryDirectory place;
    SimulatedNetwork network(2, {});
    network.run([&](Communicator& worker) {
        if (worker.rank() == 0) return;
        const std::atomic<int> interrupt{0};
        const Reign former{1, 0, {}};
        // The lock is free, and would be taken by a rank that believes in it. Those that do may
        // find it in other hands for two turns of each, and a directory that fails for 5 s.
        const CoordinatorLost lost("it is silent", former, false);
        const Clock::time_point begin = Clock::now();
        EXPECT_THROW(
            static_cast<void>(await_other_successor(place.path(), worker, lost, interrupt, 0.2)),
            CoordinatorLost);
        EXPECT_GE(seconds_since(begin), 5.8);
        EXPECT_FALSE(read_reign(place.path()));
        write_reign(place.path(), {2, 0, {1}});
        EXPECT_EQ(await_other_successor(place.path(), worker, lost, interrupt, 0.2)->epoch, 2U);
    });
}

/// What a worker without work says of a coordinator that speaks twice and then no more.
CoordinatorLost lost_after_two_words(const std::filesystem::path& directory, bool locked) {
    RecordedNetwork network(2);
    Experiment experiment = xor_experiment(directory);
    experiment.distribution.lease_seconds = 0.6;
    WorkerLimits limits;
    limits.silence_seconds = 0.1;
    std::jthread coordinator([&] {
        Communicator communicator = network.communicator(0);
        send(communicator, 1, Heartbeat{{}, 1});
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        std::optional<RunLock> lock;
        if (locked) lock.emplace(directory);
        send(communicator, 1, Heartbeat{{}, 1});
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
    });
    const auto backend = make_cpu_backend({.threads = 1});
    const std::atomic<int> interrupt{0};
    Communicator communicator = network.communicator(1);
    try {
        static_cast<void>(run_worker(communicator, *backend, experiment, interrupt, limits));
    } catch (const CoordinatorLost& lost) {
        return lost;
    }
    throw std::runtime_error("the worker stayed");
}

TEST(Takeover, IsForRanksThatHaveSeenTheLockHeld) {
    const TemporaryDirectory place;
    std::filesystem::create_directory(place.path() / "logs");
    EXPECT_FALSE(lost_after_two_words(place.path(), false).lock_excludes);
    EXPECT_TRUE(lost_after_two_words(place.path(), true).lock_excludes);
}

TEST(Worker, LeavesWhereTheCoordinatorEndedBeforeItsFirstWord) {
    const TemporaryDirectory place;
    RecordedNetwork network(2);
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.lease_seconds = 0.4;
    std::filesystem::create_directory(experiment.directory);
    std::jthread coordinator([&] {
        const RunLock lock(experiment.directory);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    });
    const auto backend = make_cpu_backend({.threads = 1});
    const std::atomic<int> interrupt{0};
    Communicator communicator = network.communicator(1);
    EXPECT_THAT(
        [&] { static_cast<void>(run_worker(communicator, *backend, experiment, interrupt)); },
        testing::ThrowsMessage<CoordinatorLost>(HasSubstr("ended before its first word")));
}

}  // namespace
}  // namespace cambrian::distributed

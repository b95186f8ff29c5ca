#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>

#include "cambrian/distributed/coordinator/journal.hpp"
#include "cambrian/distributed/coordinator/succession.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/runs/run_status.hpp"
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
                                const Reign& reign) {
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
                throw Killed("killed");
            }
        };
        const RunResult result =
            run_coordinator(communicator, backend, experiment, start, reporter, interrupt, reign);
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
                         [&](Start start, const Reign& reign) {
                             coordinate(rank, communicator, *backend, start, reign);
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

std::string unbroken(Experiment experiment, const std::filesystem::path& directory) {
    experiment.directory = directory;
    static_cast<void>(launch(experiment, {}));
    return results_of(directory);
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
            unbroken(experiment, place.path() / (experiment.name + "-whole"));
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
    EXPECT_EQ(unbroken(experiment, place.path() / "whole"), results_of(experiment.directory));
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
    RecordedNetwork network(2);
    Communicator worker = network.communicator(1);
    const std::atomic<int> interrupt{0};
    const Reign former{1, 0, {}};
    // The lock is free, and would be taken by a rank that believes in it. Those that do may find
    // it in other hands for two turns of each.
    const CoordinatorLost lost("it is silent", former, false);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW(
        static_cast<void>(await_other_successor(place.path(), worker, lost, interrupt, 0.2)),
        CoordinatorLost);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(800));
    EXPECT_FALSE(read_reign(place.path()));
    write_reign(place.path(), {2, 0, {1}});
    EXPECT_EQ(await_other_successor(place.path(), worker, lost, interrupt, 0.2)->epoch, 2U);
}

TEST(Takeover, CoordinatorThatWakesLateWritesNothing) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.stop.generations = 40;
    experiment.distribution.lease_seconds = 0.2;  // Rank 1 never speaks.
    RecordedNetwork network(2);
    Communicator communicator = network.communicator(0);
    const auto backend = make_cpu_backend({.threads = 1});
    const std::atomic<int> interrupt{0};
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
    try {
        static_cast<void>(
            run_coordinator(communicator, *backend, experiment, Start::fresh, reporter, interrupt));
        FAIL() << "it went on";
    } catch (const Deposed& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 1 has taken"));
        EXPECT_THAT(error.what(), HasSubstr("in epoch 9, this was 1"));
    }
    // Entries are written after a while, so some before it may be missing; none follows.
    EXPECT_LE(Journal::read(experiment.directory, 0).size(), 6U);
    EXPECT_EQ(read_reign(experiment.directory)->epoch, 9U);
    EXPECT_EQ(read_status_file(experiment.directory / "status.json")->generation, 1234U);
    // Nor does it end the other's run.
    for (const RecordedNetwork::Record& record : network.records()) {
        EXPECT_NE(record.kind, MessageKind::stop);
    }
}

/// What a run of two ranks that rank 0 coordinates ends with where it was overtaken, and nobody was
/// told to stop. Rank 1 never speaks.
std::string deposed_with(const Experiment& experiment, const Reign& reign,
                         RecordingReporter& reporter) {
    RecordedNetwork network(2);
    Communicator communicator = network.communicator(0);
    const auto backend = make_cpu_backend({.threads = 1});
    const std::atomic<int> interrupt{0};
    std::string text;
    try {
        static_cast<void>(run_coordinator(communicator, *backend, experiment, Start::proceed,
                                          reporter, interrupt, reign));
    } catch (const Deposed& error) {
        text = error.what();
    }
    for (const RecordedNetwork::Record& record : network.records()) {
        EXPECT_NE(record.kind, MessageKind::stop);
    }
    return text;
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
        EXPECT_THAT(deposed_with(experiment, {2, 0, {2}}, reporter), HasSubstr("rank 1 has taken"));
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
    EXPECT_THAT(deposed_with(experiment, {}, reporter), HasSubstr("in epoch 9, this was 1"));
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

TEST(Succession, WaitsWhileTheLockIsHeldAndSaysSo) {
    const TemporaryDirectory place;
    RecordedNetwork network(3);
    const Reign former{4, 0, {}};
    std::optional<RunLock> lock(std::in_place, place.path());
    write_reign(place.path(), former);
    std::atomic<int> interrupt{0};
    std::vector<std::string> said;
    std::optional<Reign> next;
    std::jthread waiting([&] {
        Communicator communicator = network.communicator(2);
        next = await_successor(place.path(), communicator, former, interrupt,
                               [&](const std::string& text) { said.push_back(text); });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    lock.reset();
    waiting.join();
    ASSERT_TRUE(next);
    EXPECT_EQ(*next, (Reign{5, 2, {0}}));
    EXPECT_THAT(said, testing::ElementsAre(HasSubstr("rank 0 is silent, and still holds")));
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

/// A process that holds the lock of a directory, until it is killed.
class LockingProcess {
  public:
    explicit LockingProcess(const std::filesystem::path& directory) : process_(fork()) {
        if (process_ == 0) {
            const RunLock lock(directory);
            for (;;) pause();
        }
        // It locks first, and writes who it is then.
        while (!holder_of_run(directory) || !text_of(directory / "lock").ends_with('\n'))
            std::this_thread::yield();
    }
    ~LockingProcess() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    LockingProcess(const LockingProcess&) = delete;
    LockingProcess& operator=(const LockingProcess&) = delete;
    void stop() const {
        kill(process_, SIGSTOP);
        waitpid(process_, nullptr, WUNTRACED);
    }

  private:
    pid_t process_;
};

TEST(Succession, KillsWhoIsStoppedWhereThatIsWanted) {
    const TemporaryDirectory place;
    const LockingProcess holder(place.path());
    const Reign former{4, 0, {}};
    write_reign(place.path(), former);
    EXPECT_EQ(kill_stopped_holder(place.path()), std::nullopt) << "it is not stopped";
    holder.stop();
    RecordedNetwork network(2);
    Communicator communicator = network.communicator(1);
    const std::atomic<int> interrupt{0};
    std::vector<std::string> said;
    const auto next = await_successor(
        place.path(), communicator, former, interrupt,
        [&](const std::string& text) { said.push_back(text); }, true);
    EXPECT_EQ(next, (Reign{5, 1, {0}}));
    EXPECT_THAT(said, testing::ElementsAre(HasSubstr("rank 0 was silent and stopped: process")));
    EXPECT_EQ(kill_stopped_holder(place.path()), std::nullopt) << "nobody holds it";
}

TEST(Succession, KillsNoProcessThatHasTheNumberOfAnother) {
    const TemporaryDirectory place;
    const LockingProcess holder(place.path());
    holder.stop();
    const std::string words = text_of(place.path() / "lock");
    const std::string tick = " since tick ";
    const std::size_t host = words.find(" on ") + 4;
    for (const std::string& other :
         {words.substr(0, words.find(tick)) + tick + "12\n", words.substr(0, words.find(tick)),
          words.substr(0, host) + "elsewhere" + words.substr(words.find(tick)), std::string()}) {
        std::ofstream(place.path() / "lock") << other;
        EXPECT_EQ(kill_stopped_holder(place.path()), std::nullopt) << other;
    }
    std::ofstream(place.path() / "lock") << words;
    EXPECT_NE(kill_stopped_holder(place.path()), std::nullopt);
}

TEST(Succession, CoordinatorThatSpeaksAgainGoesOn) {
    const TemporaryDirectory place;
    RecordedNetwork network(2);
    const RunLock lock(place.path());
    const Reign former{4, 0, {}};
    write_reign(place.path(), former);
    std::atomic<int> interrupt{0};
    network.communicator(0).send(1, MessageKind::heartbeat, {});
    Communicator communicator = network.communicator(1);
    EXPECT_EQ(await_successor(place.path(), communicator, former, interrupt, [](const auto&) {}),
              former);
}

TEST(Succession, WhoHearsThatTheRunIsOverWaitsForNobody) {
    const TemporaryDirectory place;
    const RunLock lock(place.path());
    const Reign former{4, 0, {}};
    write_reign(place.path(), former);
    const std::atomic<int> interrupt{0};
    for (const bool excludes : {true, false}) {
        RecordedNetwork network(2);
        Communicator coordinator = network.communicator(0);
        send(coordinator, 1, Stop{"the run has ended"});
        Communicator communicator = network.communicator(1);
        const auto next =
            excludes
                ? await_successor(place.path(), communicator, former, interrupt, [](const auto&) {})
                : await_other_successor(place.path(), communicator,
                                        CoordinatorLost("it is silent", former, false), interrupt,
                                        0.1);
        EXPECT_EQ(next, std::nullopt);
    }
}

TEST(Succession, NobodyFollowsWhoIsOfAnotherJob) {
    const TemporaryDirectory place;
    RecordedNetwork network(3);
    Communicator communicator = network.communicator(1);
    const std::atomic<int> interrupt{0};
    const Reign former{4, 0, {}};
    const auto follow = [&](const Reign& other, bool lock_excludes) {
        write_reign(place.path(), other);
        return lock_excludes
                   ? await_successor(
                         place.path(), communicator, former, interrupt, [](const auto&) {}, true)
                   : await_other_successor(place.path(), communicator,
                                           CoordinatorLost("it is silent", former, false),
                                           interrupt, 0.1);
    };
    for (const bool excludes : {true, false}) {
        // A job that began since, and one of it that has followed its own dead.
        for (const Reign& other : {Reign{5, 0, {}}, Reign{6, 1, {0}}, Reign{9, 2, {0, 1}}})
            EXPECT_THROW(static_cast<void>(follow(other, excludes)), Deposed) << other.epoch;
        // Of this job.
        for (const Reign& other : {Reign{5, 1, {0}}, Reign{6, 2, {0, 1}}})
            EXPECT_EQ(follow(other, excludes), other);
    }
}

TEST(Succession, NobodyFollowsWhereTheRunLiesNoMore) {
    const TemporaryDirectory place;
    RecordedNetwork network(2);
    Communicator communicator = network.communicator(1);
    const std::atomic<int> interrupt{0};
    const auto follow = [&](const std::filesystem::path& directory) {
        return await_successor(directory, communicator, {4, 0, {}}, interrupt, [](const auto&) {});
    };
    EXPECT_THROW(static_cast<void>(follow(place.path())), InputError);
    EXPECT_THROW(static_cast<void>(follow(place.path() / "moved")), InputError);
    EXPECT_FALSE(std::filesystem::exists(place.path() / "moved"));
}

TEST(Succession, OnlyOneFollows) {
    const TemporaryDirectory place;
    for (std::uint64_t epoch = 1; epoch < 20; ++epoch) {
        RecordedNetwork network(5);
        const Reign former{epoch, 0, {}};
        write_reign(place.path(), former);
        std::atomic<int> interrupt{0};
        std::mutex mutex;
        std::vector<Reign> chosen;
        std::vector<std::jthread> ranks;
        for (int rank = 1; rank < 5; ++rank) {
            ranks.emplace_back([&, rank] {
                Communicator communicator = network.communicator(rank);
                const auto next = await_successor(place.path(), communicator, former, interrupt,
                                                  [](const auto&) {});
                const std::lock_guard lock(mutex);
                chosen.push_back(next.value());
            });
        }
        ranks.clear();
        EXPECT_THAT(chosen, testing::Each(chosen.front()));
        EXPECT_EQ(chosen.front().epoch, epoch + 1);
    }
}

TEST(Succession, WhatTheDirectorySaysMayBeNonsense) {
    const TemporaryDirectory place;
    EXPECT_EQ(read_reign(place.path()), std::nullopt);
    for (const char* text : {"", "{", "[]", R"({"epoch": -1, "rank": 0})", R"({"rank": 1})",
                             R"({"epoch": "x", "rank": 0})"}) {
        std::ofstream(place.path() / "coordinator.json") << text;
        EXPECT_EQ(read_reign(place.path()), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace cambrian::distributed

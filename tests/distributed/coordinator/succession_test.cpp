#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "cambrian/distributed/coordinator/succession.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Who follows a coordinator that is silent.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;

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

TEST(Succession, ADirectoryThatAnswersAgainIsTakenOver) {
    const TemporaryDirectory place;
    const std::filesystem::path run = place.path() / "run";
    const Reign former{4, 0, {}};
    std::filesystem::create_directory(place.path() / "folder");
    write_reign(place.path() / "folder", former);
    // What is below it cannot be opened: it is no folder.
    std::ofstream{place.path() / "file"};
    std::filesystem::create_symlink(place.path() / "file", run);
    RecordedNetwork network(2);
    const std::atomic<int> interrupt{0};
    std::vector<std::string> said;
    std::optional<Reign> next;
    std::jthread waiting([&] {
        Communicator communicator = network.communicator(1);
        next = await_successor(run, communicator, former, interrupt,
                               [&](const std::string& text) { said.push_back(text); });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::filesystem::create_symlink(place.path() / "folder", place.path() / "next");
    std::filesystem::rename(place.path() / "next", run);
    waiting.join();
    EXPECT_EQ(next, (Reign{5, 1, {0}}));
    EXPECT_THAT(said, testing::ElementsAre(HasSubstr("it is tried again")));
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

TEST(Succession, OtherRanksAreHeardMeanwhile) {
    const TemporaryDirectory place;
    const RunLock lock(place.path());
    const Reign former{4, 0, {}};
    write_reign(place.path(), former);
    const std::atomic<int> interrupt{0};
    for (const bool excludes : {true, false}) {
        RecordedNetwork network(3);
        network.communicator(2).send(1, MessageKind::genome_request, {});
        network.communicator(0).send(1, MessageKind::heartbeat, {});
        Communicator communicator = network.communicator(1);
        std::vector<int> heard;
        const Meanwhile meanwhile = [&](const Message* message) {
            if (message != nullptr) heard.push_back(message->source);
        };
        const CoordinatorLost lost("it is silent", former, excludes);
        EXPECT_EQ(excludes ? await_successor(
                                 place.path(), communicator, former, interrupt, [](const auto&) {},
                                 false, meanwhile)
                           : await_other_successor(place.path(), communicator, lost, interrupt, 1.0,
                                                   meanwhile),
                  former);
        EXPECT_EQ(heard, (std::vector{2, 0}));
    }
}

TEST(Succession, NobodyWaitsLongForManyThatHaveDiedToo) {
    const TemporaryDirectory place;
    RecordedNetwork network(130);
    const Reign former{4, 0, {}};
    write_reign(place.path(), former);
    const std::atomic<int> interrupt{0};
    Communicator communicator = network.communicator(65);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(await_successor(place.path(), communicator, former, interrupt, [](const auto&) {}),
              (Reign{5, 65, {0}}));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

/// Whom a rank follows that has lost its coordinator.
/// @param lock_excludes whether the lock means something; it takes it from who is stopped.
std::optional<Reign> successor(const std::filesystem::path& directory, Communicator& communicator,
                               const Reign& former, bool lock_excludes) {
    const std::atomic<int> interrupt{0};
    return lock_excludes ? await_successor(
                               directory, communicator, former, interrupt, [](const auto&) {}, true)
                         : await_other_successor(directory, communicator,
                                                 CoordinatorLost("it is silent", former, false),
                                                 interrupt, 0.1);
}

TEST(Succession, WhoHearsThatTheRunIsOverWaitsForNobody) {
    const TemporaryDirectory place;
    const RunLock lock(place.path());
    const Reign former{4, 0, {}};
    write_reign(place.path(), former);
    for (const bool excludes : {true, false}) {
        RecordedNetwork network(2);
        Communicator coordinator = network.communicator(0);
        send(coordinator, 1, Stop{"the run has ended"});
        Communicator communicator = network.communicator(1);
        EXPECT_EQ(successor(place.path(), communicator, former, excludes), std::nullopt);
    }
}

TEST(Succession, NobodyFollowsWhoIsOfAnotherJob) {
    const TemporaryDirectory place;
    RecordedNetwork network(3);
    Communicator communicator = network.communicator(1);
    const Reign former{4, 0, {}};
    const auto follow = [&](const Reign& other, bool lock_excludes) {
        write_reign(place.path(), other);
        return successor(place.path(), communicator, former, lock_excludes);
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

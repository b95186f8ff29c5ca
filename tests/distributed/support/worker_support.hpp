#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cambrian/distributed/generation/first_shares.hpp"
#include "cambrian/distributed/generation/round.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/pending_shards.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// A worker, and a test that plays the ranks around it.
namespace cambrian::distributed::worker_support {

[[nodiscard]] evolve::Genome founder(const Experiment& experiment, evolve::BirthId id);

/// What the strategy decides when the last founder is the best.
/// @param sign -1: the first one is.
[[nodiscard]] evolve::Decision decision_of_founders(const Experiment& experiment,
                                                    double sign = 1.0);

/// The round after the founders, of whom rank 0 or another one has all.
[[nodiscard]] SharedRound second_round(const Experiment& experiment, std::uint32_t holder);

/// The second round, all of which rank 1 has, and the records of the first and of it.
struct TwoRecords {
    SharedRound second;
    Record first;
    Record next;
};
[[nodiscard]] TwoRecords two_records(const Experiment& experiment);

/// Shards of the second round.
inline constexpr std::uint64_t one = first_shard_of(1);
inline constexpr std::uint64_t two = one + 1;

/// The first birth of a round, for a rank that knows nothing of it.
[[nodiscard]] ShardOrder order_of(const Round& round, std::uint64_t shard);
/// The same for a rank that may know the round.
[[nodiscard]] ShardOrder order_without_state(const Round& round, std::uint64_t shard);

/// The rank of another worker, to which rank 1 passes on what all are told.
inline constexpr int another = 11;

/// A worker in a thread of its own; the test plays rank 0.
class PlayedCoordinator {
  public:
    explicit PlayedCoordinator(const Experiment& experiment);
    ~PlayedCoordinator() { static_cast<void>(end()); }
    PlayedCoordinator(const PlayedCoordinator&) = delete;
    PlayedCoordinator& operator=(const PlayedCoordinator&) = delete;
    /// What the worker threw.
    std::string end() {
        if (worker_.joinable()) {
            say(Stop{"the test has ended"});
            worker_.join();
        }
        return failure_;
    }

    template <typename T>
    void say(const T& message) {
        send(communicator_, 1, message);
    }
    void say(MessageKind kind, std::vector<std::byte> payload) {
        communicator_.send(1, kind, std::move(payload));
    }
    template <typename T>
    void say_as_third(const T& message) {
        send(third_, 1, message);
    }
    /// The next message of a kind; empty after ten seconds without one.
    template <typename T>
    std::optional<T> hear() {
        return hear<T>(communicator_);
    }
    /// The same for the other worker.
    template <typename T>
    std::optional<T> third_hears() {
        return hear<T>(third_);
    }

  private:
    template <typename T>
    std::optional<T> hear(Communicator& communicator) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (std::chrono::steady_clock::now() < end)
            if (const auto message = communicator.receive(std::chrono::milliseconds(100));
                message && message->kind == T::kind)
                return decode_message<T>(message->payload, "rank 1");
        return std::nullopt;
    }

    RecordedNetwork network_{another + 1};
    Communicator communicator_;
    Communicator third_;
    std::string failure_;
    std::thread worker_;
};

class WorkerTest : public testing::Test {
  protected:
    WorkerTest() { experiment_.distribution.lease_seconds = 4.0; }

    /// The answer to a request.
    [[nodiscard]] GenomeReply answer_to(const GenomeRequest& request) const;
    /// The record of the first round, all of which rank 1 has.
    /// @param sign see decision_of_founders.
    [[nodiscard]] Record record_of_founders(double sign = 1.0) const;
    /// A shard waits for its parents when the request comes back.
    GenomeRequest begin(PlayedCoordinator& coordinator) const;
    /// It makes and evaluates so many of the founders, first of all.
    void let_make_founders(PlayedCoordinator& coordinator, std::uint32_t count) const;
    void expect_result(PlayedCoordinator& coordinator, std::uint64_t shard) const;
    /// The same for a shard that is ordered now, after what it lacks was told.
    void expect_result_with_answers(PlayedCoordinator& coordinator, std::uint64_t shard) const;
    /// It gives a shard back, and stays.
    static void expect_failure(PlayedCoordinator& coordinator, std::uint64_t shard,
                               const testing::Matcher<std::string>& text);
    /// It has room in the right state, and nothing to tell.
    void expect_room(PlayedCoordinator& coordinator) const;

    TemporaryDirectory place_;
    Experiment experiment_ = xor_experiment(place_.path() / "run");
    SharedRound round_ = second_round(experiment_, 0);
};

}  // namespace cambrian::distributed::worker_support

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/simulated_network.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Births that take longer than a lease, while the coordinator dies or is silent, in virtual time.
namespace cambrian::distributed::running_birth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr double lease = 1.0;

class Killed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An end that does something before it looks for messages, and something where none came. Where
/// that throws, the rank is dead and says nothing more.
class ActingEnd final : public Communicator::Implementation {
  public:
    ActingEnd(Communicator& own, std::function<void()> act, std::function<void()> after_none)
        : own_(own), act_(std::move(act)), after_none_(std::move(after_none)) {}
    int rank() const override { return own_.rank(); }
    int size() const override { return own_.size(); }
    void send(int to, MessageKind kind, Payload payload) override {
        if (!dead_) own_.send(to, kind, std::move(payload));
    }
    std::optional<Message> receive(std::chrono::microseconds patience) override {
        dead_ = true;
        act_();
        auto message = own_.receive(patience);
        if (!message) after_none_();
        dead_ = false;
        return message;
    }

  private:
    Communicator& own_;
    std::function<void()> act_;
    std::function<void()> after_none_;
    bool dead_ = false;
};

/// The first birth of a rank after the founders takes long, and all others so short a time.
struct SlowBirth {
    std::chrono::seconds takes{0};
    std::chrono::milliseconds others{0};
    std::optional<Clock::time_point> end{};  ///< Once it has begun.
    std::size_t evaluated = 0;               ///< Births.
    std::size_t failures = 0;                ///< Births that fail from now on.

    [[nodiscard]] Experiment in(Experiment experiment) {
        experiment.task = watched_task(sum_task(), [this](std::uint64_t round) {
            ++evaluated;
            Clock::sleep(others);
            if (failures > 0) {
                --failures;
                throw std::runtime_error("this once");
            }
            if (round == 0 || takes == seconds(0) || end) return;
            end = Clock::now() + takes;
            Clock::sleep(takes);
        });
        return experiment;
    }
};

Experiment single_births(const std::filesystem::path& directory) {
    Experiment experiment = callback_experiment(directory, sum_task());
    experiment.distribution.lease_seconds = lease;
    experiment.distribution.shard_size = 1;
    return experiment;
}

/// What a run that nothing happens to leaves.
/// @param evaluated births of it.
std::string unbroken(const std::filesystem::path& directory, std::size_t& evaluated) {
    SlowBirth none;
    static_cast<void>(launch(none.in(single_births(directory)), {}));
    evaluated = none.evaluated;
    return results_of(directory);
}

WorkerLimits short_limits() {
    WorkerLimits limits;
    limits.silence_seconds = 0.2;
    return limits;
}

/// Rank 0 dies as the others have births that take so long. Rank 1 follows.
/// @param failures births that fail first, of the reign of rank 1.
void expect_no_delay(seconds of_rank_1, seconds of_rank_2, std::size_t failures) {
    const TemporaryDirectory place;
    std::size_t evaluated = 0;
    const std::string expected = unbroken(place.path() / "whole", evaluated);
    const Experiment experiment = single_births(place.path() / "run");
    std::array<SlowBirth, 3> births{{{seconds(0), milliseconds(100)}, {of_rank_1}, {of_rank_2}}};
    Clock::time_point died, followed;
    std::optional<Clock::time_point> told;
    std::vector<int> coordinators;
    const std::atomic<int> interrupt{0};
    SimulatedNetwork network(3, {});
    network.run([&](Communicator& communicator) {
        const int rank = communicator.rank();
        const auto die = [&, rank] {
            if (rank != 0 || !births[1].end || !births[2].end) return;
            died = Clock::now();
            throw Killed("killed");
        };
        Communicator mortal(std::make_unique<ActingEnd>(communicator, die, [] {}));
        const Experiment own = births.at(static_cast<std::size_t>(rank)).in(experiment);
        const auto backend = make_cpu_backend({.threads = 1, .math = Math::fast});
        const auto coordinate = [&](Start start, const Turn& turn) {
            coordinators.push_back(rank);
            followed = Clock::now();
            births.at(static_cast<std::size_t>(rank)).failures = rank == 0 ? 0 : failures;
            if (turn.compute) {
                EXPECT_EQ(turn.compute->thread->in_flight(), 0U) << "of the reign before";
            }
            RecordingReporter reporter;
            reporter.on_generation = [&](const GenerationReport&) {
                if (rank != 0 && !told) told = Clock::now();
            };
            static_cast<void>(
                run_coordinator(mortal, *backend, own, start, reporter, interrupt, turn));
        };
        try {
            run_rank(mortal, *backend, own, Start::fresh, interrupt, short_limits(), coordinate);
        } catch (const Killed&) {
            // Its death leaves the lock, as that of a process does.
        }
    });
    EXPECT_EQ(coordinators, (std::vector{0, 1}));
    EXPECT_LT(seconds_of(followed - died), lease + 2.0);
    ASSERT_TRUE(told);
    EXPECT_LT(*told, std::max(births[1].end, births[2].end));
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(RunningBirth, DelaysNoTakeoverAndNoGenerationOfTheSuccessor) {
    expect_no_delay(seconds(8), seconds(3), 0);
}

/// Another rank is to try it, but none is free for births.
TEST(RunningBirth, DelaysNoneThatFailsOnce) {
    expect_no_delay(seconds(2), seconds(8), 1);
}

/// Rank 0 stands still for more than two leases, and looks at those before it hears what was said
/// meanwhile. Another rank, which takes no part, asks rank 1 then.
TEST(RunningBirth, CountsWhereTheCoordinatorWasOnlySilent) {
    const TemporaryDirectory place;
    std::size_t evaluated = 0;
    const std::string expected = unbroken(place.path() / "whole", evaluated);
    const Experiment experiment = single_births(place.path() / "run");
    std::array<SlowBirth, 2> births{{{seconds(0), milliseconds(100)}, {seconds(5)}}};
    std::optional<double> answered;
    const std::atomic<int> interrupt{0};
    SimulatedNetwork network(3, {});
    network.run([&](Communicator& communicator) {
        const int rank = communicator.rank();
        if (rank == 2) {
            while (!births[1].end) Clock::sleep(milliseconds(50));
            Clock::sleep(milliseconds(1600));
            const Clock::time_point asked = Clock::now();
            send(communicator, 1, GenomeRequest{{5}});
            while (const auto message = communicator.receive(seconds(10))) {
                if (message->kind == MessageKind::genomes) {
                    answered = seconds_since(asked);
                    return;
                }
            }
            return;
        }
        const auto pause = [&, rank, paused = false]() mutable {
            if (rank == 0 && births[1].end && !std::exchange(paused, true)) {
                Clock::sleep(milliseconds(2600));
            }
        };
        Communicator pausing(std::make_unique<ActingEnd>(
            communicator, [] {}, pause));
        const Experiment own = births.at(static_cast<std::size_t>(rank)).in(experiment);
        const auto backend = make_cpu_backend({.threads = 1, .math = Math::fast});
        run_rank(pausing, *backend, own, Start::fresh, interrupt, short_limits(),
                 [&](Start start, const Turn& turn) {
                     RecordingReporter reporter;
                     static_cast<void>(
                         run_coordinator(pausing, *backend, own, start, reporter, interrupt, turn));
                 });
    });
    EXPECT_EQ(births[0].evaluated + births[1].evaluated, evaluated) << "none of them twice";
    ASSERT_TRUE(answered);
    EXPECT_LT(*answered, 0.5);
    EXPECT_THAT(
        text_of(experiment.directory / "logs" / "rank-1.log"),
        testing::AllOf(HasSubstr("silent for a lease"), HasSubstr("rank 0 coordinates, epoch 1"),
                       HasSubstr("stop: the run has ended")));
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(RunningBirth, OfARankThatIntroducesItselfAgainIsForOthersAtOnce) {
    const TemporaryDirectory place;
    Experiment experiment = single_births(place.path() / "run");
    experiment.distribution.lease_seconds = 30.0;
    SlowBirth births{seconds(0), milliseconds(50)};
    experiment = births.in(experiment);
    const std::atomic<int> interrupt{0};
    std::size_t orders = 0;
    double took = 0.0;
    SimulatedNetwork network(2, {});
    network.run([&](Communicator& communicator) {
        const auto backend = make_cpu_backend({.threads = 1, .math = Math::fast});
        if (communicator.rank() == 0) {
            Clock::sleep(seconds(1));  // It has heard all of it before it gives births away.
            RecordingReporter reporter;
            const Clock::time_point begun = Clock::now();
            static_cast<void>(run_coordinator(communicator, *backend, experiment, Start::fresh,
                                              reporter, interrupt));
            took = seconds_since(begun);
            return;
        }
        const Handshake handshake = introduce(experiment, *backend);
        const auto begin = [&] { send(communicator, 0, handshake); };
        const auto ask = [&] { send(communicator, 0, Request{2, 1000, {}, {}}); };
        begin();
        ask();
        begin();
        ask();
        for (bool began_again = false;;) {
            const auto message = communicator.receive(milliseconds(300));
            if (message && message->kind == MessageKind::stop) return;
            if (message && message->kind == MessageKind::shard) ++orders;
            if (!message && orders > 0 && !std::exchange(began_again, true)) begin();
        }
    });
    EXPECT_EQ(orders, 2U) << "its room counts once";
    EXPECT_LT(took, 15.0);
}

}  // namespace
}  // namespace cambrian::distributed::running_birth

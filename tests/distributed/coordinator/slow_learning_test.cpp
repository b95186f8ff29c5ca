#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/simulated_network.hpp"
#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/tests/distributed/support/inheriting_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Ranks that learn for longer than others wait for a word, in virtual time.
namespace cambrian::distributed::slow_learning {
namespace {

using evolve::LearningMode;
using testing::HasSubstr;

/// A backend on which the first allocation of who learns takes long.
std::unique_ptr<InheritingBackend> slow_learner(std::chrono::seconds time) {
    auto backend = make_inheriting_backend(1);
    backend->before_allocation = [time, first = true](std::int64_t) mutable {
        if (std::exchange(first, false)) Clock::sleep(time);
    };
    return backend;
}

/// Rank 0, which coordinates ranks that a test plays.
struct PlayedScheduler {
    PlayedScheduler(Communicator& communicator, Backend& backend, const Experiment& experiment)
        : scheduler(communicator, backend, experiment, ancestry, reporter, interrupt, Turn{{1, 0}}),
          founders(scheduler.follower().newest()->strategy) {
        ancestry.begin(founders, {});
    }
    /// Goes on to the round after the founders, half of whose parents each of two ranks has.
    void follow(std::uint32_t first_holder, std::uint32_t second_holder) {
        const evolve::Scores scores = valid_scores(
            founders->births(), [](std::uint64_t i) { return static_cast<double>(i); });
        const SharedStrategy second =
            founders->apply(founders->decide(scores, scheduler.threads()));
        ancestry.add(second);
        const std::size_t members = second->parent_pool().size();
        std::vector<std::uint32_t> holders(members / 2, first_holder);
        holders.resize(members, second_holder);
        static_cast<void>(scheduler.follower().load(second->save(), std::move(holders)));
    }

    RecordingReporter reporter;
    const std::atomic<int> interrupt{0};
    Ancestry ancestry;
    Scheduler scheduler;
    SharedStrategy founders;
};

/// What rank 1 hears while rank 0 learns for ten seconds, and how long it waited at most.
struct Heard {
    double longest = 0.0;
    std::size_t genomes = 0;
};
Heard hear_until(Clock::time_point end, Communicator& communicator) {
    Heard heard;
    while (Clock::now() < end) {
        const Clock::time_point asked = Clock::now();
        send(communicator, 0, Heartbeat{});
        for (bool answered = false; !answered && Clock::now() < end;) {
            const auto message = communicator.receive(std::chrono::seconds(1));
            answered = message && message->kind == MessageKind::heartbeat;
            if (message && message->kind == MessageKind::genomes) {
                const auto reply = decode_message<GenomeReply>(message->payload, "rank 0");
                heard.genomes += reply.genomes.size();
            }
        }
        heard.longest = std::max(heard.longest, seconds_since(asked));
        Clock::sleep(std::chrono::milliseconds(500));
    }
    return heard;
}

/// @param request what rank 1 asks of rank 0 first; nothing: rank 0 has a champion learn.
Heard heard_while_learning(const Experiment& experiment,
                           const std::optional<GenomeRequest>& request) {
    Heard heard;
    SimulatedNetwork network(2, {});
    network.run([&](Communicator& communicator) {
        const Clock::time_point end = Clock::now() + std::chrono::seconds(14);
        if (communicator.rank() == 1) {
            const auto backend = make_inheriting_backend(1);
            send(communicator, 0, introduce(experiment, *backend));
            if (request) send(communicator, 0, *request);
            heard = hear_until(end, communicator);
            return;
        }
        const auto backend = slow_learner(std::chrono::seconds(10));
        PlayedScheduler played(communicator, *backend, experiment);
        Scheduler& scheduler = played.scheduler;
        scheduler.gather();
        if (!request) {
            const SharedIndividual first =
                make_child(scheduler.variation(), played.founders->birth(0), {},
                           scheduler.genome_memory())
                    .genome;
            EXPECT_NE(*scheduler.grown(first, 0, 0), *first);
        }
        while (Clock::now() < end + std::chrono::seconds(1)) {
            scheduler.listen();
            Clock::sleep(std::chrono::milliseconds(1));
        }
    });
    return heard;
}

TEST(SlowLearning, OfAChampionLeavesNobodyWithoutAnAnswer) {
    const Heard heard =
        heard_while_learning(learning_experiment(LearningMode::baldwinian), std::nullopt);
    EXPECT_LT(heard.longest, 5.0);
}

TEST(SlowLearning, OfGenomesThatWereLostLeavesNobodyWithoutAnAnswer) {
    const Heard heard =
        heard_while_learning(learning_experiment(LearningMode::lamarckian), GenomeRequest{{3, 5}});
    EXPECT_LT(heard.longest, 5.0);
    EXPECT_EQ(heard.genomes, 2U);
}

/// A rank that lives until it hears the stop.
/// @param act after each wait, with what is asked for.
void live(Communicator& communicator, const Experiment& experiment,
          const std::function<void(const std::optional<GenomeRequest>&)>& act) {
    const auto backend = make_inheriting_backend(1);
    send(communicator, 0, introduce(experiment, *backend));
    for (;;) {
        const auto message = communicator.receive(std::chrono::seconds(1));
        if (message && message->kind == MessageKind::stop) return;
        send(communicator, 0, Heartbeat{});
        std::optional<GenomeRequest> request;
        if (message && message->kind == MessageKind::genome_request) {
            request = decode_message<GenomeRequest>(message->payload, "rank 0");
        }
        act(request);
        Clock::sleep(std::chrono::milliseconds(500));
    }
}

/// Rank 1: lives, and gives a genome eight seconds after it was asked for it.
void give_late(Communicator& communicator, const Experiment& experiment) {
    std::optional<evolve::BirthId> wanted;
    Clock::time_point asked;
    live(communicator, experiment, [&](const std::optional<GenomeRequest>& request) {
        if (request) {
            wanted = request->origins.front();
            asked = Clock::now();
        }
        if (!wanted || seconds_since(asked) <= 8.0) return;
        const evolve::Individual genome(evolve::Variation(experiment.seed, experiment.variation)
                                            .materialise({*wanted, evolve::Recipe::sample, {}}, {})
                                            .genome);
        send(communicator, 0,
             GenomeReply{{evolve::encode(*genome.structure)}, {{*wanted, 0, genome.weights}}, {}});
        wanted.reset();
    });
}

TEST(SlowLearning, IsNotRepeatedWhereARankThatLivesHasTheGenome) {
    const Experiment experiment = learning_experiment(LearningMode::lamarckian);
    SimulatedNetwork network(2, {});
    network.run([&](Communicator& communicator) {
        if (communicator.rank() == 1) {
            give_late(communicator, experiment);
            return;
        }
        const auto backend = make_inheriting_backend(1);
        PlayedScheduler played(communicator, *backend, experiment);
        played.follow(1, 1);
        played.scheduler.gather();
        bool learned = false;
        backend->before_allocation = [&](std::int64_t) { learned = true; };
        EXPECT_TRUE(played.scheduler.member_genome(0));
        EXPECT_FALSE(learned);
    });
}

/// Rank 2: joins the run, and dies.
void fall_silent(Communicator& communicator, const Experiment& experiment) {
    const auto backend = make_inheriting_backend(1);
    send(communicator, 0, introduce(experiment, *backend));
    for (;;) {
        const auto message = communicator.receive(std::chrono::seconds(1));
        if (message && message->kind == MessageKind::stop) return;
    }
}

/// Ranks 1 and 2 have half of the genomes each; rank 1 says at once that its own are gone and
/// lives, rank 2 has died.
TEST(SlowLearning, IsNotWaitedForWhereOnlyARankThatHasAnsweredLives) {
    Experiment experiment = learning_experiment(LearningMode::lamarckian);
    experiment.distribution.lease_seconds = 20.0;
    SimulatedNetwork network(3, {});
    network.run([&](Communicator& communicator) {
        if (communicator.rank() == 1) {
            live(communicator, experiment, [&](const std::optional<GenomeRequest>& request) {
                if (request) send(communicator, 0, GenomeReply{{}, {}, request->origins});
            });
            return;
        }
        if (communicator.rank() == 2) {
            fall_silent(communicator, experiment);
            return;
        }
        const auto backend = make_inheriting_backend(1);
        PlayedScheduler played(communicator, *backend, experiment);
        played.follow(1, 2);
        played.scheduler.gather();
        const Clock::time_point asked = Clock::now();
        EXPECT_TRUE(played.scheduler.gather_parents());
        EXPECT_LT(seconds_since(asked), 0.75 * experiment.distribution.lease_seconds);
    });
}

/// All that was learned since the first checkpoint is learned once more before the run goes on.
TEST(SlowLearning, BeforeAResumeIsWaitedForByAllRanks) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(LearningMode::lamarckian);
    experiment.checkpoint.every = 1000;
    experiment.distribution.lease_seconds = 4.0;
    experiment.directory = place.path() / "whole";
    const auto run = [&](Communicator& communicator, Backend& backend, Start start,
                         Reporter& reporter) {
        const std::atomic<int> interrupt{0};
        static_cast<void>(
            run_coordinator(communicator, backend, experiment, start, reporter, interrupt));
    };
    const auto run_alone = [&] {
        const auto backend = make_inheriting_backend(1);
        Communicator alone = make_local_communicator();
        RecordingReporter reporter;
        run(alone, *backend, Start::fresh, reporter);
    };
    run_alone();
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "run";
    experiment.stop.generations = 4;
    run_alone();
    std::filesystem::remove(experiment.directory /
                            "checkpoint.cmb");  // The one of the start stays.
    experiment.stop.generations = 8;
    WorkerLimits limits;
    limits.first_contact_seconds = 3.0;
    std::uint64_t evaluated = 0;
    SimulatedNetwork network(2, {});
    network.run([&](Communicator& communicator) {
        if (communicator.rank() == 1) {
            const auto backend = make_inheriting_backend(1);
            const std::atomic<int> interrupt{0};
            evaluated = run_worker(communicator, *backend, experiment, interrupt, limits);
            return;
        }
        const auto backend = slow_learner(std::chrono::seconds(10));
        RecordingReporter reporter;
        run(communicator, *backend, Start::resume, reporter);
        EXPECT_EQ(reporter.first_generation, 4U);
        EXPECT_THAT(reporter.ranks, testing::Contains(HasSubstr("rank 1 on")));
    });
    EXPECT_GT(evaluated, 0U);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

}  // namespace
}  // namespace cambrian::distributed::slow_learning

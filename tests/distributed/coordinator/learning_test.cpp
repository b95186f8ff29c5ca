#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cambrian/distributed/communicator/simulated_network.hpp"
#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/inheriting_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Runs whose individuals learn: where they do so changes no byte.
namespace cambrian::distributed::learning {
namespace {

using evolve::LearningMode;
using testing::HasSubstr;

/// Mini-batches make it stochastic: who is carried over is evaluated again.
Experiment learning_experiment(LearningMode mode, bool stochastic = false) {
    nlohmann::json task = nlohmann::json::parse(
        R"({"type": "dataset", "source": {"type": "blobs", "features": 2, "classes": 3, "rows": 60},
            "loss": {"type": "cross_entropy"}, "split": {"validation": 0.2}})");
    if (stochastic) task["rows_per_evaluation"] = 16;
    Experiment experiment = callback_experiment({}, evolve::standard_tasks().make(task, {}));
    experiment.population.size = 24;
    experiment.stop = {};
    experiment.stop.generations = 8;
    experiment.validation.every = 3;
    experiment.checkpoint.every = 4;
    experiment.learning.mode = mode;
    experiment.learning.steps = 3;
    experiment.learning.batch = 8;
    experiment.learning.learning_rate = 0.02;
    return experiment;
}

std::string results(Experiment experiment, const std::filesystem::path& directory,
                    const Launch& settings) {
    experiment.directory = directory;
    const Launched launched = launch(experiment, settings);
    EXPECT_TRUE(launched.worker_errors.empty());
    EXPECT_TRUE(launched.reporter.warnings.empty());
    return results_of(directory);
}

class LearningRun : public ::testing::TestWithParam<LearningMode> {};

TEST_P(LearningRun, IsTheSameOnManyRanks) {
    const TemporaryDirectory place;
    for (const bool stochastic : {false, true}) {
        Experiment experiment = learning_experiment(GetParam(), stochastic);
        const auto at = [&](const std::string& name) {
            return place.path() / (name + (stochastic ? "s" : ""));
        };
        const std::string expected = results(experiment, at("alone"), {});
        for (const int ranks : {2, 4}) {
            experiment.distribution.shard_size = static_cast<std::uint64_t>(ranks) - 1;
            // Any number of genomes may be made once more, where that is right.
            EXPECT_EQ(expected, results(experiment, at(std::to_string(ranks)),
                                        {.ranks = ranks, .remaking_share = 1e9}));
        }
    }
}

/// New species are founded by children as they are after learning, wherever that was.
TEST_P(LearningRun, OfSpeciesIsTheSameOnManyRanks) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(GetParam());
    experiment.strategy = "species";
    experiment.species.threshold = 0.5;
    experiment.species.target = 6;
    const std::string expected = results(experiment, place.path() / "alone", {});
    for (const int ranks : {2, 4}) {
        EXPECT_EQ(expected, results(experiment, place.path() / std::to_string(ranks),
                                    {.ranks = ranks, .remaking_share = 1e9}));
    }
}

TEST_P(LearningRun, InterruptsChangeNoByte) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(GetParam());
    experiment.checkpoint.every = 1000;  // All that follows the first one is made once more.
    const std::string expected = results(experiment, place.path() / "whole", {});
    std::atomic<int> interrupt{0};
    experiment.directory = place.path() / "pieces";
    int interrupts = 0;
    for (;; ++interrupts) {
        interrupt = 0;
        Launch settings{
            .ranks = 1 + interrupts % 3, .start = Start::proceed, .interrupt = &interrupt};
        settings.on_generation = [&](RecordedNetwork&, const GenerationReport& report) {
            if (report.generation % 3 == 2) interrupt = 1;
        };
        if (launch(experiment, settings).result.reason != StopReason::interrupted) break;
    }
    EXPECT_GE(interrupts, 2);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST_P(LearningRun, IsFitterThanOneWithout) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(GetParam());
    experiment.learning.steps = 20;
    experiment.directory = place.path() / "learning";
    const std::optional<double> learning = launch(experiment, {}).result.best_fitness;
    experiment.learning.mode = LearningMode::off;
    experiment.directory = place.path() / "off";
    EXPECT_GT(learning, launch(experiment, {}).result.best_fitness);
}

TEST_P(LearningRun, LeavesWhatWasLearned) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(GetParam());
    experiment.directory = place.path();
    const std::optional<double> fitness = launch(experiment, {}).result.best_fitness;
    ASSERT_TRUE(fitness);
    const NetworkFile best = read_network(place.path() / "best.cmb");
    const auto backend = make_cpu_backend({});
    const std::vector<const evolve::Genome*> one{&best.genome};
    EXPECT_NEAR(
        evolve::Evaluator(*backend, *experiment.task, experiment.seed).evaluate(one, {})[0].fitness,
        *fitness, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Modes, LearningRun,
                         ::testing::Values(LearningMode::baldwinian, LearningMode::lamarckian),
                         [](const auto& instance) {
                             return std::string(evolve::learning_mode_names.at(
                                 static_cast<std::size_t>(instance.param)));
                         });

/// Mini-batches of learning are drawn anew in each generation: a champion that was carried over
/// keeps what it learned when it was evaluated last, which its fitness is of.
TEST(LearnedChampion, HasTheFitnessOfWhatItLearned) {
    const TemporaryDirectory place;
    const std::shared_ptr<const evolve::Task> other_task = evolve::standard_tasks().make(
        nlohmann::json::parse(
            R"({"type": "dataset", "loss": {"type": "cross_entropy"}, "split": {"validation": 0.2},
                "source": {"type": "blobs", "features": 2, "classes": 3, "rows": 60, "spread": 2}})"),
        {});
    for (const char* kind : {"once", "always", "changes"})
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            Experiment experiment = learning_experiment(LearningMode::baldwinian);
            experiment.seed = seed;
            experiment.stop.generations = 10;
            experiment.validation.every = 1;
            experiment.learning.batch = 2;
            experiment.population.elite_fraction = 0.5;
            if (kind == std::string_view("always")) experiment.reevaluate = Reevaluate::always;
            if (kind == std::string_view("changes")) experiment.changes.push_back({5, other_task});
            const auto directory = place.path() / (kind + std::to_string(seed));
            static_cast<void>(results(experiment, directory, {}));
            const NetworkFile best = read_network(directory / "best.cmb");
            const auto backend = make_cpu_backend({.threads = 1});
            evolve::Evaluator evaluator(*backend, *experiment.task_at(best.generation),
                                        experiment.seed);
            const std::vector<const evolve::Genome*> one{&best.genome};
            EXPECT_NEAR(evaluator.evaluate(one, {}).front().fitness, best.fitness, 1e-6)
                << kind << seed;
        }
}

/// It learns once more in each generation, from other rows: another network than the one that
/// failed.
TEST(LearnedChampion, IsTestedAgainWhereItLearnsAnew) {
    const TemporaryDirectory place;
    Experiment experiment = learning_experiment(LearningMode::baldwinian);
    experiment.task =
        solvable_task(experiment.task,
                      {.candidate = -1e300, .phase = evolve::Phase::validation, .passes = 1e300});
    experiment.reevaluate = Reevaluate::always;
    experiment.population.elite_fraction = 0.5;
    experiment.stop.generations = 12;
    experiment.stop.solved = true;
    experiment.directory = place.path();
    bool stayed = false;
    evolve::BirthId last = 0;
    for (const GenerationReport& report : launch(experiment, {}).reporter.reports) {
        EXPECT_EQ(report.tests.count, report.generation + 1);
        stayed = stayed || (report.generation > 0 && report.tests.origin == last);
        last = report.tests.origin;
    }
    EXPECT_TRUE(stayed) << "there was none to be tested again";
}

/// In virtual time: a backend on which the first allocation of who learns takes long.
std::unique_ptr<InheritingBackend> slow_learner(std::chrono::seconds time) {
    auto backend = make_inheriting_backend(1);
    backend->before_allocation = [time, first = true](std::int64_t) mutable {
        if (std::exchange(first, false)) Clock::sleep(time);
    };
    return backend;
}

/// What rank 1 hears while rank 0 learns for ten seconds, and how long it waited at most.
struct Heard {
    double longest = 0.0;
    std::size_t genomes = 0;
};
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
            return;
        }
        const auto backend = slow_learner(std::chrono::seconds(10));
        RecordingReporter reporter;
        const std::atomic<int> interrupt{0};
        Ancestry ancestry;
        Scheduler scheduler(communicator, *backend, experiment, ancestry, reporter, interrupt,
                            Reign{1, 0});
        const SharedStrategy founders = scheduler.follower().newest()->strategy;
        ancestry.begin(founders, {});
        scheduler.gather();
        if (!request) {
            const SharedIndividual first =
                make_child(scheduler.variation(), founders->birth(0), {}, scheduler.genome_memory())
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

/// Rank 1: lives, and gives a genome eight seconds after it was asked for it.
void give_late(Communicator& communicator, const Experiment& experiment) {
    const auto backend = make_inheriting_backend(1);
    send(communicator, 0, introduce(experiment, *backend));
    std::optional<evolve::BirthId> wanted;
    Clock::time_point asked;
    for (;;) {
        const auto message = communicator.receive(std::chrono::seconds(1));
        if (message && message->kind == MessageKind::stop) return;
        if (message && message->kind == MessageKind::genome_request) {
            wanted = decode_message<GenomeRequest>(message->payload, "rank 0").origins.front();
            asked = Clock::now();
        }
        send(communicator, 0, Heartbeat{});
        if (wanted && seconds_since(asked) > 8.0) {
            const evolve::Individual genome(
                evolve::Variation(experiment.seed, experiment.variation)
                    .materialise({*wanted, evolve::Recipe::sample, {}}, {})
                    .genome);
            send(communicator, 0,
                 GenomeReply{
                     {evolve::encode(*genome.structure)}, {{*wanted, 0, genome.weights}}, {}});
            wanted.reset();
        }
        Clock::sleep(std::chrono::milliseconds(500));
    }
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
        RecordingReporter reporter;
        const std::atomic<int> interrupt{0};
        Ancestry ancestry;
        Scheduler scheduler(communicator, *backend, experiment, ancestry, reporter, interrupt,
                            Reign{1, 0});
        const SharedStrategy founders = scheduler.follower().newest()->strategy;
        evolve::Scores scores(founders->births());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            scores.fitness[i] = static_cast<double>(i);
            scores.status[i] = evolve::Status::ok;
        }
        const SharedStrategy second =
            founders->apply(founders->decide(scores, scheduler.threads()));
        ancestry.begin(founders, {});
        ancestry.add(second);
        static_cast<void>(scheduler.follower().load(
            second->save(), std::vector<std::uint32_t>(second->parent_pool().size(), 1)));
        scheduler.gather();
        bool learned = false;
        backend->before_allocation = [&](std::int64_t) { learned = true; };
        EXPECT_TRUE(scheduler.member_genome(0));
        EXPECT_FALSE(learned);
    });
}

/// Ranks 1 and 2 have half of the genomes each; rank 1 gives its own at once and lives, rank 2 has
/// died.
TEST(SlowLearning, IsNotWaitedForWhereOnlyARankThatHasAnsweredLives) {
    Experiment experiment = learning_experiment(LearningMode::lamarckian);
    experiment.distribution.lease_seconds = 20.0;
    SimulatedNetwork network(3, {});
    network.run([&](Communicator& communicator) {
        const auto backend = make_inheriting_backend(1);
        if (communicator.rank() > 0) {
            send(communicator, 0, introduce(experiment, *backend));
            for (;;) {
                const auto message = communicator.receive(std::chrono::seconds(1));
                if (message && message->kind == MessageKind::stop) return;
                if (communicator.rank() == 2) continue;
                send(communicator, 0, Heartbeat{});
                if (message && message->kind == MessageKind::genome_request) {
                    send(communicator, 0,
                         GenomeReply{
                             {},
                             {},
                             decode_message<GenomeRequest>(message->payload, "rank 0").origins});
                }
                Clock::sleep(std::chrono::milliseconds(500));
            }
        }
        RecordingReporter reporter;
        const std::atomic<int> interrupt{0};
        Ancestry ancestry;
        Scheduler scheduler(communicator, *backend, experiment, ancestry, reporter, interrupt,
                            Reign{1, 0});
        const SharedStrategy founders = scheduler.follower().newest()->strategy;
        evolve::Scores scores(founders->births());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            scores.fitness[i] = static_cast<double>(i);
            scores.status[i] = evolve::Status::ok;
        }
        const SharedStrategy second =
            founders->apply(founders->decide(scores, scheduler.threads()));
        ancestry.begin(founders, {});
        ancestry.add(second);
        std::vector<std::uint32_t> holders(second->parent_pool().size(), 1);
        std::fill(holders.begin() + static_cast<std::ptrdiff_t>(holders.size() / 2), holders.end(),
                  2);
        static_cast<void>(scheduler.follower().load(second->save(), std::move(holders)));
        scheduler.gather();
        const Clock::time_point asked = Clock::now();
        EXPECT_TRUE(scheduler.gather_parents());
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

TEST(LearningSettings, WhatIsLearnedElsewhereCannotBeMadeHere) {
    Experiment experiment = learning_experiment(LearningMode::lamarckian);
    experiment.distribution.exchange = Exchange::genomes;
    EXPECT_THAT([&] { check_learning(experiment); },
                testing::ThrowsMessage<ConfigError>(HasSubstr("set the exchange to \"births\"")));
    experiment.learning.mode = LearningMode::baldwinian;
    check_learning(experiment);
}

}  // namespace
}  // namespace cambrian::distributed::learning

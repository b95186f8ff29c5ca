#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Failure, SilencedWorkerChangesNoByte) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    experiment.stop.generations = 6;
    experiment.directory = place.path() / "whole";
    static_cast<void>(launch(experiment, {}));
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "silenced";
    experiment.distribution.lease_seconds = 0.2;
    experiment.distribution.shard_size = 3;
    const Launched launched = launch(
        experiment,
        {.ranks = 3, .on_generation = [](RecordedNetwork& network, const GenerationReport& report) {
             if (report.generation == 2) {
                 network.silence(1);
             }
         }});
    EXPECT_EQ(expected, results_of(experiment.directory));
    EXPECT_THAT(launched.reporter.warnings, testing::Contains(HasSubstr("has been silent")));
    // The silenced worker hears nothing either, and gives up.
    EXPECT_THAT(launched.worker_errors, testing::ElementsAre(HasSubstr("the coordinator")));
}

TEST(Failure, WhoDoesNotHearOfARoundIsToldByAnOrder) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "whole");
    experiment.stop.generations = 6;
    static_cast<void>(launch(experiment, {}));
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "unheard";
    experiment.distribution.lease_seconds = 2.0;
    const Launched launched = launch(
        experiment,
        {.ranks = 3, .on_generation = [](RecordedNetwork& network, const GenerationReport& report) {
             if (report.generation == 2) {
                 network.lose(2, MessageKind::round_end);
             }
         }});
    EXPECT_EQ(expected, results_of(experiment.directory));
    // It lives, and nobody has to wait for a lease until its births are somebody else's.
    EXPECT_THAT(launched.reporter.warnings, testing::IsEmpty());
    EXPECT_THAT(launched.worker_errors, testing::IsEmpty());
}

TEST(Failure, FailingIndividualsAreCountedAndTheRestGoesOn) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment(place.path() / "alone", failing_task());
    const Launched alone = launch(experiment, {});
    const GenerationReport& first = alone.reporter.reports.front();
    EXPECT_GT(first.invalid, 0U);
    EXPECT_LT(first.invalid, 12U);
    EXPECT_TRUE(std::isfinite(first.best));
    EXPECT_THAT(alone.reporter.warnings, testing::Contains(HasSubstr("break the simulator")));
    const std::string expected = results_of(experiment.directory);
    std::size_t failed = 0;
    const auto blocks = individuals_of(experiment.directory);
    for (const LoggedIndividual& individual : blocks.front().individuals) {
        if (individual.status == evolve::Status::failed) {
            EXPECT_EQ(individual.fitness, evolve::worst_fitness);
            ++failed;
        }
    }
    EXPECT_EQ(failed, first.invalid);
    experiment.directory = place.path() / "spread";
    static_cast<void>(launch(experiment, {.ranks = 3}));
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Failure, GenerationThatFailsAsAWholeIsAnError) {
    const TemporaryDirectory place;
    const std::shared_ptr<const evolve::Task> task = evolve::make_callback_task(
        2, 1, [](evolve::Population&) -> std::vector<double> { throw std::runtime_error("off"); });
    const Experiment experiment = callback_experiment(place.path() / "run", task);
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {})); },
                ThrowsMessage<Error>(HasSubstr("none of the last 12 births, up to generation 0")));
    EXPECT_THAT(text_of(experiment.directory / "status.json"), HasSubstr("\"failed\""));
}

TEST(Failure, BirthsThatFailInARowAreCountedAcrossAResume) {
    const TemporaryDirectory place;
    const std::shared_ptr<const evolve::Task> task =
        evolve::make_callback_task(2, 1, [](evolve::Population& population) {
            for (std::size_t i = 0; i < population.size(); ++i) {
                population.fail(i);
            }
            return std::vector<double>(population.size(), 1.0);
        });
    Experiment experiment = callback_experiment(place.path() / "run", task);
    experiment.steady_state = {.window = 8, .block = 4};
    experiment.stop.generations = 2;
    const Launched first = launch(experiment, {.ranks = 2});
    EXPECT_EQ(first.reporter.reports.back().failed_in_a_row, 8U);
    EXPECT_EQ(individuals_of(experiment.directory).front().individuals.front().status,
              evolve::Status::failed);
    experiment.stop.generations = 9;
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = Start::resume})); },
                ThrowsMessage<Error>(HasSubstr("none of the last 12 births, up to generation 2")));
}

TEST(Failure, CauseThatAllShareDoesNotFillTheConsole) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment(place.path() / "run", failing_task());
    experiment.population.size = 64;
    experiment.stop.generations = 1;
    const Launched launched = launch(experiment, {});
    ASSERT_GT(launched.reporter.reports.front().invalid, 4U);
    ASSERT_EQ(launched.reporter.warnings.size(), 4U);
    EXPECT_THAT(launched.reporter.warnings.back(), HasSubstr("(after 3 they are only counted)"));
}

TEST(Worker, GivesUpOnASilentCoordinator) {
    const TemporaryDirectory place;
    RecordedNetwork network(2);
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.lease_seconds = 0.05;
    WorkerLimits limits;
    limits.first_contact_seconds = 0.2;
    const auto backend = make_cpu_backend({});
    const std::atomic<int> interrupt{0};
    Communicator communicator = network.communicator(1);
    EXPECT_THAT(
        [&] {
            static_cast<void>(run_worker(communicator, *backend, experiment, interrupt, limits));
        },
        ThrowsMessage<CoordinatorLost>(HasSubstr("the coordinator has not spoken for 0.2")));
    const std::vector<RecordedNetwork::Record> records = network.records();
    EXPECT_TRUE(std::any_of(records.begin(), records.end(), [](const auto& record) {
        return record.kind == MessageKind::heartbeat;
    }));
}

TEST(Worker, StaysWhileTheCoordinatorIsBusyForSeveralLeases) {
    const TemporaryDirectory place;
    Experiment experiment = cart_pole_experiment(place.path() / "whole");
    static_cast<void>(launch(experiment, {}));
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "busy";
    experiment.distribution.lease_seconds = 1.0;
    int validations = 0;
    const auto linger = [&](std::uint64_t) {
        ++validations;
        std::this_thread::sleep_for(std::chrono::seconds(3));
    };
    experiment.task = watched_task(experiment.task, linger, evolve::Phase::validation);
    const Launched launched = launch(experiment, {.ranks = 3});
    EXPECT_GT(validations, 0);
    EXPECT_THAT(launched.worker_errors, testing::IsEmpty());
    EXPECT_THAT(launched.reporter.warnings, testing::IsEmpty());
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Worker, LeavesOneLeaseAfterTheCoordinatorFellSilent) {
    const TemporaryDirectory place;
    RecordedNetwork network(2);
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.lease_seconds = 1.5;
    const auto backend = make_cpu_backend({});
    std::thread coordinator([&] {
        Communicator communicator = network.communicator(0);
        send(communicator, 1, Heartbeat{{}, 1});
    });
    const std::atomic<int> interrupt{0};
    Communicator communicator = network.communicator(1);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(
        [&] { static_cast<void>(run_worker(communicator, *backend, experiment, interrupt)); },
        ThrowsMessage<CoordinatorLost>(
            testing::AllOf(HasSubstr("silent for a lease"), HasSubstr("lease_seconds is 1.5"))));
    coordinator.join();
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    EXPECT_GT(waited.count(), 1.4);
    EXPECT_LT(waited.count(), 15.0);
}

TEST(Status, RepeatsTheExitCodeOfTheError) {
    const auto code_after = [](const auto& error) {
        const TemporaryDirectory place;
        const Experiment experiment = xor_experiment(place.path() / "run");
        Launch settings;
        settings.on_generation = [&](RecordedNetwork&, const GenerationReport&) { throw error; };
        EXPECT_ANY_THROW((void)launch(experiment, settings));
        return text_of(experiment.directory / "status.json");
    };
    EXPECT_THAT(code_after(ConfigError("no")), HasSubstr("\"exit_code\": 2"));
    EXPECT_THAT(code_after(ShapeError("no")), HasSubstr("\"exit_code\": 2"));
    EXPECT_THAT(code_after(InputError("no")), HasSubstr("\"exit_code\": 3"));
    EXPECT_THAT(code_after(DeviceError("no")), HasSubstr("\"exit_code\": 4"));
    EXPECT_THAT(code_after(std::runtime_error("no")), HasSubstr("\"exit_code\": 1"));
}

}  // namespace
}  // namespace cambrian::distributed

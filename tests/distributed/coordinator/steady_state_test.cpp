#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Blocks of births, of which several are open: nobody waits for a slow rank before the window ends.
namespace cambrian::distributed::steady_state {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace std::chrono_literals;

constexpr std::uint64_t block = 2;
/// The first: a rank evaluates others while the parents of a birth are on their way, and a slow
/// rank that keeps one of an earlier block ends the window earlier.
constexpr std::uint64_t slow_block = 0;

/// How many births of later blocks two ranks evaluate while one birth takes as long as it can.
std::uint64_t births_beside_a_slow_one(std::uint64_t window, std::uint64_t enough) {
    const TemporaryDirectory place;
    std::atomic<bool> slow{false};
    std::atomic<std::uint64_t> later{0};
    std::atomic<std::uint64_t> beside{0};
    const auto hook = [&](std::uint64_t round) {
        if (round > slow_block) {
            ++later;
        }
        if (round == slow_block && !slow.exchange(true)) {
            const auto end = std::chrono::steady_clock::now() + 3s;
            while (later.load() < enough && std::chrono::steady_clock::now() < end) {
                std::this_thread::sleep_for(1ms);
            }
            std::this_thread::sleep_for(100ms);
            beside = later.load();
        }
    };
    Experiment experiment = callback_experiment(place.path(), watched_task(sum_task(), hook));
    experiment.steady_state = {.window = window, .block = block};
    experiment.stop.generations = 40;
    experiment.distribution.shard_size = 1;
    static_cast<void>(launch(experiment, {.ranks = 3}));
    return beside.load();
}

TEST(SteadyStateRun, ASlowBirthStopsTheOthersAtTheEndOfTheWindowOnly) {
    // The slow rank may have the next birth in its queue.
    const std::uint64_t beside = births_beside_a_slow_one(12, 9);
    EXPECT_GE(beside, 9U);
    EXPECT_LE(beside, 10U);
    EXPECT_EQ(births_beside_a_slow_one(block, 0), 0U);
}

TEST(SteadyStateRun, ARowIsABlockAndTheBestStays) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path());
    experiment.steady_state = {.window = 12, .block = 4};
    experiment.stop.generations = 30;
    const Launched launched = launch(experiment, {.ranks = 2});
    double best = evolve::worst_fitness;
    for (const GenerationReport& report : launched.reporter.reports) {
        EXPECT_EQ(report.evaluations, 4 * (report.generation + 1));
        EXPECT_GE(report.best, best);
        EXPECT_GE(report.best, report.mean);
        best = report.best;
    }
    EXPECT_EQ(launched.reporter.reports.size(), 30U);
    EXPECT_EQ(launched.result.best_fitness, best);
}

TEST(SteadyStateRun, ANetworkFileNamesTheBlockOfItsBirth) {
    const TemporaryDirectory place;
    Experiment experiment = cart_pole_experiment(place.path());
    experiment.reevaluate = Reevaluate::never;
    experiment.validation.every = 1;
    experiment.steady_state = {.window = 12, .block = 4};
    experiment.stop.generations = 30;
    static_cast<void>(launch(experiment, {}));
    const NetworkFile best = read_network(place.path() / "best.cmb");
    EXPECT_EQ(best.generation, best.birth / 4);
}

TEST(SteadyStateRun, NothingIsBegunThatTheRunNeverComesTo) {
    const TemporaryDirectory place;
    std::atomic<std::uint64_t> evaluated{0};
    std::atomic<std::uint64_t> last{0};
    Experiment experiment =
        callback_experiment(place.path(), watched_task(sum_task(), [&](std::uint64_t round) {
                                ++evaluated;
                                last = std::max(last.load(), round);
                            }));
    experiment.steady_state = {.window = 12, .block = block};
    experiment.stop.generations = 7;
    experiment.distribution.shard_size = 1;
    static_cast<void>(launch(experiment, {.ranks = 2}));
    EXPECT_EQ(evaluated.load(), 7 * block);
    EXPECT_EQ(last.load(), 6U);
}

TEST(SteadyStateRun, AWindowThatIsSmallForItsRanksIsToldOf) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment(place.path(), sum_task());
    experiment.steady_state = {.window = 4, .block = block};
    const Launched launched = launch(experiment, {.ranks = 3});
    EXPECT_THAT(
        launched.reporter.warnings,
        testing::ElementsAre(HasSubstr("steady_state.window is 4 (3 ranks have room for 6")));
}

TEST(SteadyStateRun, ABlockMayFailButNotAsManyBirthsInARowAsThePopulationHas) {
    const TemporaryDirectory place;
    std::atomic<std::uint64_t> fail_from{0};
    const auto task = watched_task(sum_task(), [&](std::uint64_t round) {
        if (round % 3 == 0 || round >= fail_from.load()) {
            throw std::runtime_error("the simulator broke");
        }
    });
    Experiment experiment = callback_experiment(place.path() / "now and then", task);
    experiment.steady_state = {.window = 12, .block = block};
    experiment.stop.generations = 30;
    fail_from = experiment.stop.generations;
    EXPECT_EQ(launch(experiment, {.ranks = 2}).result.last.generation, 29U);
    experiment.directory = place.path() / "at last";
    fail_from = 10;
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.ranks = 2})); },
                ThrowsMessage<Error>(HasSubstr("the last 12 births")));
    EXPECT_EQ(experiment.population.size, 12U);
}

TEST(SteadyStateRun, AStochasticTaskNeedsAWord) {
    Experiment experiment = cart_pole_experiment({});
    experiment.steady_state = {.window = 8, .block = 4};
    EXPECT_THAT([&] { static_cast<void>(make_strategy(experiment)); },
                ThrowsMessage<ConfigError>(HasSubstr("set population.reevaluate to \"never\"")));
    experiment.reevaluate = Reevaluate::never;
    EXPECT_EQ(make_strategy(experiment)->open(), 2U);
}

}  // namespace
}  // namespace cambrian::distributed::steady_state

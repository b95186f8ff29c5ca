#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

using testing::HasSubstr;
using testing::Not;

/// One way to spread a run, which must not change a byte of it.
struct Spread {
    int ranks = 1;
    int threads = 1;
    std::uint64_t shard_size = 0;
    Exchange exchange = Exchange::births;
    std::string device{};  ///< Ranks with one get their share in one piece.
};

const std::vector<Spread> spreads{
    {1, 2, 0, Exchange::births},          {1, 1, 1, Exchange::births},
    {1, 1, 64, Exchange::genomes},        {2, 1, 0, Exchange::births},
    {2, 2, 1, Exchange::genomes},         {3, 1, 64, Exchange::births},
    {3, 1, 0, Exchange::genomes},         {4, 1, 1, Exchange::births},
    {4, 2, 0, Exchange::births},          {4, 1, 64, Exchange::genomes},
    {1, 1, 0, Exchange::births, "a GPU"}, {3, 2, 0, Exchange::births, "a GPU"},
};

std::string spread_run(Experiment experiment, const Spread& spread,
                       const std::filesystem::path& directory) {
    experiment.directory = directory;
    experiment.distribution.shard_size = spread.shard_size;
    experiment.distribution.exchange = spread.exchange;
    experiment.distribution.device = spread.device;
    const Launched launched =
        launch(experiment, {.ranks = spread.ranks, .threads = spread.threads});
    EXPECT_TRUE(launched.worker_errors.empty());
    // Ranks of one host that name one device are warned of.
    EXPECT_LE(launched.reporter.warnings.size(), spread.device.empty() ? 0U : 1U);
    return results_of(directory);
}

void expect_one_result(const Experiment& experiment) {
    const TemporaryDirectory place;
    const std::string expected = spread_run(experiment, {}, place.path() / "alone");
    EXPECT_GT(expected.size(), 500U);
    for (std::size_t i = 0; i < spreads.size(); ++i) {
        EXPECT_EQ(expected, spread_run(experiment, spreads[i], place.path() / std::to_string(i)))
            << spreads[i].ranks << " ranks, shard size " << spreads[i].shard_size;
    }
}

TEST(Determinism, XorIsTheSameHoweverItIsSpread) {
    expect_one_result(xor_experiment({}));
}

TEST(Determinism, CartPoleIsTheSameHoweverItIsSpread) {
    expect_one_result(cart_pole_experiment({}));
}

TEST(Determinism, NeatIsTheSameHoweverItIsSpread) {
    expect_one_result(neat_experiment({}));
}

TEST(Determinism, CallbackIsTheSameHoweverItIsSpread) {
    expect_one_result(callback_experiment({}, sum_task()));
}

TEST(Determinism, AChangingTaskIsTheSameHoweverItIsSpread) {
    expect_one_result(changing_experiment({}));
    expect_one_result(changing_cart_pole({}));
}

TEST(Determinism, IslandsAreTheSameHoweverTheyAreSpread) {
    Experiment experiment = xor_experiment({});
    experiment.population.size = 48;
    experiment.islands = {.count = 4,
                          .topology = evolve::Topology::torus,
                          .every = 2,
                          .migrants = 2,
                          .extinction_every = 3,
                          .sizes = {6, 12, 10, 20}};
    expect_one_result(experiment);
    experiment.islands = {.count = 3,
                          .topology = evolve::Topology::random,
                          .every = 1,
                          .choice = evolve::Migrants::random};
    experiment.variation.islands.assign(
        3, {experiment.variation.mutation, experiment.variation.splice});
    experiment.variation.islands[1].mutation.weight_power = 1.0F;
    experiment.variation.islands[2].splice.rate = 1.0F;
    expect_one_result(experiment);
}

TEST(Determinism, TheSteadyStateIsTheSameHoweverItIsSpread) {
    for (Experiment experiment : {xor_experiment({}), cart_pole_experiment({})}) {
        experiment.steady_state = {.window = 20, .block = 4};
        experiment.reevaluate = Reevaluate::never;
        experiment.stop.generations = 30;
        expect_one_result(experiment);
    }
    Experiment islands = xor_experiment({});
    islands.population.size = 24;
    islands.steady_state = {.window = 16, .block = 8};
    islands.stop.generations = 16;
    islands.islands = {.count = 3, .every = 2, .migrants = 2, .extinction_every = 5};
    expect_one_result(islands);
    // A birth a block, and one block at a time.
    islands.islands = {};
    islands.stop.generations = 60;
    islands.steady_state = {.window = 9, .block = 1};
    expect_one_result(islands);
    islands.steady_state = {.window = 12, .block = 12};
    islands.stop.generations = 6;
    expect_one_result(islands);
}

TEST(Determinism, ASlowRankChangesNoByteOfTheSteadyState) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment({}, sum_task());
    experiment.steady_state = {.window = 12, .block = 3};
    experiment.stop.generations = 40;
    experiment.distribution.shard_size = 1;
    const std::string expected = spread_run(experiment, {}, place.path() / "alone");
    std::atomic<unsigned> calls{0};
    experiment.task = watched_task(sum_task(), [&](std::uint64_t) {
        const unsigned call = calls++;
        std::this_thread::sleep_for(
            std::chrono::microseconds((call * 7919) % 23 == 0 ? 20'000 : 0));
    });
    for (const Exchange exchange : {Exchange::births, Exchange::genomes}) {
        const std::string name = exchange == Exchange::births ? "births" : "genomes";
        EXPECT_EQ(expected, spread_run(experiment, {4, 1, 1, exchange}, place.path() / name));
    }
}

TEST(Determinism, SeedChangesTheResult) {
    const TemporaryDirectory place;
    Experiment other = xor_experiment({});
    other.seed = 8;
    EXPECT_NE(spread_run(xor_experiment({}), {}, place.path() / "a"),
              spread_run(other, {}, place.path() / "b"));
}

/// Bytes of genomes that one worker had from another.
std::size_t travelled(const Launched& launched) {
    std::size_t bytes = 0;
    for (const RecordedNetwork::Record& record : launched.records) {
        const bool among_workers = record.source != 0 && record.target != 0;
        bytes += among_workers && record.kind == MessageKind::genomes ? record.bytes : 0;
    }
    return bytes;
}

/// Parents that workers made once more instead of asking for them.
std::uint64_t remade_by_workers(const std::filesystem::path& directory) {
    std::uint64_t remade = 0;
    for (const TableRow& row : table_of(directory / "timings.csv")) {
        remade += row.at("rank") != "0" ? std::stoull(row.at("remade")) : 0U;
    }
    return remade;
}

TEST(Determinism, ParentsTravelBetweenWorkersOrAreMadeOnceMore) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    experiment.stop.generations = 20;
    experiment.distribution.shard_size = 2;
    const std::string expected = spread_run(experiment, {}, place.path() / "alone");
    experiment.directory = place.path() / "fetched";
    const Launched fetched = launch(experiment, {.ranks = 4, .remaking_share = 0.0});
    EXPECT_EQ(expected, results_of(experiment.directory));
    EXPECT_GT(travelled(fetched), 0U);
    EXPECT_EQ(remade_by_workers(experiment.directory), 0U);
    experiment.directory = place.path() / "remade";
    static_cast<void>(launch(experiment, {.ranks = 4, .remaking_share = 1e6}));
    EXPECT_EQ(expected, results_of(experiment.directory));
    EXPECT_GT(remade_by_workers(experiment.directory), 0U);
}

TEST(Determinism, OrdersAndScoresAreSmall) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.log.individuals = LoggedIndividuals::none;
    experiment.population.size = 4000;
    experiment.stop.generations = 4;
    const Launched launched = launch(experiment, {.ranks = 2});
    std::size_t orders = 0;
    std::size_t scores = 0;
    for (const RecordedNetwork::Record& record : launched.records) {
        orders += record.kind == MessageKind::shard ? record.bytes : 0;
        scores += record.kind == MessageKind::request ? record.bytes : 0;
    }
    const std::size_t individuals = 4000 * 4;
    EXPECT_LT(orders, 9 * individuals);
    EXPECT_LT(scores, 9 * individuals + 64'000);
}

TEST(Determinism, DetailsOfIndividualsAddAFewBytes) {
    const TemporaryDirectory place;
    Experiment experiment = cart_pole_experiment(place.path() / "run");
    experiment.log.individuals = LoggedIndividuals::survivors;
    experiment.population.size = 4000;
    const Launched launched = launch(experiment, {.ranks = 2});
    std::size_t scores = 0;
    for (const RecordedNetwork::Record& record : launched.records) {
        scores += record.kind == MessageKind::request ? record.bytes : 0;
    }
    EXPECT_LT(scores, 13 * 4000 * experiment.stop.generations + 64'000);
}

TEST(Determinism, MoreRanksThanIndividualsAreLegal) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment({}, sum_task());
    experiment.population.size = 2;
    const std::string expected = spread_run(experiment, {}, place.path() / "alone");
    EXPECT_EQ(expected, spread_run(experiment, {.ranks = 5}, place.path() / "crowd"));
}

TEST(Determinism, WorkersShareTheWork) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.distribution.shard_size = 1;
    const Launched launched = launch(experiment, {.ranks = 3});
    EXPECT_GT(launched.evaluated_by_workers, 0U);
    EXPECT_EQ(launched.reporter.ranks.size(), 3U);
    EXPECT_THAT(text_of(experiment.directory / "timings.csv"), HasSubstr("\n0,2,"));
}

TEST(Run, WritesTheDocumentedColumns) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    const Launched launched = launch(experiment, {});
    const std::string generations = text_of(experiment.directory / "generations.csv");
    EXPECT_THAT(generations, testing::StartsWith("generation,evaluations,best,mean,worst,validated,"
                                                 "parameters,env_steps,redrawn,invalid\n"
                                                 "0,30,"));
    EXPECT_EQ(std::count(generations.begin(), generations.end(), '\n'), 9);
    EXPECT_THAT(text_of(experiment.directory / "timings.csv"),
                testing::StartsWith("generation,rank,evaluate,vary,wait,communicate,compiled,"
                                    "splits,fallbacks,fetched,remade\n0,0,"));
    EXPECT_THAT(text_of(experiment.directory / "status.json"), HasSubstr("\"state\": \"done\""));
    EXPECT_THAT(text_of(experiment.directory / "config.json"), HasSubstr("\"fingerprint\""));
    EXPECT_EQ(launched.reporter.reports.size(), 8U);
    EXPECT_EQ(launched.result.reason, StopReason::generations);
}

TEST(Run, CarriesWithoutEvaluatingAgainWhenTheTaskIsDeterministic) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    const Launched launched = launch(experiment, {});
    // 8 elites of 30 are carried over.
    EXPECT_EQ(launched.reporter.reports[1].evaluations, 30U + 22U);
    EXPECT_GE(launched.reporter.reports[1].best, launched.reporter.reports[0].best);
}

TEST(Run, ReevaluatesElitesWhenAsked) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.reevaluate = Reevaluate::always;
    const Launched launched = launch(experiment, {});
    EXPECT_EQ(launched.reporter.reports[1].evaluations, 60U);
}

TEST(Run, ValidatesEverySecondGenerationAndAtTheEnd) {
    const TemporaryDirectory place;
    Experiment experiment = cart_pole_experiment(place.path() / "run");
    experiment.stop.generations = 5;
    const Launched launched = launch(experiment, {});
    std::vector<bool> validated;
    for (const GenerationReport& report : launched.reporter.reports) {
        validated.push_back(report.validated.has_value());
    }
    EXPECT_THAT(validated, testing::ElementsAre(false, true, false, true, false));
    ASSERT_TRUE(launched.result.last.validated.has_value());
    EXPECT_TRUE(launched.result.best_validated.has_value());
    EXPECT_THAT(text_of(experiment.directory / "generations.csv"),
                HasSubstr(fmt::format(",{},", *launched.result.last.validated)));
}

}  // namespace
}  // namespace cambrian::distributed

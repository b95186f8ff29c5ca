#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cambrian/tests/distributed/support/run_support.hpp"

// Runs whose children gain genes and lose them by turns.
namespace cambrian::distributed::complexity_tests {
namespace {

using testing::StartsWith;

Experiment growing(const std::filesystem::path& directory) {
    Experiment experiment = neat_experiment(directory);
    experiment.variation.kind = evolve::standard_genomes().make(
        nlohmann::json::parse(R"({"type": "neat", "node_add_rate": 0.5,
                                  "connection_add_rate": 0.6})"),
        {.mutation = {}, .splice = {}, .limits = {}, .complexity = {.delete_rate = 0.6F}});
    // Everybody is a parent, so that genes that do no harm add up.
    experiment.population.elite_fraction = 0.06;
    experiment.selection.parent_fraction = 1.0;
    experiment.variation.splice.rate = 0.1F;
    experiment.stop.generations = 24;
    return experiment;
}

Experiment regulated(const std::filesystem::path& directory) {
    Experiment experiment = growing(directory);
    experiment.variation.complexity = {
        .ceiling = 3.0, .patience = 2, .delete_rate = 0.6F, .splice = false};
    return experiment;
}

TEST(ComplexityRun, IsTheSameHoweverItIsSpread) {
    const TemporaryDirectory place;
    std::string expected;
    for (const int ranks : {1, 2, 3}) {
        for (const Exchange exchange : {Exchange::births, Exchange::genomes}) {
            const auto own =
                place.path() / (std::to_string(ranks) + (exchange == Exchange::births ? "b" : "g"));
            Experiment experiment = regulated(own);
            experiment.distribution.exchange = exchange;
            experiment.distribution.shard_size = ranks == 2 ? 1 : 0;
            const Launched launched = launch(experiment, {.ranks = ranks});
            EXPECT_TRUE(launched.worker_errors.empty());
            expected = expected.empty() ? results_of(own) : expected;
            EXPECT_EQ(expected, results_of(own)) << ranks << " ranks";
        }
    }
}

TEST(ComplexityRun, OfSpeciesOnIslandsIsTheSameHoweverItIsSpread) {
    const TemporaryDirectory place;
    std::string expected;
    for (const int ranks : {1, 2}) {
        const auto own = place.path() / std::to_string(ranks);
        Experiment experiment = regulated(own);
        experiment.strategy = "species";
        experiment.selection.parent_fraction = 0.0;
        experiment.islands = {.count = 2, .every = 3, .extinction_every = 7};
        static_cast<void>(launch(experiment, {.ranks = ranks}));
        expected = expected.empty() ? results_of(own) : expected;
        EXPECT_EQ(expected, results_of(own));
    }
}

TEST(ComplexityRun, InterruptsChangeNoByte) {
    const TemporaryDirectory place;
    Experiment experiment = regulated(place.path() / "whole");
    static_cast<void>(launch(experiment, {.ranks = 1}));
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "pieces";
    EXPECT_GE(run_in_pieces(experiment, 1).interrupts, 3);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(ComplexityRun, GrowthIsBounded) {
    const TemporaryDirectory place;
    Experiment experiment = regulated(place.path() / "regulated");
    experiment.stop.generations = 120;
    const Launched launched = launch(experiment, {.ranks = 1});
    double largest = 0.0;
    std::uint64_t flips = 0;
    std::uint64_t before = 0;
    for (const GenerationReport& report : launched.reporter.reports) {
        largest = std::max(largest, report.complexity->mean);
        flips += report.complexity->simplifying != before ? 1U : 0U;
        before = report.complexity->simplifying;
    }
    EXPECT_GE(flips, 6U);
    EXPECT_THAT(text_of(experiment.directory / "generations.csv"),
                StartsWith("generation,evaluations,best,mean,worst,validated,parameters,complexity,"
                           "simplifying,env_steps,redrawn,invalid\n"));
    // A ceiling that nothing meets counts genes and changes nothing else.
    Experiment free = growing(place.path() / "free");
    free.stop.generations = 120;
    const Launched without = launch(free, {.ranks = 1});
    EXPECT_FALSE(without.reporter.reports.back().complexity.has_value());
    free.variation.complexity.ceiling = 1e6;
    free.directory = place.path() / "counted";
    const Launched counted = launch(free, {.ranks = 1});
    EXPECT_EQ(counted.reporter.reports.back().mean, without.reporter.reports.back().mean);
    EXPECT_GT(counted.reporter.reports.back().complexity->mean, 2.0 * largest);
}

}  // namespace
}  // namespace cambrian::distributed::complexity_tests

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Runs of species: who computes the species of a birth changes no byte.
namespace cambrian::distributed::species {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// So close to each other that there are many species.
Experiment with_species(Experiment experiment) {
    experiment.strategy = "species";
    experiment.species.threshold = 0.5;
    experiment.species.target = 6;
    experiment.species.stagnation = 4;
    experiment.species.interspecies_rate = 0.2F;
    return experiment;
}

struct Spread {
    int ranks = 1;
    std::uint64_t shard_size = 0;
    Exchange exchange = Exchange::births;
};

std::string spread_run(Experiment experiment, const Spread& spread,
                       const std::filesystem::path& directory) {
    experiment.directory = directory;
    experiment.distribution.shard_size = spread.shard_size;
    experiment.distribution.exchange = spread.exchange;
    const Launched launched = launch(experiment, {.ranks = spread.ranks});
    EXPECT_TRUE(launched.worker_errors.empty());
    EXPECT_TRUE(launched.reporter.warnings.empty());
    return results_of(directory);
}

void expect_one_result(const Experiment& experiment) {
    const TemporaryDirectory place;
    const std::string expected = spread_run(experiment, {}, place.path() / "alone");
    std::size_t run = 0;
    for (const Exchange exchange : {Exchange::births, Exchange::genomes}) {
        for (const int ranks : {1, 2, 4}) {
            for (const std::uint64_t shard_size : {std::uint64_t{1}, std::uint64_t{0}}) {
                EXPECT_EQ(expected, spread_run(experiment, {ranks, shard_size, exchange},
                                               place.path() / std::to_string(run++)))
                    << ranks << " ranks, shard size " << shard_size;
            }
        }
    }
}

TEST(SpeciesRun, IsTheSameHoweverItIsSpread) {
    expect_one_result(with_species(xor_experiment({})));
}

TEST(SpeciesRun, OfAStochasticTaskIsTheSameHoweverItIsSpread) {
    Experiment experiment = with_species(cart_pole_experiment({}));
    experiment.species.matching = evolve::Matching::nearest;
    experiment.species.representative = evolve::Representative::best;
    experiment.species.sharing = evolve::Sharing::ranks;
    expect_one_result(experiment);
}

TEST(SpeciesRun, OfIslandsIsTheSameHoweverItIsSpread) {
    Experiment experiment = with_species(xor_experiment({}));
    experiment.population.size = 48;
    experiment.islands = {.count = 3, .every = 2, .migrants = 2, .extinction_every = 3};
    expect_one_result(experiment);
}

TEST(AgeLayersRun, IsTheSameHoweverItIsSpread) {
    Experiment experiment = xor_experiment({});
    experiment.strategy = "age_layers";
    experiment.age_layers = {.count = 3, .gap = 2};
    experiment.selection.type = evolve::Selection::roulette;
    expect_one_result(experiment);
    experiment.population.size = 48;
    experiment.islands = {.count = 2, .every = 2, .extinction_every = 5};
    expect_one_result(experiment);
}

TEST(SelectionRun, IsTheSameHoweverItIsSpread) {
    Experiment experiment = xor_experiment({});
    experiment.selection = {.type = evolve::Selection::tournament, .restart_after = 2};
    experiment.stop.generations = 12;
    expect_one_result(experiment);
}

TEST(SpeciesRun, InterruptsChangeNoByte) {
    const TemporaryDirectory place;
    Experiment experiment = with_species(xor_experiment({}));
    experiment.stop.generations = 12;
    const std::string expected = spread_run(experiment, {}, place.path() / "whole");
    experiment.directory = place.path() / "pieces";
    EXPECT_GE(run_in_pieces(experiment, 1).interrupts, 3);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(SpeciesRun, AColumnOfSpeciesTakesAByteABirth) {
    const TemporaryDirectory place;
    Experiment experiment = with_species(xor_experiment(place.path() / "run"));
    experiment.log.individuals = LoggedIndividuals::none;
    experiment.population.size = 4000;
    experiment.stop.generations = 4;
    const Launched launched = launch(experiment, {.ranks = 2});
    std::size_t scores = 0;
    for (const RecordedNetwork::Record& record : launched.records) {
        scores += record.kind == MessageKind::request ? record.bytes : 0;
    }
    EXPECT_GT(launched.evaluated_by_workers, 1000U);
    EXPECT_LT(scores, 11 * std::size_t{4000} * 4 + 64'000);
}

TEST(SpeciesRun, LogsAgreeWithEachOther) {
    const TemporaryDirectory place;
    const Experiment experiment = with_species(xor_experiment(place.path()));
    static_cast<void>(launch(experiment, {.ranks = 2}));
    EXPECT_THAT(text_of(place.path() / "generations.csv"),
                StartsWith("generation,evaluations,best,mean,worst,validated,parameters,species,"
                           "diversity,env_steps,redrawn,invalid\n"));
    EXPECT_THAT(text_of(place.path() / "species.csv"),
                StartsWith("generation,id,size,best,mean,age,improved,offspring,threshold,"
                           "representative\n0,1,"));
    // What the individuals of each generation and species tell.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<double>> fitness;
    for (const IndividualBlock& block : individuals_of(place.path())) {
        EXPECT_TRUE(block.species);
        for (const LoggedIndividual& individual : block.individuals) {
            EXPECT_EQ(individual.species > 0, individual.status == evolve::Status::ok);
            fitness[{block.generation, individual.species}].push_back(individual.fitness);
        }
    }
    struct Past {
        std::uint64_t born = 0;
        std::uint64_t improved = 0;
        double record = evolve::worst_fitness;
    };
    std::map<std::uint64_t, Past> past;
    std::map<std::string, std::uint64_t> species;
    std::map<std::string, std::uint64_t> offspring;
    std::map<std::string, double> squares;
    std::map<std::string, std::set<double>> thresholds;
    bool idle = false;
    for (auto& row : table_of(place.path() / "species.csv")) {
        const std::uint64_t generation = std::stoull(row["generation"]);
        const std::uint64_t id = std::stoull(row["id"]);
        const std::vector<double>& members = fitness[{generation, id}];
        ASSERT_FALSE(members.empty());
        const double best = std::ranges::max(members);
        const auto size = static_cast<double>(members.size());
        EXPECT_EQ(row["size"], std::to_string(members.size()));
        EXPECT_EQ(std::stod(row["best"]), best);
        EXPECT_EQ(std::stod(row["mean"]),
                  std::accumulate(members.begin(), members.end(), 0.0) / size);
        Past& before = past.try_emplace(id, Past{.born = generation}).first->second;
        if (best > before.record) {
            before.record = best;
            before.improved = generation;
        }
        EXPECT_EQ(row["age"], std::to_string(generation - before.born));
        EXPECT_EQ(row["improved"], std::to_string(before.improved));
        idle = idle || (before.born < before.improved && before.improved < generation);
        ++species[row["generation"]];
        offspring[row["generation"]] += std::stoull(row["offspring"]);
        squares[row["generation"]] += size * size;
        thresholds[row["generation"]].insert(std::stod(row["threshold"]));
        EXPECT_EQ(row["representative"].empty(), row["offspring"] == "0");
    }
    EXPECT_TRUE(idle) << "no species improved after its birth, and then no more";
    bool several = false;
    double threshold = experiment.species.threshold;
    for (auto& row : table_of(place.path() / "generations.csv")) {
        const std::uint64_t count = species[row["generation"]];
        EXPECT_EQ(std::stoull(row["species"]), count);
        EXPECT_EQ(offspring[row["generation"]], experiment.population.size);
        several = several || row["species"] != "1";
        const double valid =
            static_cast<double>(experiment.population.size - std::stoull(row["invalid"]));
        EXPECT_NEAR(std::stod(row["diversity"]), valid * valid / squares[row["generation"]], 1e-9);
        // Of a generation, moved by the number of its species for the next one.
        ASSERT_EQ(thresholds[row["generation"]].size(), 1U);
        EXPECT_NEAR(*thresholds[row["generation"]].begin(), threshold, 1e-9);
        const double factor = 1.0 + experiment.species.threshold_change;
        threshold *= count > experiment.species.target   ? factor
                     : count < experiment.species.target ? 1.0 / factor
                                                         : 1.0;
    }
    EXPECT_TRUE(several);
}

TEST(SpeciesRun, OneThatDiesOutAsConfiguredEnds) {
    const TemporaryDirectory place;
    Experiment experiment = with_species(xor_experiment(place.path()));
    experiment.species.stagnation = 1;
    experiment.species.protected_species = 0;
    experiment.species.extinction = evolve::Extinction::error;
    experiment.stop.generations = 400;
    const RunResult result = launch(experiment, {}).result;
    EXPECT_EQ(result.reason, StopReason::extinction);
    EXPECT_LT(result.last.generation + 1, experiment.stop.generations);
    EXPECT_EQ(read_network(experiment.directory / "best.cmb").fitness, result.best_fitness);
    // Migrants do not bring it back to life.
    experiment.directory = place.path() / "islands";
    experiment.islands.count = 2;
    experiment.islands.every = 1;
    EXPECT_EQ(launch(experiment, {}).result.reason, StopReason::extinction);
    experiment.islands = {};
    experiment.directory = place.path();
    // It is over: there is nothing to go on with.
    const RunResult again = launch(experiment, {.start = Start::resume}).result;
    EXPECT_EQ(again.reason, StopReason::extinction);
    EXPECT_EQ(again.last.generation, result.last.generation);
}

}  // namespace
}  // namespace cambrian::distributed::species

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// What stored bytes and multiplications cost.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;

/// Networks of single neurons whose formats evolve, dear to store and to compute.
Experiment priced_neat(const std::filesystem::path& directory) {
    Experiment experiment = neat_experiment(directory);
    experiment.variation.mutation = {};
    experiment.variation.mutation.dtype_rate = 1.0F;  // Every child has one that is cheaper.
    experiment.variation.mutation.dtypes = {Dtype::bfloat16, Dtype::int8, Dtype::int4};
    experiment.variation.kind = evolve::standard_genomes().make(
        nlohmann::json::parse(R"({"type": "neat", "feed_forward": false, "node_add_rate": 0.3,
            "connection_add_rate": 0.3, "connection_delete_rate": 0.2,
            "connection_toggle_rate": 0.2})"),
        {.mutation = experiment.variation.mutation,
         .splice = {},
         .limits = experiment.variation.limits});
    experiment.selection.bytes_weight = 0.125;
    experiment.selection.products_weight = 0.25;
    experiment.stop.generations = 6;
    return experiment;
}

TEST(Price, IsPartOfTheTrainFitnessAlone) {
    const TemporaryDirectory place;
    const Experiment experiment = priced_neat(place.path() / "run");
    const RunResult result = launch(experiment, {}).result;
    const NetworkFile file = read_network(experiment.directory / "best.cmb");
    const auto backend = make_cpu_backend({.threads = 1, .math = Math::fast});
    evolve::Evaluator evaluator(*backend, *experiment.task, experiment.seed,
                                evolve::family_of(experiment.family, experiment.variation));
    const evolve::Genome* genome = &file.genome;
    const auto fitness = [&](evolve::Phase phase) {
        return evaluator.evaluate(std::span(&genome, 1), {phase, file.generation})[0].fitness;
    };
    const evolve::Structure structure(file.genome);
    EXPECT_GT(structure.products(), 0);
    EXPECT_EQ(file.fitness, fitness(evolve::Phase::train) -
                                (0.125 * static_cast<double>(structure.stored_bytes()) +
                                 0.25 * static_cast<double>(structure.products())));
    EXPECT_EQ(result.best_price, price_of(experiment, structure));
    ASSERT_TRUE(file.validated);
    EXPECT_EQ(*file.validated, fitness(evolve::Phase::validation));
    EXPECT_EQ(result.best_validated, file.validated);
}

TEST(Price, FormatsAndProductsChangeNoByteByRanksOrInterrupts) {
    const TemporaryDirectory place;
    Experiment experiment = priced_neat(place.path() / "whole");
    const Launched whole = launch(experiment, {});
    const std::string expected = results_of(experiment.directory);
    EXPECT_THAT(expected, HasSubstr("parameters,bytes,products,env_steps"));
    bool encoded = false;
    for (const GenerationReport& report : whole.reporter.reports) {
        ASSERT_TRUE(report.products && report.bytes);
        encoded = encoded || *report.bytes < 4 * report.parameters;
    }
    EXPECT_TRUE(encoded);
    for (const int ranks : {2, 4}) {
        experiment.directory = place.path() / std::to_string(ranks);
        static_cast<void>(launch(experiment, {.ranks = ranks}));
        EXPECT_EQ(results_of(experiment.directory), expected) << ranks;
    }
    // From the checkpoint and the journal, whose reports have both columns.
    experiment.directory = place.path() / "pieces";
    const std::uint64_t end = experiment.stop.generations;
    for (experiment.stop.generations = 1; experiment.stop.generations <= end;
         experiment.stop.generations += 2) {
        static_cast<void>(launch(experiment, {.ranks = 2, .start = Start::proceed}));
    }
    experiment.stop.generations = end;
    static_cast<void>(launch(experiment, {.ranks = 3, .start = Start::resume}));
    EXPECT_EQ(results_of(experiment.directory), expected);
}

TEST(Price, LinesHaveTheirColumnsWhereNobodyHasAFitness) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment(
        place.path() / "run", evolve::make_callback_task(2, 1, [](evolve::Population& population) {
            return std::vector<double>(population.size(), std::nan(""));
        }));
    experiment.selection.bytes_weight = 0.125;
    experiment.selection.products_weight = 0.25;
    EXPECT_FALSE(launch(experiment, {}).result.best_fitness);
    std::istringstream lines(text_of(experiment.directory / "generations.csv"));
    std::string header;
    std::getline(lines, header);
    EXPECT_THAT(header, HasSubstr("parameters,bytes,products,env_steps"));
    const auto commas = [](const std::string& line) { return std::ranges::count(line, ','); };
    std::uint64_t generations = 0;
    for (std::string line; std::getline(lines, line); ++generations) {
        EXPECT_EQ(commas(line), commas(header)) << line;
    }
    EXPECT_EQ(generations, experiment.stop.generations);
}

TEST(Price, DoesNotKeepARunFromBeingSolved) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.selection.bytes_weight = 1e-3;
    experiment.stop.generations = 8;
    static_cast<void>(launch(experiment, {}));
    const NetworkFile best = read_network(experiment.directory / "best.cmb");
    const evolve::Structure structure(best.genome);
    ASSERT_GT(structure.stored_bytes(), 0);
    const auto backend = make_cpu_backend({.threads = 1, .math = Math::fast});
    evolve::Evaluator evaluator(*backend, *experiment.task, experiment.seed,
                                evolve::family_of(experiment.family, experiment.variation));
    const evolve::Genome* genome = &best.genome;
    const double mark =
        evaluator.evaluate(std::span(&genome, 1), {evolve::Phase::train, best.generation})[0]
            .fitness;
    ASSERT_LT(best.fitness, mark);
    const std::shared_ptr<const evolve::Task> task = experiment.task;
    const auto reason = [&](const evolve::SolvedTest& test, std::uint64_t candidates) {
        experiment.directory = place.path() / "again";
        std::filesystem::remove_all(experiment.directory);
        experiment.task = solvable_task(task, test);
        experiment.stop.solved = true;
        experiment.stop.candidates = candidates;
        return launch(experiment, {.ranks = 2}).result.reason;
    };
    const evolve::SolvedTest train{
        .candidate = mark, .phase = evolve::Phase::train, .passes = mark};
    EXPECT_EQ(reason(train, 1), StopReason::solved);
    // The fitness of a test has no price.
    const evolve::SolvedTest apart{.candidate = mark, .phase = evolve::Phase::test, .passes = mark};
    for (const std::uint64_t candidates : {1U, 5U}) {
        EXPECT_EQ(reason(apart, candidates), StopReason::solved) << candidates;
    }
    EXPECT_EQ(reason({.candidate = mark + 10.0, .phase = evolve::Phase::train, .passes = 0.0}, 1),
              StopReason::generations);
}

/// A network of `units` whose answer is a number, whatever it sees.
evolve::Genome constant_network(std::int64_t units, float answer) {
    const nlohmann::json network{
        {"layers", {{{"type", "dense"}, {"out", units}}, {{"type", "dense"}}}}};
    RandomStream rng(random_key(1, "test.price"), 0);
    evolve::Genome genome = evolve::sample_genome(blueprint_from_json(network, 2, 1), rng, 0);
    std::ranges::fill(genome.weights, 0.0F);
    genome.weights.back() = answer;
    return genome;
}

TEST(Price, DoesNotHideWhoReachesAMarkOfTheTrainFitness) {
    const TemporaryDirectory place;
    Experiment experiment = callback_experiment(
        place.path() / "run",
        solvable_task(sum_task(),
                      {.candidate = 4.0, .phase = evolve::Phase::train, .passes = 4.0}));
    const std::vector<evolve::Genome> networks{constant_network(1, 0.0F),
                                               constant_network(8, 5.0F)};
    experiment.variation.founder = networks.front().blueprint;
    experiment.variation.initial = std::make_shared<const evolve::InitialNetworks>(networks);
    experiment.selection.bytes_weight = 0.5;
    experiment.stop.generations = 1;
    experiment.stop.solved = true;
    EXPECT_EQ(launch(experiment, {}).result.reason, StopReason::generations);
    experiment.directory = place.path() / "several";
    experiment.stop.candidates = 12;
    EXPECT_EQ(launch(experiment, {}).result.reason, StopReason::solved);
    const NetworkFile best = read_network(experiment.directory / "best.cmb");
    EXPECT_GT(best.genome.weights.back(), 4.0F);
}

}  // namespace
}  // namespace cambrian::distributed

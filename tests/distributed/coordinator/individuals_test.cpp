#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>

#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// individuals.cmb of whole runs, and what their tables say of it.
namespace cambrian::distributed {
namespace {

namespace fs = std::filesystem;
using evolve::BirthId;
using Generations = std::map<std::uint64_t, std::vector<LoggedIndividual>>;

Generations logged(const fs::path& directory) {
    Generations found;
    for (const IndividualBlock& block : individuals_of(directory)) {
        std::ranges::copy(block.individuals, std::back_inserter(found[block.generation]));
    }
    return found;
}

Generations run(Experiment experiment, const fs::path& directory, LoggedIndividuals individuals,
                const Launch& settings = {}) {
    experiment.directory = directory;
    experiment.log.individuals = individuals;
    static_cast<void>(launch(experiment, settings));
    return individuals == LoggedIndividuals::none ? Generations{} : logged(directory);
}

std::set<BirthId> parents_of(const std::vector<LoggedIndividual>& children) {
    std::set<BirthId> parents;
    for (const LoggedIndividual& child : children) {
        parents.insert(child.parents.begin(), child.parents.begin() + child.parent_count);
    }
    return parents;
}

Experiment island_experiment() {
    Experiment experiment = xor_experiment({});
    experiment.islands = {.count = 3, .every = 2, .migrants = 2, .sizes = {6, 14, 10}};
    experiment.stop.generations = 7;
    return experiment;
}

/// Who of a block is among the best of all that were told with it or before it.
Generations kept_of(const Generations& all, std::size_t members) {
    Generations kept;
    std::vector<evolve::Member> best;
    for (const auto& [block, births] : all) {
        for (const LoggedIndividual& birth : births) {
            best.push_back({birth.id, birth.id, birth.fitness});
        }
        std::ranges::sort(best, evolve::fitter);
        best.resize(std::min(best.size(), members));
        for (const LoggedIndividual& birth : births) {
            if (std::ranges::find(best, birth.id, &evolve::Member::birth) != best.end()) {
                kept[block].push_back(birth);
            }
        }
    }
    return kept;
}

TEST(Individuals, OfABlockThoseThatStayAreLogged) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    experiment.steady_state = {.window = 12, .block = 4};
    experiment.stop.generations = 30;
    const Generations all = run(experiment, place.path() / "all", LoggedIndividuals::all);
    const Generations expected = kept_of(all, evolve::elite_count(experiment.population));
    EXPECT_GT(expected.size(), 3U);
    EXPECT_EQ(run(experiment, place.path() / "kept", LoggedIndividuals::survivors), expected);
}

TEST(Individuals, AllOfThemAreLogged) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment({});
    const Generations all = run(experiment, place.path() / "all", LoggedIndividuals::all);
    ASSERT_EQ(all.size(), 8U);
    BirthId next = 0;
    for (const auto& [generation, individuals] : all) {
        EXPECT_EQ(individuals.size(), 30U);
        for (const LoggedIndividual& individual : individuals) {
            EXPECT_EQ(individual.id, next++);
            const bool carried = individual.recipe == evolve::Recipe::carry;
            EXPECT_EQ(individual.evaluated, !carried);
            EXPECT_EQ(individual.parameters > 0, !carried);
            EXPECT_EQ(individual.origin == individual.id, !carried);
            EXPECT_EQ(individual.recipe == evolve::Recipe::sample, generation == 0);
        }
    }
}

TEST(Individuals, SurvivorsAreThoseThatTheDecisionKeeps) {
    const TemporaryDirectory place;
    for (const Experiment& experiment : {xor_experiment({}), island_experiment()}) {
        const fs::path own = place.path() / std::to_string(experiment.islands.count);
        const Generations all = run(experiment, own / "all", LoggedIndividuals::all);
        const Generations kept = run(experiment, own / "kept", LoggedIndividuals::survivors);
        ASSERT_EQ(kept.size(), all.size());
        for (const auto& [generation, survivors] : kept) {
            // Each is what it is among all.
            for (const LoggedIndividual& survivor : survivors) {
                EXPECT_TRUE(std::ranges::count(all.at(generation), survivor) == 1);
            }
            if (!all.contains(generation + 1)) {
                continue;
            }
            // Carried over or not, everybody who has a child survives, and nobody else does who is
            // not carried over.
            std::set<BirthId> ids;
            for (const LoggedIndividual& survivor : survivors) {
                ids.insert(survivor.id);
            }
            EXPECT_EQ(ids, parents_of(all.at(generation + 1))) << generation;
        }
        EXPECT_LT(fs::file_size(own / "kept" / individuals_name),
                  fs::file_size(own / "all" / individuals_name));
    }
}

/// Where all give way to founders in a generation, its best may be the champion by validation.
TEST(Individuals, TheChampionIsLoggedAlsoWhereNobodyBecomesAParent) {
    const TemporaryDirectory place;
    std::size_t alone = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Experiment experiment = callback_experiment(
            {},
            evolve::standard_tasks().make(
                nlohmann::json::parse(R"({"type": "cart_pole", "episodes": 1, "steps": 30})"), {}));
        experiment.seed = seed;
        experiment.population.size = 24;
        experiment.stop = {.generations = 8};
        experiment.validation.every = 1;
        experiment.selection.restart_after = 1;
        const fs::path directory = place.path() / std::to_string(seed);
        const Generations kept = run(experiment, directory, LoggedIndividuals::survivors);
        const BirthId champion = read_network(directory / "best.cmb").birth;
        const std::vector<LoggedIndividual>& survivors = kept.at(champion / 24);
        EXPECT_EQ(std::ranges::count(survivors, champion, &LoggedIndividual::id), 1) << seed;
        alone += survivors.size() == 1 ? 1U : 0U;
    }
    EXPECT_GT(alone, 0U);
}

TEST(Individuals, WhomIsLoggedChangesNoOtherByte) {
    const TemporaryDirectory place;
    const Experiment experiment = cart_pole_experiment({});
    std::set<std::string> generations;
    std::set<std::string> networks;
    for (const auto individuals :
         {LoggedIndividuals::all, LoggedIndividuals::survivors, LoggedIndividuals::none}) {
        const fs::path own = place.path() / std::to_string(static_cast<int>(individuals));
        static_cast<void>(run(experiment, own, individuals, {.ranks = 2}));
        generations.insert(text_of(own / "generations.csv"));
        networks.insert(text_of(own / "best.cmb"));
        EXPECT_EQ(fs::exists(own / individuals_name), individuals != LoggedIndividuals::none);
    }
    EXPECT_EQ(generations.size(), 1U);
    EXPECT_EQ(networks.size(), 1U);
}

TEST(Individuals, RanksChangeNoByteOfTheSurvivors) {
    const TemporaryDirectory place;
    for (const Experiment& experiment : {cart_pole_experiment({}), island_experiment()}) {
        const fs::path own = place.path() / std::to_string(experiment.islands.count);
        static_cast<void>(run(experiment, own / "alone", LoggedIndividuals::survivors));
        const std::string expected = results_of(own / "alone");
        for (const int ranks : {2, 3}) {
            const fs::path many = own / std::to_string(ranks);
            static_cast<void>(
                run(experiment, many, LoggedIndividuals::survivors, {.ranks = ranks}));
            EXPECT_EQ(expected, results_of(many)) << ranks;
        }
    }
}

TEST(Individuals, ReevaluatedOnesHaveDetails) {
    const TemporaryDirectory place;
    const Generations kept = run(cart_pole_experiment({}), place.path() / "run",
                                 LoggedIndividuals::survivors, {.ranks = 2});
    for (const auto& [generation, survivors] : kept) {
        EXPECT_EQ(survivors.size(), 4U);
        for (const LoggedIndividual& survivor : survivors) {
            EXPECT_TRUE(survivor.evaluated);
            EXPECT_GT(survivor.env_steps, 0U);
            EXPECT_GT(survivor.parameters, 0U);
        }
    }
}

TEST(Individuals, LargeGenerationsHaveSeveralBlocks) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    experiment.population.size = max_block_individuals + 10;
    experiment.stop.generations = 1;
    const Generations all = run(experiment, place.path() / "run", LoggedIndividuals::all);
    EXPECT_EQ(all.at(0).size(), experiment.population.size);
    EXPECT_TRUE(std::ranges::is_sorted(all.at(0), {}, &LoggedIndividual::id));
}

/// What a line says of the fitness of some individuals.
struct FitnessColumns {
    double best = evolve::worst_fitness;
    double mean = evolve::worst_fitness;
    double worst = evolve::worst_fitness;
    std::uint64_t invalid = 0;
    bool operator==(const FitnessColumns&) const = default;
};

FitnessColumns columns_of(std::span<const LoggedIndividual> individuals) {
    std::vector<double> valid;
    for (const LoggedIndividual& individual : individuals) {
        if (individual.status == evolve::Status::ok) {
            valid.push_back(individual.fitness);
        }
    }
    FitnessColumns columns{.invalid = individuals.size() - valid.size()};
    if (!valid.empty()) {
        columns.best = std::ranges::max(valid);
        columns.mean =
            std::accumulate(valid.begin(), valid.end(), 0.0) / static_cast<double>(valid.size());
        columns.worst = std::ranges::min(valid);
    }
    return columns;
}

FitnessColumns columns_of(const TableRow& row) {
    return {std::stod(row.at("best")), std::stod(row.at("mean")), std::stod(row.at("worst")),
            std::stoull(row.at("invalid"))};
}

void expect_lines_of_islands(const Experiment& experiment, const Generations& all) {
    const std::size_t islands = experiment.islands.count;
    const auto rows = table_of(experiment.directory / "islands.csv");
    ASSERT_EQ(rows.size(), all.size() * islands);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].at("generation"), std::to_string(i / islands));
        EXPECT_EQ(rows[i].at("island"), std::to_string(i % islands));
        std::vector<LoggedIndividual> own;
        std::ranges::copy_if(
            all.at(i / islands), std::back_inserter(own),
            [&](const LoggedIndividual& one) { return one.island == i % islands; });
        EXPECT_EQ(columns_of(rows[i]), columns_of(own));
        if (!experiment.islands.sizes.empty()) {
            EXPECT_EQ(own.size(), experiment.islands.sizes[i % islands]);
        }
    }
}

/// Compares each line and report of a run with the individuals of its generation; → the reports.
std::vector<GenerationReport> expect_lines(const Experiment& experiment) {
    const auto reports = launch(experiment, {.ranks = 2}).reporter.reports;
    const Generations all = logged(experiment.directory);
    const auto rows = table_of(experiment.directory / "generations.csv");
    EXPECT_EQ(rows.size(), reports.size());
    EXPECT_EQ(rows.size(), all.size());
    std::map<BirthId, std::uint64_t> parameters;  // Of who was born so.
    std::uint64_t evaluations = 0;
    std::uint64_t env_steps = 0;
    for (std::size_t i = 0; i < std::min(rows.size(), reports.size()); ++i) {
        std::uint64_t retries = 0;
        for (const LoggedIndividual& one : all.at(i)) {
            evaluations += one.evaluated ? 1U : 0U;
            env_steps += one.env_steps;
            retries += one.retries;
            if (one.evaluated) {
                parameters[one.origin] = one.parameters;
            }
        }
        const GenerationReport& report = reports[i];
        const FitnessColumns columns = columns_of(all.at(i));
        EXPECT_EQ((FitnessColumns{report.best, report.mean, report.worst, report.invalid}),
                  columns);
        EXPECT_EQ(report.evaluations, evaluations);
        EXPECT_EQ(report.env_steps, env_steps);
        EXPECT_EQ(report.retries, retries);
        const auto best = std::ranges::find_if(all.at(i), [&](const LoggedIndividual& one) {
            return one.status == evolve::Status::ok && one.fitness == columns.best;
        });
        EXPECT_EQ(report.parameters, best == all.at(i).end() ? 0 : parameters.at(best->origin));
        EXPECT_EQ(columns_of(rows[i]), columns);
        EXPECT_EQ(rows[i].at("generation"), std::to_string(i));
        EXPECT_EQ(rows[i].at("evaluations"), std::to_string(evaluations));
        EXPECT_EQ(rows[i].at("env_steps"), std::to_string(env_steps));
        EXPECT_EQ(rows[i].at("redrawn"), std::to_string(retries));
        EXPECT_EQ(rows[i].at("parameters"), std::to_string(report.parameters));
    }
    return reports;
}

TEST(Run, LinesAgreeWithTheIndividuals) {
    const TemporaryDirectory place;
    Experiment experiment = cart_pole_experiment(place.path() / "evaluated_again");
    experiment.reevaluate = Reevaluate::always;
    // Few layers fit.
    experiment.variation.mutation.layer_type_rate = 1.0F;
    experiment.variation.mutation.layer_types = {"dense", "rms_norm"};
    std::uint64_t retries = 0;
    for (const GenerationReport& report : expect_lines(experiment)) {
        EXPECT_GT(report.env_steps, 0U);
        retries += report.retries;
    }
    EXPECT_GT(retries, 0U);

    experiment = callback_experiment(place.path() / "some_fail", failing_task());
    std::size_t mixed = 0;
    for (const GenerationReport& report : expect_lines(experiment)) {
        mixed += report.invalid > 0 && report.best > report.worst ? 1U : 0U;
    }
    EXPECT_GT(mixed, 0U);

    experiment.directory = place.path() / "islands";
    experiment.islands = {.count = 3, .every = 2, .migrants = 1};
    static_cast<void>(expect_lines(experiment));
    expect_lines_of_islands(experiment, logged(experiment.directory));
}

TEST(Islands, HaveALineInEachGeneration) {
    const TemporaryDirectory place;
    Experiment experiment = island_experiment();
    experiment.directory = place.path() / "run";
    const Generations all = run(experiment, experiment.directory, LoggedIndividuals::all);
    EXPECT_EQ(all.size(), 7U);
    EXPECT_THAT(text_of(experiment.directory / "islands.csv"),
                testing::StartsWith("generation,island,best,mean,worst,invalid\n"));
    expect_lines_of_islands(experiment, all);
    static_cast<void>(run(xor_experiment({}), place.path() / "other", LoggedIndividuals::none));
    EXPECT_FALSE(fs::exists(place.path() / "other" / "islands.csv"));
}

TEST(Islands, AResumeGoesOnWithTheirLines) {
    const TemporaryDirectory place;
    Experiment experiment = island_experiment();
    static_cast<void>(run(experiment, place.path() / "whole", LoggedIndividuals::survivors));
    experiment.directory = place.path() / "parts";
    experiment.log.individuals = LoggedIndividuals::survivors;
    const std::uint64_t end = experiment.stop.generations;
    experiment.stop.generations = 3;
    static_cast<void>(launch(experiment, {}));
    std::ofstream(experiment.directory / "islands.csv", std::ios::app) << "3,0,0.";
    experiment.stop.generations = end;
    static_cast<void>(launch(experiment, {.ranks = 2, .start = Start::resume}));
    EXPECT_EQ(results_of(place.path() / "whole"), results_of(experiment.directory));
}

}  // namespace
}  // namespace cambrian::distributed

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Which networks are validated, and what becomes of the best of a run where they die.
namespace cambrian::distributed {
namespace {

/// Generations whose best is worse than that of the one before: the best did not live on.
std::vector<std::uint64_t> falls(const std::vector<GenerationReport>& reports) {
    std::vector<std::uint64_t> generations;
    for (std::size_t i = 1; i < reports.size(); ++i) {
        if (reports[i].best < reports[i - 1].best) {
            generations.push_back(reports[i].generation);
        }
    }
    return generations;
}

/// Ends a run where the best dies, and at its end: the validation of the last generation is that of
/// its best, best.cmb has the best of all, and no line differs from that of the longer run.
void expect_last_validated(Experiment experiment) {
    const TemporaryDirectory place;
    experiment.directory = place.path() / "whole";
    const std::vector<GenerationReport> whole = launch(experiment, {}).reporter.reports;
    std::vector<std::uint64_t> ends = falls(whole);
    EXPECT_FALSE(ends.empty());
    for (const std::uint64_t end : ends) {
        EXPECT_EQ(whole[end - 1].validated, whole[end - 1].best) << end;
    }
    ends.push_back(whole.size());
    for (const std::uint64_t end : ends) {
        const std::span<const GenerationReport> lines = std::span(whole).first(end);
        const double best = std::ranges::max_element(lines, {}, &GenerationReport::best)->best;
        experiment.directory = place.path() / std::to_string(end);
        experiment.stop.generations = end;
        for (const Start start : {Start::fresh, Start::resume}) {
            const Launched launched = launch(experiment, {.start = start});
            EXPECT_EQ(launched.result.last.best, lines.back().best) << end;
            EXPECT_EQ(launched.result.last.validated, lines.back().best) << end;
            EXPECT_EQ(launched.result.best_validated, best) << end;
            EXPECT_EQ(read_network(experiment.directory / "best.cmb").fitness, best) << end;
            for (const GenerationReport& report : launched.reporter.reports) {
                EXPECT_EQ(report.validated, lines[report.generation].validated) << end;
            }
        }
    }
}

TEST(Validation, TheLastGenerationHasItsOwnBestValidatedWhereAllGiveWay) {
    expect_last_validated(restarting_experiment({}));
}

TEST(Validation, TheLastGenerationHasItsOwnBestValidatedWhereAnIslandGivesWay) {
    Experiment experiment = restarting_experiment({});
    experiment.population.size = 24;
    experiment.islands = {.count = 3, .every = 4, .extinction_every = 3};
    expect_last_validated(experiment);
}

TEST(Validation, TheLastGenerationHasItsOwnBestValidatedWhereSpeciesDieOut) {
    Experiment experiment = restarting_experiment({});
    experiment.selection.restart_after = 0;
    experiment.strategy = "species";
    experiment.species.threshold = 100.0;
    experiment.species.stagnation = 1;
    experiment.species.protected_species = 0;
    expect_last_validated(experiment);
    const TemporaryDirectory place;
    experiment.species.extinction = evolve::Extinction::error;
    experiment.directory = place.path() / "ends";
    const RunResult ended = launch(experiment, {}).result;
    EXPECT_EQ(ended.reason, StopReason::extinction);
    EXPECT_EQ(ended.last.validated, ended.last.best);
}

TEST(Validation, ABestThatDiesBeforeItIsDueIsKept) {
    const TemporaryDirectory place;
    Experiment experiment = restarting_experiment(place.path() / "run");
    experiment.validation.every = 5;
    experiment.stop.generations = 20;
    const Launched launched = launch(experiment, {});
    const std::vector<GenerationReport>& reports = launched.reporter.reports;
    const auto best = std::ranges::max_element(reports, {}, &GenerationReport::best);
    EXPECT_NE((best->generation + 1) % 5, 0U);
    EXPECT_EQ(launched.result.best_validated, best->best);
    EXPECT_EQ(read_network(experiment.directory / "best.cmb").fitness, best->best);
}

TEST(Validation, IsDueByTheScheduleAloneWhereTheBestLivesOn) {
    const TemporaryDirectory place;
    Experiment experiment = restarting_experiment(place.path() / "elite");
    experiment.selection.restart_after = 0;
    experiment.validation.every = 5;
    Experiment islands = experiment;
    islands.directory = place.path() / "islands";
    islands.population.size = 24;
    islands.islands = {.count = 3, .every = 2, .extinction_every = 3};
    Experiment layers = experiment;
    layers.directory = place.path() / "layers";
    layers.strategy = "age_layers";
    layers.age_layers = {.count = 3, .gap = 2};
    Experiment species = experiment;
    species.directory = place.path() / "species";
    species.strategy = "species";
    Experiment steady = experiment;
    steady.directory = place.path() / "steady";
    steady.steady_state = {.window = 12, .block = 4};
    for (const Experiment& one : {experiment, islands, layers, species, steady}) {
        const std::vector<GenerationReport> reports = launch(one, {}).reporter.reports;
        EXPECT_TRUE(falls(reports).empty()) << one.directory;
        for (const GenerationReport& report : reports) {
            EXPECT_EQ(report.validated.has_value(), (report.generation + 1) % 5 == 0)
                << one.directory << report.generation;
        }
    }
}

TEST(Validation, RanksAndInterruptsChangeNoByteOfRestarts) {
    const TemporaryDirectory place;
    Experiment experiment = restarting_experiment(place.path() / "whole");
    experiment.population.size = 24;
    experiment.islands = {.count = 2, .every = 4};
    static_cast<void>(launch(experiment, {}));
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "pieces";
    EXPECT_GE(run_in_pieces(experiment, 1, InterruptedAt::end).interrupts, 3);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

}  // namespace
}  // namespace cambrian::distributed

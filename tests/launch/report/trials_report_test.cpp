#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/evolve/runs/run_status.hpp"
#include "cambrian/launch/report/data/run_set.hpp"
#include "cambrian/launch/report/trials_chart.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace trials_report_tests {
namespace {

namespace fs = std::filesystem;
using test::run;
using test::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TrialsReport, HasNoRunsThatWereSetAside) {
    const TemporaryDirectory directory;
    const fs::path set = directory.path() / "set";
    ASSERT_EQ(run({"trials", test::write_xor(directory), "--runs", "2", "-q", "--directory",
                   set.string()})
                  .code,
              0);
    for (const char* aside : {"seed-1.damaged", "seed-1.damaged-2", "seed-", "seed-1x"})
        fs::copy(set / "seed-1", set / aside, fs::copy_options::recursive);
    EXPECT_THAT(runs_in(set), ElementsAre(set / "seed-1", set / "seed-2"));
    // In any other folder a run may have any name.
    const fs::path folder = directory.path() / "folder";
    fs::create_directory(folder);
    for (const char* name : {"seed-1", "seed-1.damaged"})
        fs::copy(set / "seed-1", folder / name, fs::copy_options::recursive);
    // A link to itself can no more be looked into than another's folder.
    fs::create_directory_symlink("loop", folder / "loop");
    EXPECT_THAT(runs_in(folder), ElementsAre(folder / "seed-1", folder / "seed-1.damaged"));
}

RunData done_run(LoggedColumn best) {
    RunData run;
    run.state = "done";
    run.sampled_best = std::move(best);
    return run;
}

TEST(TrialsReport, ARunHasReachedNothingBeforeItsFirstBest) {
    const RunData steady = done_run({{0, 1, 2, 3}, {1, 2, 4, 4}});
    const RunData late = done_run({{2}, {4}});  // Nobody was valid in its first two generations.
    const RunData none = done_run({});
    EXPECT_EQ(trials_html(std::vector{steady, late, none}),
              trials_html(std::vector{steady, steady, none}));
    // One that is done stays where it came to.
    const RunData early = done_run({{0, 1, 2}, {1, 2, 4}});
    EXPECT_EQ(trials_html(std::vector{steady, early}), trials_html(std::vector{steady, steady}));
}

TEST(TrialsReport, ARunThatIsNotDoneCountsUpToItsLastGeneration) {
    const RunData done = done_run({{0, 1, 2, 3}, {1, 2, 4, 4}});
    for (const char* state : {"running", "interrupted", "failed", "ended without a word"}) {
        RunData other = done_run({{0, 1}, {1, 2}});
        other.state = state;
        EXPECT_EQ(trials_html(std::vector{done, other}),
                  trials_html(std::vector{done, done}) +
                      "<p>Runs that are not done: 1. Each counts up to its last "
                      "generation.</p>\n")
            << state;
    }
}

TEST(TrialsReport, CountsTheRunsThatHaveABest) {
    const RunData one = done_run({{0, 1}, {1, 2}});
    EXPECT_THAT(trials_html(std::vector{one, done_run({})}),
                HasSubstr("<figcaption>Best fitness of 1 run</figcaption>"));
}

TEST(TrialsReport, TellsWhichRunsWereKilledAndHasEachOnce) {
    const TemporaryDirectory directory;
    const std::string place = directory.file("set/killed");
    directory.write("set/killed/generations.csv", "generation,best\n0,0.5\n1,0.5\n2,0.75\n");
    distributed::RunStatus status;
    status.state = "running";
    distributed::write_status_file(fs::path(place) / "status.json", status);
    const std::string page = directory.file("page.html");
    const auto row_of_run = [&] {
        const test::Result result =
            run({"report", place, directory.file("set"), place + "/.", "-o", page});
        EXPECT_THAT(result.out, HasSubstr("page.html: 1 run, ")) << result.err;
        return test::content(page);
    };
    EXPECT_THAT(row_of_run(), HasSubstr("<td>ended without a word</td><td>3</td>"));
    const distributed::RunLock lock(place);
    EXPECT_THAT(row_of_run(), HasSubstr("<td>running</td><td>3</td>"));
}

TEST(TrialsReport, TellsTheBestOfARunThatWasKilledFromItsFile) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", test::write_xor(directory), "-q"}).code, 0);
    const fs::path place = directory.path() / "run-xor";
    distributed::NetworkFile best = distributed::read_network(place / "best.cmb");
    best.fitness = 3.25;
    best.validated = 2.75;
    distributed::write_network(place / "best.cmb", best);
    const auto row_with = [&](const char* state, std::uint64_t generations) {
        distributed::RunStatus status;
        status.state = state;
        status.generation = generations;
        status.best = 1.25;
        status.validated = 0.75;
        distributed::write_status_file(place / "status.json", status);
        EXPECT_EQ(run({"report", place.string()}).code, 0);
        return test::content(place / "report.html");
    };
    EXPECT_THAT(row_with("running", 0), HasSubstr("<td>3.25</td><td>2.75</td>"));
    EXPECT_THAT(row_with("done", 0), HasSubstr("<td>1.25</td><td>0.75</td>"));
    // One that failed told its best, and left no newer network.
    EXPECT_THAT(row_with("failed", 100000), HasSubstr("<td>1.25</td><td>0.75</td>"));
}

RunData judged_run(double fitness, std::optional<double> validated) {
    RunData run;
    run.best.emplace().fitness = fitness;
    run.best->validated = validated;
    return run;
}

TEST(TrialsReport, TheBestRunIsTheOneWhoseChampionARunWouldChoose) {
    const auto best = [](const std::vector<RunData>& runs) {
        return &best_run(runs) - runs.data();
    };
    EXPECT_EQ(best({judged_run(3, {}), judged_run(9, {}), judged_run(9, {})}), 1);
    EXPECT_EQ(best({judged_run(9, 1.0), judged_run(3, 2.0), judged_run(99, {})}), 1);
    EXPECT_EQ(best({RunData{}, judged_run(-5, {})}), 1);
    RunData solved = judged_run(1, 0.5);
    solved.status.emplace().solved = true;
    EXPECT_EQ(best({judged_run(9, 1.0), solved}), 1);
}

TEST(TrialsReport, KeepsTheWholeOfTheBestRunAlone) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"trials", test::write_xor(directory), "--runs", "3", "-q", "--directory",
                   directory.file("set")})
                  .code,
              0);
    const std::vector<fs::path> places = runs_in(directory.path() / "set");
    const std::vector<RunData> runs = read_runs(places);
    ASSERT_EQ(runs.size(), 3U);
    const RunData& best = best_run(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const RunData& one = runs[i];
        const bool whole = &one == &best;
        EXPECT_EQ(one.columns.size() > 1, whole);
        EXPECT_EQ(one.sampled_mean.value.empty(), !whole);
        EXPECT_EQ(one.seconds_by_rank.empty(), !whole);
        EXPECT_EQ(one.best->genome.weights.empty(), !whole);
        EXPECT_EQ(one.config.empty(), !whole);
        const RunData read = read_run(places[i]);
        EXPECT_EQ(one.sampled_best.value, read.sampled_best.value);
        EXPECT_EQ(one.sampled_best.value, read.columns.at("best").value);
        EXPECT_EQ(one.columns.at("evaluations").value.back(),
                  read.columns.at("evaluations").value.back());
        EXPECT_EQ(one.best->fitness, read.best->fitness);
    }
}

TEST(TrialsReport, RefusesGenerationsThatDoNotRise) {
    const TemporaryDirectory directory;
    directory.write("falls/generations.csv", "generation,best\n1,0.5\n0,0.5\n");
    const test::Result falls = run({"report", directory.file("falls")});
    EXPECT_EQ(falls.code, 3);
    EXPECT_THAT(falls.err, HasSubstr("holds generation 0 after 1 (generations rise)"));
}

}  // namespace
}  // namespace trials_report_tests
}  // namespace cambrian::launch

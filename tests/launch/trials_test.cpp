#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/analysis/statistics.hpp"
#include "cambrian/launch/trials/grid.hpp"
#include "cambrian/launch/trials/trial.hpp"
#include "cambrian/launch/trials/trials_summary.hpp"
#include "cambrian/tests/launch/child_process.hpp"
#include "cambrian/tests/launch/trials_support.hpp"

namespace cambrian::launch::test {
namespace trials_tests {
namespace {

namespace fs = std::filesystem;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Not;

nlohmann::json summary_of_set(const TemporaryDirectory& directory) {
    return nlohmann::json::parse(test::content(directory.path() / "set/summary.json"));
}

TEST(TrialStatistics, IntervalsAreThoseOfTheBooks) {
    // Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    const auto expect = [](std::uint64_t successes, std::uint64_t runs, double low, double high) {
        const evolve::Interval interval = evolve::wilson_interval(successes, runs);
        EXPECT_NEAR(interval.low, low, 5e-5) << successes << " of " << runs;
        EXPECT_NEAR(interval.high, high, 5e-5) << successes << " of " << runs;
    };
    expect(81, 263, 0.2553, 0.3662);
    expect(15, 148, 0.0624, 0.1605);
    expect(0, 20, 0.0, 0.1611);
    expect(1, 29, 0.0061, 0.1718);
    EXPECT_EQ(evolve::wilson_interval(100, 100).high, 1.0);
    EXPECT_NEAR(evolve::wilson_interval(100, 100).low, 0.9630, 5e-5);
}

TEST(TrialStatistics, MeanHasStudentsInterval) {
    const std::vector<double> values{4.0, 1.0, 3.0, 2.0};
    const auto four = evolve::distribution_of(values);
    ASSERT_TRUE(four);
    EXPECT_EQ(four->mean, 2.5);
    EXPECT_EQ(four->median, 2.5);
    EXPECT_EQ(four->least, 1.0);
    EXPECT_EQ(four->largest, 4.0);
    EXPECT_NEAR(*four->deviation, std::sqrt(5.0 / 3.0), 1e-12);
    // t(0.975, 3) = 3.182446
    EXPECT_NEAR(four->mean_interval->high - 2.5, 3.182446 * std::sqrt(5.0 / 3.0) / 2.0, 1e-6);
    // t(0.975, 99) = 1.984217, t(0.975, 11) = 2.200985
    for (const auto& [count, quantile] : {std::pair{100, 1.984217}, {12, 2.200985}}) {
        std::vector<double> many(static_cast<std::size_t>(count), 1.0);
        many.front() = 2.0;
        const auto distribution = evolve::distribution_of(many);
        const double half = distribution->mean_interval->high - distribution->mean;
        EXPECT_NEAR(half / *distribution->deviation * std::sqrt(count), quantile, 2e-5);
    }
    const auto one = evolve::distribution_of(std::vector<double>{7.0});
    EXPECT_EQ(one->mean, 7.0);
    EXPECT_FALSE(one->deviation || one->mean_interval);
    EXPECT_FALSE(evolve::distribution_of({}));
}

TEST(TrialTable, RowReadsBackAsItWasWritten) {
    Trial trial;
    trial.seed = 1000;
    trial.reason = "generations";
    trial.generations = 3;
    trial.best = 0.1 + 0.2;
    trial.seconds = 1.5;
    for (const std::optional<bool> solved : {std::optional<bool>(), {true}, {false}}) {
        trial.solved = solved;
        const std::string line = trial_line(trial);
        const auto again = read_trial_line(line.substr(0, line.size() - 1));
        ASSERT_TRUE(again);
        EXPECT_EQ(again->solved, solved);
        EXPECT_EQ(again->best, trial.best);
        EXPECT_FALSE(again->validated);
        EXPECT_EQ(trial_line(*again), line);
    }
    EXPECT_FALSE(read_trial_line("1,true,solved"));
    EXPECT_FALSE(read_trial_line("1,maybe,solved,1,1,1,1,,,1,1,1"));
    EXPECT_FALSE(read_trial_line("1,true,solved,1,x,1,1,,,1,1,1"));
}

TEST(Trials, EachIsTheRunThatEvolveMakes) {
    const TemporaryDirectory directory;
    const Result result = trials(directory, {"--runs", "6", "--jobs", "2"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("6 of 6 (100.0 %; 95 %: 61.0 to 100.0 %)"));
    const std::vector<std::string> rows = rows_of(directory.path() / "set/trials.csv");
    ASSERT_EQ(rows.size(), 7U);
    EXPECT_EQ(rows[0],
              "seed,solved,reason,generations,evaluations,champion_tests,best,validated,tested,"
              "parameters,env_steps");
    const fs::path alone = directory.path() / "alone";
    ASSERT_EQ(run({"evolve", write_solvable(directory), "--set", "run.seed=4", "--set",
                   "run.directory=" + alone.string()})
                  .code,
              0);
    for (const char* file : {"generations.csv", "best.cmb"})
        EXPECT_EQ(test::content(alone / file),
                  test::content(directory.path() / "set/seed-4" / file))
            << file;
    const auto status = nlohmann::json::parse(test::content(alone / "status.json"));
    EXPECT_THAT(rows[4], testing::StartsWith("4,true,solved," +
                                             std::to_string(status["generation"].get<int>())));
    const auto summary = summary_of_set(directory);
    EXPECT_EQ(summary["runs"], 6);
    EXPECT_EQ(summary["solved"], 6);
    EXPECT_EQ(summary["evaluations"]["count"], 6);
    EXPECT_GT(summary["champion_tests"], 0);
}

TEST(Trials, NumberOfJobsChangesNoRow) {
    const TemporaryDirectory one;
    const TemporaryDirectory three;
    ASSERT_EQ(trials(one, {"--runs", "7", "--jobs", "1"}).code, 0);
    ASSERT_EQ(trials(three, {"--runs", "7", "--jobs", "3"}).code, 0);
    EXPECT_EQ(rows_of(one.path() / "set/trials.csv"), rows_of(three.path() / "set/trials.csv"));
}

TEST(Trials, WhatIsDoneIsNotRunAgain) {
    const TemporaryDirectory directory;
    ASSERT_EQ(trials(directory, {"--runs", "3", "--first-seed", "5"}).code, 0);
    const fs::path table = directory.path() / "set/trials.csv";
    const std::string before = test::content(table);
    // Whatever runs again finds its files gone.
    for (int seed = 5; seed < 8; ++seed)
        fs::remove_all(directory.path() / "set" / ("seed-" + std::to_string(seed)));
    // A process that was killed leaves half a line, and the run that it was of.
    std::ofstream(table, std::ios::app) << "8,true,sol";
    const Result more = trials(directory, {"--runs", "5", "--first-seed", "5"});
    ASSERT_EQ(more.code, 0) << more.err;
    EXPECT_THAT(more.out, HasSubstr("seeds 5 to 9 (3 are done)"));
    EXPECT_THAT(test::content(table), testing::StartsWith(before));
    EXPECT_EQ(rows_of(table).size(), 6U);
    EXPECT_FALSE(fs::exists(directory.path() / "set/seed-5"));
    EXPECT_TRUE(fs::exists(directory.path() / "set/seed-9/best.cmb"));
    // Fewer runs are those of before.
    const Result fewer = trials(directory, {"--runs", "2", "--first-seed", "5"});
    EXPECT_THAT(fewer.out, HasSubstr("2 of 2"));
    EXPECT_EQ(rows_of(table).size(), 6U);
}

TEST(Trials, RunsUnderWayGoOn) {
    const TemporaryDirectory directory;
    // As after an interrupt: a run that has ended early, and no row of it.
    const std::vector<std::string> part{"evolve", write_solvable(directory),
                                        "--set",  "run.seed=1",
                                        "--set",  "run.directory=" + directory.file("set/seed-1"),
                                        "--set",  "run.stop.generations=2"};
    ASSERT_EQ(run(part).code, 0);
    const auto begun = fs::last_write_time(directory.path() / "set/seed-1/coordinator.json");
    ASSERT_EQ(trials(directory, {"--runs", "1"}).code, 0);
    EXPECT_GT(fs::last_write_time(directory.path() / "set/seed-1/coordinator.json"), begun);
    const TemporaryDirectory other;
    ASSERT_EQ(trials(other, {"--runs", "1"}).code, 0);
    EXPECT_EQ(test::content(directory.path() / "set/seed-1/generations.csv"),
              test::content(other.path() / "set/seed-1/generations.csv"));
    // Files that a host lost: the run begins anew beside them, and that is said.
    fs::remove(directory.path() / "set/trials.csv");
    fs::resize_file(directory.path() / "set/seed-1/checkpoint.cmb", 10);
    for (const fs::directory_entry& entry : fs::directory_iterator(directory.path() / "set/seed-1"))
        if (entry.path().filename().string().starts_with("checkpoint-"))
            fs::resize_file(entry.path(), 10);
    const Result again = trials(directory, {"--runs", "1"});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("the run begins anew"));
    EXPECT_EQ(test::content(directory.path() / "set/seed-1/generations.csv"),
              test::content(other.path() / "set/seed-1/generations.csv"));
    EXPECT_EQ(fs::file_size(directory.path() / "set/seed-1.damaged/checkpoint.cmb"), 10U);
    // One that was set aside before stays, too.
    fs::remove(directory.path() / "set/trials.csv");
    for (const fs::directory_entry& entry : fs::directory_iterator(directory.path() / "set/seed-1"))
        if (entry.path().filename().string().starts_with("checkpoint"))
            fs::resize_file(entry.path(), 11);
    EXPECT_EQ(trials(directory, {"--runs", "1"}).code, 0);
    EXPECT_EQ(fs::file_size(directory.path() / "set/seed-1.damaged/checkpoint.cmb"), 10U);
    EXPECT_EQ(fs::file_size(directory.path() / "set/seed-1.damaged-2/checkpoint.cmb"), 11U);
}

TEST(Trials, ARunThatCannotBeWrittenStaysAsItIs) {
    const TemporaryDirectory directory;
    ASSERT_EQ(trials(directory, {"--runs", "1"}).code, 0);
    fs::remove(directory.path() / "set/trials.csv");
    const fs::path reign = directory.path() / "set/seed-1/coordinator.json";
    fs::remove(reign);
    fs::create_directory(reign);
    const std::string rows = test::content(directory.path() / "set/seed-1/generations.csv");
    const Result again = trials(directory, {"--runs", "1"});
    EXPECT_EQ(again.code, 3) << again.out;
    EXPECT_THAT(again.err, HasSubstr("cannot be written"));
    EXPECT_EQ(test::content(directory.path() / "set/seed-1/generations.csv"), rows);
    EXPECT_FALSE(fs::exists(directory.path() / "set/seed-1.damaged"));
}

TEST(Trials, ARunWhoseFilesCannotBeOpenedStaysAsItIs) {
    const TemporaryDirectory directory;
    ASSERT_EQ(trials(directory, {"--runs", "1"}).code, 0);
    fs::remove(directory.path() / "set/trials.csv");
    for (const char* name : {"generations.csv", "checkpoint.cmb"}) {
        ChildProcess again({"trials", write_solvable(directory), "--directory",
                            directory.file("set"), "--runs", "1"},
                           {.output = directory.file(std::string(name) + ".out"),
                            .environment = with_fault("CAMBRIAN_FAULT_OPEN", name)});
        EXPECT_EQ(again.end_within(60), 3) << name;
        const std::string said = test::content(directory.file(std::string(name) + ".out"));
        EXPECT_THAT(said, HasSubstr(std::string(name) + " cannot be ")) << said;
        EXPECT_TRUE(fs::exists(directory.path() / "set/seed-1" / name));
        EXPECT_FALSE(fs::exists(directory.path() / "set/seed-1.damaged"));
    }
}

TEST(Trials, InterruptsAndKillsChangeNoRow) {
    const TemporaryDirectory whole;
    ASSERT_EQ(trials(whole, {"--runs", "40"}).code, 0);
    const TemporaryDirectory directory;
    const fs::path table = directory.path() / "set/trials.csv";
    const std::vector<std::string> command{"trials",      write_solvable(directory),
                                           "--directory", directory.file("set"),
                                           "--runs",      "40",
                                           "--jobs",      "2"};
    std::size_t rows = 1;
    for (const int signal : {SIGINT, SIGKILL, SIGTERM}) {
        ChildProcess child(command, {.output = directory.file("out")});
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (rows_of(table).size() < rows + 4 && std::chrono::steady_clock::now() < limit)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        child.tell(signal);
        const std::optional<int> code = child.end_within(20);
        ASSERT_TRUE(code);
        EXPECT_EQ(*code, signal == SIGKILL ? -SIGKILL : 5)
            << test::content(directory.path() / "out");
        rows = rows_of(table).size();
        EXPECT_LT(rows, 41U);
    }
    EXPECT_THAT(test::content(directory.path() / "out"), HasSubstr("the same command goes on"));
    const Result end = run(command);
    ASSERT_EQ(end.code, 0) << end.err;
    EXPECT_EQ(rows_of(table), rows_of(whole.path() / "set/trials.csv"));
    for (int seed = 1; seed <= 40; ++seed) {
        const fs::path log = fs::path("set") / ("seed-" + std::to_string(seed)) / "generations.csv";
        EXPECT_EQ(test::content(directory.path() / log), test::content(whole.path() / log)) << seed;
    }
}

TEST(Trials, DoNotWaitForTheDisk) {
    const TemporaryDirectory directory;
    const auto seconds = [&](const std::vector<std::string>& command, const char* each_sync) {
        const auto begin = std::chrono::steady_clock::now();
        ChildProcess child(command,
                           {.output = directory.file("out"),
                            .environment = with_fault("CAMBRIAN_FAULT_SYNC_SECONDS", each_sync)});
        EXPECT_EQ(child.end_within(60), 0) << test::content(directory.path() / "out");
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const std::string config = write_solvable(directory);
    EXPECT_GT(seconds({"evolve", config, "--set", "run.directory=" + directory.file("run")}, "0.1"),
              0.3);
    EXPECT_LT(seconds({"trials", config, "--runs", "4", "--directory", directory.file("set")}, "5"),
              5.0);
}

TEST(Trials, FailedRunsCountAsManyAsTheyMade) {
    const TemporaryDirectory directory;
    const Result result = trials(directory, {"--runs", "4", "--set", "run.stop.generations=1"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out,
                HasSubstr("4 failed runs count as many as they made until they ended\n"));
    const auto summary = summary_of_set(directory);
    EXPECT_EQ(summary["solved"], 0);
    EXPECT_EQ(summary["success_interval"][0], 0.0);
    EXPECT_EQ(summary["evaluations"]["mean"], 40.0);
    EXPECT_EQ(summary["failed_before_cap"], 0);
}

TEST(Trials, OtherSettingsAreRefused) {
    const TemporaryDirectory directory;
    ASSERT_EQ(trials(directory, {"--runs", "1"}).code, 0);
    const auto refused = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"--runs", "2"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Result result = trials(directory, arguments);
        EXPECT_EQ(result.code, 2) << result.out;
        return result.err;
    };
    EXPECT_THAT(refused({"--set", "mutation.weight_power=0.25"}),
                HasSubstr("holds trials with another mutation.weight_power (it was 0.5, now it is "
                          "0.25)"));
    EXPECT_THAT(refused({"--set", "run.stop.generations=61"}),
                HasSubstr("another run.stop.generations"));
    EXPECT_THAT(refused({"--set", "engine.math=strict"}), HasSubstr("holds trials with another"));
    EXPECT_THAT(refused({"--set", "run.seed=3"}), HasSubstr("give --first-seed instead"));
    EXPECT_THAT(refused({"--set", "run.directory=x"}), HasSubstr("give --directory instead"));
    EXPECT_THAT(refused({"--set", "run.stop.generations=null"}), HasSubstr("run.stop has no cap"));
    // What changes no result may change.
    EXPECT_EQ(trials(directory, {"--runs", "2", "--set", "log.interval=3"}).code, 0);
    const Result own = run({"trials", write_solvable(directory), "--runs", "1", "--directory",
                            directory.file("set/seed-1")});
    EXPECT_EQ(own.code, 2);
    EXPECT_THAT(own.err, HasSubstr("holds a run of its own"));
}

TEST(Trials, WithoutAnythingToReachTellWhatWasReached) {
    const TemporaryDirectory directory;
    const Result result = trials(directory, {"--runs", "3", "--set", "run.stop.solved=null",
                                             "--set", "run.stop.generations=2"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("solved: not asked"));
    EXPECT_TRUE(summary_of_set(directory)["solved"].is_null());
    EXPECT_EQ(summary_of_set(directory)["best"]["count"], 3);
}

TEST(Trials, ErrorOfARunNamesItsSeed) {
    const TemporaryDirectory directory;
    ASSERT_EQ(trials(directory, {"--runs", "1"}).code, 0);
    directory.write("set/seed-2", "a file where the directory of a run should be");
    const Result result = trials(directory, {"--runs", "3", "--jobs", "1"});
    EXPECT_NE(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("the run of seed 2 failed"));
    EXPECT_EQ(rows_of(directory.path() / "set/trials.csv").size(), 2U);
}

TEST(Sweep, HasARowForEachPoint) {
    const TemporaryDirectory directory;
    const std::vector<std::string> command{"sweep",       write_solvable(directory),
                                           "--directory", directory.file("{name}-sweep"),
                                           "--runs",      "2",
                                           "--over",      "mutation.weight_power=0.4,0.6",
                                           "--over",      "network.layers[0].out=3,4,5"};
    const Result result = run(command);
    ASSERT_EQ(result.code, 0) << result.err;
    const fs::path place = directory.path() / "small-sweep";
    const std::vector<std::string> rows = rows_of(place / "sweep.csv");
    ASSERT_EQ(rows.size(), 7U);
    EXPECT_THAT(rows[0],
                testing::StartsWith("mutation.weight_power,network.layers[0].out,runs,solved,"
                                    "success_rate,success_low,success_high"));
    EXPECT_THAT(rows[1], testing::StartsWith("0.4,3,2,"));
    EXPECT_THAT(rows[6], testing::StartsWith("0.6,5,2,"));
    EXPECT_EQ(std::ranges::count(rows[0], ','), std::ranges::count(rows[6], ','));
    const auto point = nlohmann::json::parse(
        test::content(place / "mutation.weight_power=0.6,network.layers[0].out=5/config.json"));
    EXPECT_EQ(point["mutation"]["weight_power"], 0.6);
    EXPECT_EQ(point["network"]["layers"][0]["out"], 5);
    const std::string before = test::content(place / "sweep.csv");
    ASSERT_EQ(run(command).code, 0);
    EXPECT_EQ(test::content(place / "sweep.csv"), before);
}

std::vector<std::string> folders_over(const std::vector<std::string>& over) {
    const std::vector<Dimension> dimensions = dimensions_of(over);
    return folders_of(dimensions, points_of(dimensions));
}

TEST(Sweep, EachPointHasAFolderOfItsOwn) {
    EXPECT_THAT(folders_over({"a=x/y,{z},2", "b=1"}),
                testing::ElementsAre("a=x-y,b=1", "a=-z-,b=1", "a=2,b=1"));
    const auto twice = folders_over({"a=x/y,x-y,z"});
    EXPECT_THAT(twice[0], testing::MatchesRegex("a=x-y-[0-9a-f]{16}"));
    EXPECT_THAT(twice[1], testing::MatchesRegex("a=x-y-[0-9a-f]{16}"));
    EXPECT_NE(twice[0], twice[1]);
    EXPECT_EQ(twice[2], "a=z");
    // Whatever the order is they are called the same.
    EXPECT_THAT(folders_over({"a=x-y,x/y"}), testing::ElementsAre(twice[1], twice[0]));
}

TEST(Sweep, SpacesAroundValuesAreNoneOfThem) {
    EXPECT_THAT(dimensions_of({R"(a= 1, [2, 3] ," x ")"})[0].values,
                testing::ElementsAre("1", "[2, 3]", "\" x \""));
    EXPECT_THROW(static_cast<void>(dimensions_of({"a=20, 20"})), ConfigError);
    EXPECT_THROW(static_cast<void>(dimensions_of({"a=20, "})), ConfigError);
}

TEST(Sweep, LongNamesEndWithAHash) {
    const std::string fits(253, 'v');
    EXPECT_EQ(folders_over({"k=" + fits})[0], "k=" + fits);
    const auto found = folders_over({"k=" + fits + "a," + fits + "b"});
    EXPECT_EQ(found[0].size(), 255U);
    EXPECT_NE(found[0], found[1]);
    EXPECT_EQ(found[0].substr(0, 238), "k=" + fits.substr(0, 236));
    // Not within a character: the second byte of the last one that begins would be the 239th.
    std::string wide = "k=v";
    while (wide.size() < 300) wide += "\u00e4";
    EXPECT_EQ(folders_over({wide})[0].size(), 254U);
}

TEST(Sweep, PointsWithLongOrLikeNamesRun) {
    const TemporaryDirectory directory;
    const std::string name(250, 'n');
    ASSERT_EQ(run({"sweep", write_solvable(directory), "--directory", directory.file("sweep"),
                   "--runs", "1", "-q", "--over", "run.name=a/b,a-b," + name})
                  .code,
              0);
    EXPECT_EQ(rows_of(directory.path() / "sweep/sweep.csv").size(), 4U);
    std::size_t folders = 0;
    for (const auto& entry : fs::directory_iterator(directory.path() / "sweep"))
        folders += entry.is_directory() ? 1U : 0U;
    EXPECT_EQ(folders, 3U);
}

TEST(Sweep, PointsInSeveralFoldersAreRefused) {
    const TemporaryDirectory directory;
    const std::string config = write_solvable(directory);
    for (const auto& [folder, over] : std::vector<std::pair<std::string, std::string>>{
             {"s-{population.size}", "population.size=20,30"}, {"{name}/sweep", "run.name=a,b"}}) {
        const Result result = run({"sweep", config, "--directory", directory.file(folder), "--runs",
                                   "1", "-q", "--over", over});
        EXPECT_EQ(result.code, 2) << result.out;
        EXPECT_THAT(result.err, HasSubstr("lie in several folders"));
    }
    for (const char* made : {"s-20", "s-30", "a", "b"})
        EXPECT_FALSE(fs::exists(directory.path() / made)) << made;
}

TEST(Sweep, WrongPointsAreRefusedBeforeAnyRuns) {
    const TemporaryDirectory directory;
    const auto refused = [&](const std::vector<std::string>& over) {
        std::vector<std::string> arguments{"sweep",       write_solvable(directory),
                                           "--directory", directory.file("sweep"),
                                           "--runs",      "2"};
        for (const std::string& one : over) {
            arguments.emplace_back("--over");
            arguments.push_back(one);
        }
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 2) << result.out;
        EXPECT_FALSE(fs::exists(directory.path() / "sweep"));
        return result.err;
    };
    EXPECT_THAT(refused({"mutation.weight_power=0.4,-1"}), HasSubstr("mutation.weight_power"));
    EXPECT_THAT(refused({"mutation.weight_powr=0.4"}), HasSubstr("did you mean"));
    EXPECT_THAT(refused({"mutation.weight_power"}), HasSubstr("a key and its values are wanted"));
    EXPECT_THAT(refused({"mutation.weight_power=0.4,"}), HasSubstr("a value is empty"));
    EXPECT_THAT(refused({"mutation.weight_power=0.4,0.4"}), HasSubstr("stands there twice"));
    EXPECT_THAT(refused({"population.size=40", "population.size=50"}), HasSubstr("twice"));
    EXPECT_THAT(refused({"run.seed=1,2"}), HasSubstr("--first-seed"));
}

}  // namespace
}  // namespace trials_tests
}  // namespace cambrian::launch::test

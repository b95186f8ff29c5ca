#include <fmt/format.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/trials/grid.hpp"
#include "cambrian/launch/trials/trials_summary.hpp"
#include "cambrian/tests/launch/child_process.hpp"
#include "cambrian/tests/launch/trials_support.hpp"

// What trials say of how many runs.
namespace cambrian::launch::test {
namespace trials_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TrialsCounts, ProgressIsThatOfTheCommand) {
    const TemporaryDirectory directory;
    ASSERT_EQ(trials(directory, {"--runs", "3"}).code, 0);
    const Result more =
        trials(directory, {"--runs", "6", "--jobs", "1", "--set", "log.interval=0"});
    ASSERT_EQ(more.code, 0) << more.err;
    EXPECT_THAT(more.out, HasSubstr("  1 of 3 runs are done, 1 solved\n"));
    EXPECT_THAT(more.out, HasSubstr("  2 of 3 runs are done, 2 solved\n"));
}

Trial ended_trial(bool solved, const char* reason, std::optional<double> best) {
    Trial trial;
    trial.solved = solved;
    trial.reason = reason;
    trial.best = best;
    return trial;
}

TEST(TrialsCounts, RunsThatFailedBeforeTheirCapAreTold) {
    const TrialsSummary summary =
        summary_of({ended_trial(true, "solved", 4.0), ended_trial(false, "generations", 1.0),
                    ended_trial(false, "evaluations", 1.0), ended_trial(false, "seconds", 1.0),
                    ended_trial(false, "extinction", 1.0), ended_trial(false, "fitness", 1.0)});
    EXPECT_THAT(summary_text(summary),
                HasSubstr("  5 failed runs count as many as they made until they ended, 2 before "
                          "the cap (reason in trials.csv)\n"));
    EXPECT_EQ(to_json(summary).at("failed_before_cap"), 2);
    EXPECT_THAT(columns_of(summary),
                testing::Contains(std::pair<std::string, std::string>("failed_before_cap", "2")));
}

TEST(TrialsCounts, MeansSayOfHowManyRunsTheyAre) {
    const TrialsSummary summary = summary_of({ended_trial(true, "solved", 4.0),
                                              ended_trial(false, "generations", std::nullopt),
                                              ended_trial(false, "generations", 2.0)});
    const std::string text = summary_text(summary);
    EXPECT_THAT(text, HasSubstr("median 3, least 2, largest 4 (2 of 3 runs)\n"));
    EXPECT_THAT(text, Not(HasSubstr("(3 of 3")));
    const auto columns = columns_of(summary);
    const std::map<std::string, std::string> row(columns.begin(), columns.end());
    EXPECT_EQ(row.at("evaluations_count"), "3");
    EXPECT_EQ(row.at("best_count"), "2");
    EXPECT_EQ(row.at("tested_count"), "0");
}

TEST(TrialsCounts, WhatIsLeftOfASweepIsThatOfAllPoints) {
    const TemporaryDirectory directory;
    constexpr std::size_t runs = 200;
    const auto table = [&](const char* value) {
        return directory.path() / fmt::format("sweep/mutation.weight_power={}/trials.csv", value);
    };
    const auto ended = [&](const char* value) {
        const std::size_t rows = rows_of(table(value)).size();
        return rows - std::min<std::size_t>(rows, 1);
    };
    // The second point has some runs already.
    const std::vector<std::string> sweep{
        "sweep",  write_solvable(directory),       "--directory", directory.file("sweep"),
        "--over", "mutation.weight_power=0.4,0.6", "--runs"};
    ASSERT_EQ(run({"trials", write_solvable(directory), "--set", "mutation.weight_power=0.6",
                   "--directory", table("0.6").parent_path().string(), "--runs", "3"})
                  .code,
              0);
    std::vector<std::string> command = sweep;
    command.push_back(std::to_string(runs));
    ChildProcess child(command, {.output = directory.file("out")});
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ended("0.4") < 4 && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    child.tell(SIGINT);
    const std::string out = directory.file("out");
    EXPECT_EQ(child.end_within(20), 5) << content(out);
    EXPECT_THAT(content(out), HasSubstr(fmt::format("interrupted, {} runs are left;",
                                                    2 * runs - ended("0.4") - ended("0.6"))));
}

TEST(TrialsCounts, ASweepHasABound) {
    std::string hundred = "1";
    for (int i = 2; i <= 100; ++i) hundred += fmt::format(",{}", i);
    std::vector<std::string> over;
    for (const char* key : {"a", "b"}) over.push_back(fmt::format("{}={}", key, hundred));
    EXPECT_EQ(points_of(dimensions_of(over)).size(), 10'000U);
    for (const char* key : {"c", "d", "e"}) over.push_back(fmt::format("{}={}", key, hundred));
    EXPECT_THAT(failure<ConfigError>([&] { static_cast<void>(points_of(dimensions_of(over))); }),
                HasSubstr("--over has more than 100000 combinations"));
}

}  // namespace
}  // namespace trials_tests
}  // namespace cambrian::launch::test

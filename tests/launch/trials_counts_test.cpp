#include <fmt/format.h>

#include <csignal>

#include "cambrian/tests/launch/child_process.hpp"
#include "cambrian/tests/launch/trials_support.hpp"

// What trials say of how many runs.
namespace cambrian::launch::test {
namespace trials_tests {
namespace {

using testing::HasSubstr;

TEST(TrialsCounts, ProgressIsThatOfTheCommand) {
    const TemporaryDirectory directory;
    ASSERT_EQ(trials(directory, {"--runs", "3"}).code, 0);
    const Result more =
        trials(directory, {"--runs", "6", "--jobs", "1", "--set", "log.interval=0"});
    ASSERT_EQ(more.code, 0) << more.err;
    EXPECT_THAT(more.out, HasSubstr("  1 of 3 runs are done, 1 solved\n"));
    EXPECT_THAT(more.out, HasSubstr("  2 of 3 runs are done, 2 solved\n"));
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

}  // namespace
}  // namespace trials_tests
}  // namespace cambrian::launch::test

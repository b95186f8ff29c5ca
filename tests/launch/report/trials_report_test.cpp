#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/launch/report/run_charts.hpp"
#include "cambrian/launch/report/run_data.hpp"
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
    EXPECT_THAT(runs_in(folder), ElementsAre(folder / "seed-1", folder / "seed-1.damaged"));
}

TEST(TrialsReport, ARunHasReachedNothingBeforeItsFirstBest) {
    RunData steady;
    steady.columns["best"] = {{0, 1, 2, 3}, {1, 2, 4, 4}};
    RunData late;  // Nobody was valid in its first two generations.
    late.columns["best"] = {{2}, {4}};
    RunData none;
    none.columns["best"] = {};
    EXPECT_EQ(trials_html(std::vector{steady, late, none}),
              trials_html(std::vector{steady, steady, none}));
    // After its end it stays where it came to.
    RunData early;
    early.columns["best"] = {{0, 1, 2}, {1, 2, 4}};
    EXPECT_EQ(trials_html(std::vector{steady, early}), trials_html(std::vector{steady, steady}));
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

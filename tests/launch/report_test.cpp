#include "cambrian/launch/report/page.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/report/chart.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::run;
using test::TemporaryDirectory;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Report, ShowsARunOnOnePage) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", test::write_xor(directory), "-q"}).code, 0);
    const test::Result result = run({"report", directory.file("run-xor")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("report.html: 1 run, "));
    const std::string page = test::content(directory.file("run-xor/report.html"));
    for (const char* part :
         {"<!DOCTYPE html>", "<h1>small</h1>", "Fitness", "<svg viewBox", "Seconds of each rank",
          "The best network", "How to reproduce it", "&quot;population&quot;", "</html>"})
        EXPECT_THAT(page, HasSubstr(part));
    // Nothing is loaded from elsewhere.
    for (const char* part : {"http", "src=", "href=", "<script", "@import"})
        EXPECT_THAT(page, Not(HasSubstr(part)));
}

TEST(Report, ShowsTrialsWithBands) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"trials", test::write_xor(directory), "--runs", "3", "-q", "--directory",
                   directory.file("trials")})
                  .code,
              0);
    const std::string file = directory.file("page.html");
    ASSERT_EQ(run({"report", directory.file("trials"), "-o", file}).code, 0);
    const std::string page = test::content(file);
    EXPECT_THAT(page, HasSubstr("Best fitness of 3 runs"));
    EXPECT_THAT(page, HasSubstr("The run with the best network"));
    EXPECT_THAT(page, HasSubstr("<polygon"));
}

TEST(Report, DrawsNeuronsAndSpecies) {
    const TemporaryDirectory directory;
    const std::string configs = CAMBRIAN_SOURCE_DIR "/configs/";
    const auto page_of = [&](const std::string& config) {
        const std::string run_directory = directory.file(config);
        EXPECT_EQ(run({"evolve", configs + config, "-q", "--set", "run.directory=" + run_directory,
                       "--set", "run.stop.solved=null", "--set", "run.stop.generations=8"})
                      .code,
                  0);
        EXPECT_EQ(run({"report", run_directory}).code, 0);
        return test::content(run_directory + "/report.html");
    };
    EXPECT_THAT(page_of("xor_neat.json"), HasSubstr("class='node'"));
    EXPECT_THAT(page_of("xor_species.json"), HasSubstr("Individuals of each species"));
}

TEST(Report, RefusesWhatIsNoRun) {
    const TemporaryDirectory directory;
    const test::Result result = run({"report", directory.path().string()});
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, HasSubstr("there is no run in"));
    directory.write("bad/generations.csv", "generation,evaluations,best\n0,1,x\n");
    EXPECT_EQ(run({"report", directory.file("bad")}).code, 3);
}

TEST(Report, TakesWhatARunMayHaveWritten) {
    const TemporaryDirectory directory;
    // A generation in which nobody had a fitness, and a line that is being written.
    directory.write("odd/generations.csv",
                    "generation,evaluations,best,mean,worst,validated\n0,4,-inf,-inf,-inf,\n"
                    "1,8,0.1,0.09999999999999999,-3e+40,\n2,12,0.1,0.1");
    directory.write("odd/config.json", R"({"run": {"name": 5}, "fingerprint": []})");
    ASSERT_EQ(run({"report", directory.file("odd")}).code, 0);
    EXPECT_THAT(test::content(directory.file("odd/report.html")), HasSubstr("Fitness"));
    directory.write("begun/generations.csv", "generation,evaluations,best\n");
    EXPECT_EQ(run({"report", directory.file("begun")}).code, 0);
    directory.write("short/generations.csv", "generation,evaluations,best\n0,1\n");
    EXPECT_THAT(run({"report", directory.file("short")}).err, HasSubstr("line 2 has 2 cells"));
}

TEST(Chart, ShowsNumbersThatDifferByRoundingAsOne) {
    EXPECT_LT(svg({"flat", "x", {}, {{"y", "#000", {0, 1}, {0.1, 0.09999999999999999}}}}).size(),
              5000U);
}

TEST(Chart, HasGapsWhereNumbersAreMissing) {
    const std::string text =
        svg({"a <b>", "x", {}, {{"y", "#000", {0, 1, 2, 3, 4}, {1, 2, std::nan(""), 3, 4}}}});
    EXPECT_THAT(text, HasSubstr("a &lt;b&gt;"));
    const std::string path = text.substr(text.rfind("<path d='M"));
    EXPECT_EQ(std::count(path.begin(), path.begin() + 60, 'M'), 2);
    EXPECT_EQ(svg({"empty", "x", {}, {{"y", "#000", {0}, {std::nan("")}}}}), "");
}

TEST(Chart, ThinsLongLinesAndKeepsTheirExtremes) {
    Line line{"y", "#000", {}, {}};
    for (int i = 0; i < 200'000; ++i) {
        line.x.push_back(i);
        line.y.push_back(i == 123'456 ? 100.0 : 0.0);
    }
    line.y[0] = 0.5;  // Neither the lowest nor the highest of its column.
    line.y[1] = 1.0;
    const std::string text = svg({"long", "x", {}, {line}});
    EXPECT_THAT(text, Not(HasSubstr("<path d='L")));
    EXPECT_LT(text.size(), 100'000U);
    // The one high point is 3 % below the top of the picture.
    EXPECT_THAT(text, HasSubstr(" 36."));
}

}  // namespace
}  // namespace cambrian::launch

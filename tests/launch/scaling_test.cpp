#include "cambrian/launch/scaling/scaling_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::Result;
using test::TemporaryDirectory;
using testing::HasSubstr;

Result scaling(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    Result result;
    result.code = run_scaling(arguments, out, err);
    result.out = out.str();
    result.err = err.str();
    return result;
}

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// What a line of a table tells of so many ranks, without units.
struct ScalingLine {
    double efficiency = 0.0;
    double besides = 0.0;
    double to = 0.0;
};
std::vector<ScalingLine> lines_of(const std::string& table) {
    std::istringstream texts(table);
    std::vector<ScalingLine> lines;
    for (std::string text; std::getline(texts, text);) {
        std::istringstream columns(text);
        int ranks = 0;
        double number = 0.0;
        std::string unit;
        if (!(columns >> ranks)) continue;  // What stands above the table.
        ScalingLine& line = lines.emplace_back();
        columns >> number >> unit >> line.efficiency >> number >> unit >> number >> unit >>
            line.besides >> unit >> line.to >> unit >> number;
        EXPECT_FALSE(columns.fail()) << text;
    }
    return lines;
}

TEST(Scaling, SimulatedRanksWriteTheBytesOfOne) {
    const TemporaryDirectory directory;
    const Result result = scaling({"--ranks", "1,64", "--population", "1024", "--generations", "4",
                                   "--cost", "1ms", "--slow-ranks", "0.25", "--cost-spread", "0.3",
                                   "--directory", directory.file("runs")});
    ASSERT_EQ(result.code, 0) << result.err;
    const std::vector<ScalingLine> found = lines_of(result.out);
    ASSERT_EQ(found.size(), 2U) << result.out;
    EXPECT_GT(found[0].efficiency, 0.9);
    EXPECT_LE(found[0].efficiency, 1.1);  // The draws of one run are not their mean.
    EXPECT_GT(found[1].efficiency, 0.0);
    EXPECT_LE(found[1].efficiency, 1.1);
    for (const std::string name : {"generations.csv", "best.cmb"}) {
        const std::string alone = text_of(directory.file("runs/ranks-1/" + name));
        EXPECT_FALSE(alone.empty());
        EXPECT_EQ(alone, text_of(directory.file("runs/ranks-64/" + name))) << name;
    }
}

TEST(Scaling, TakesTheExperimentOfAConfig) {
    const TemporaryDirectory directory;
    const Result result =
        scaling({"--config", test::write_xor(directory), "--ranks", "3,3", "--generations", "3",
                 "--exchange", "genomes", "--set", "splice.rate=0.5", "--processors", "2",
                 "--latency", "25us", "--bandwidth", "10Gbit", "--per-rank", "8"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("--latency 25.00us --bandwidth 1.25GB"));
    const std::vector<ScalingLine> found = lines_of(result.out);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_GT(found[0].efficiency, 0.0);
    EXPECT_LE(found[0].efficiency, 1.0);
}

TEST(Scaling, ARowOfTheSteadyStateHasTheBirthsOfABlock) {
    const std::vector<std::string> blocks{"--ranks",      "2",
                                          "--population", "1024",
                                          "--set",        "steady_state.window=16",
                                          "--set",        "steady_state.block=4",
                                          "--set",        "population.reevaluate=never"};
    const auto steady = [&](const std::string& generations) {
        std::vector<std::string> arguments = blocks;
        arguments.insert(arguments.end(), {"--generations", generations});
        return scaling(arguments);
    };
    const Result result = steady("12");
    ASSERT_EQ(result.code, 0) << result.err;
    const std::vector<ScalingLine> found = lines_of(result.out);
    ASSERT_EQ(found.size(), 1U) << result.out;
    // A score alone takes 8 bytes, half of the births are those of the worker.
    EXPECT_GT(found[0].to, 4.0);
    EXPECT_GE(found[0].besides, 0.0);
    const Result early = steady("6");
    EXPECT_EQ(early.code, 2);
    EXPECT_THAT(early.err, HasSubstr("the first 6 rows"));
    EXPECT_EQ(early.out, "");
    // Unless told, as many as count do not.
    std::vector<std::string> longer = blocks;
    longer.insert(longer.end(), {"--set", "steady_state.window=24"});
    const Result whole = scaling(longer);
    EXPECT_EQ(whole.code, 0) << whole.err;
}

TEST(Scaling, RefusesAssignmentsThatChangeNothing) {
    for (const auto& [assignment, option] : std::vector<std::pair<std::string, std::string>>{
             {"population.size=8", "--population"},
             {"population={\"size\": 8}", "--population"},
             {"run.stop.generations=8", "--generations"},
             {"run.stop.fitness=1", "--generations"},
             {"run.directory=elsewhere", "--directory"}}) {
        const Result result = scaling({"--ranks", "1", "--set", assignment});
        EXPECT_EQ(result.code, 2) << assignment;
        EXPECT_THAT(result.err, HasSubstr("give " + option)) << assignment;
    }
}

TEST(Scaling, ChecksThePopulationThatItRuns) {
    const auto few = scaling({"--ranks", "64,1", "--per-rank", "2", "--set", "islands.count=4"});
    EXPECT_EQ(few.code, 2);
    EXPECT_THAT(few.err, HasSubstr("islands.count is 4 (population.size is 2)"));
    EXPECT_EQ(few.out, "");  // Before the first is simulated.
    const auto sizes = [](const std::string& population) {
        return scaling({"--ranks", "2", "--population", population, "--generations", "3", "--cost",
                        "1us", "--set", "islands.sizes=[32,32]", "--set", "islands.count=2"});
    };
    const Result fitting = sizes("64");
    EXPECT_EQ(fitting.code, 0) << fitting.err;
    EXPECT_EQ(sizes("256").code, 2);
    const TemporaryDirectory directory;
    const Result broken =
        scaling({"--config",
                 directory.write("config.json", R"({"task": {"type": "xor"}, "population": 3})"),
                 "--ranks", "1"});
    EXPECT_EQ(broken.code, 2);
    EXPECT_THAT(broken.err, HasSubstr("population is 3"));
}

TEST(Scaling, RefusesLearning) {
    const TemporaryDirectory directory;
    const Result result =
        scaling({"--config", test::write_xor(directory), "--ranks", "1", "--set",
                 R"(task={"type": "parity", "bits": 2})", "--set", "learning.mode=lamarckian"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("learning.mode is lamarckian (evaluations are replaced"));
    EXPECT_EQ(result.out, "");
}

TEST(Scaling, SaysWhatIsWrongWithItsOptions) {
    EXPECT_EQ(scaling({"--help"}).code, 0);
    EXPECT_THAT(scaling({"--rank", "3"}).err, HasSubstr("wrong usage"));
    EXPECT_EQ(scaling({"--cost", "1 mile"}).code, 2);
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{"--bandwidth", "0"},
                                               {"--bandwidth", "-5GB"},
                                               {"--bandwidth", "nan"},
                                               {"--latency", "-5us"},
                                               {"--latency", "1e30"},
                                               {"--cost", "-1ms"},
                                               {"--ranks", "010"}})
        EXPECT_EQ(scaling(wrong).code, 2) << wrong.front() << wrong.back();
    const Result result = scaling({"--calibrate"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("launch/mpi -n 2 cambrian_scaling --calibrate"));
    EXPECT_EQ(scaling({"--config", "/nowhere.json"}).code, 3);
}

}  // namespace
}  // namespace cambrian::launch

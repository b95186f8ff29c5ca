#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// The client for Python, as its users start it.
namespace cambrian::launch {
namespace {

using ::testing::HasSubstr;

const std::string client = CAMBRIAN_SOURCE_DIR "/configs/python";

TEST(PythonClient, ASimulatorIsEvolved) {
    const test::TemporaryDirectory directory;
    const auto evolve = [&](const std::string& name) {
        return test::run({"evolve", client + "/cart_pole.json", "-q", "--set",
                          "run.directory=" + directory.file(name), "--set",
                          "run.stop.generations=2", "--set", "population.size=12", "--set",
                          "task.episodes=1", "--set", "task.steps=30", "--set",
                          "task.validation.episodes=2"});
    };
    const auto result = evolve("a");
    ASSERT_EQ(result.code, 0) << result.err;
    ASSERT_EQ(evolve("b").code, 0);
    EXPECT_EQ(test::content(directory.file("a/generations.csv")),
              test::content(directory.file("b/generations.csv")));
    const auto evaluated = test::run({"evaluate", directory.file("a/best.cmb"), "--episodes", "3"});
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out, HasSubstr("task external, validation: fitness"));
}

TEST(PythonClient, AsksForNetworksAndTellsTheirFitness) {
    const test::TemporaryDirectory directory;
    const std::string command = "python3 " CAMBRIAN_SOURCE_DIR
                                "/tests/launch/python/ask_and_tell.py " +
                                client + " " CAMBRIAN_PROGRAM " " + directory.file("run");
    FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    int asked = 0;
    double best = 0.0;
    EXPECT_EQ(std::fscanf(pipe, "%d %lf", &asked, &best), 2);
    EXPECT_EQ(pclose(pipe), 0);
    EXPECT_GE(asked, 4);  // Three generations, shard by shard, and the validation at the end.
    EXPECT_DOUBLE_EQ(best, distributed::read_network(directory.file("run/best.cmb")).fitness);
}

}  // namespace
}  // namespace cambrian::launch

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// The client for Python, as its users start it.
namespace cambrian::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string client = CAMBRIAN_SOURCE_DIR "/configs/python";
const std::string client_scripts = CAMBRIAN_SOURCE_DIR "/tests/launch/python";

test::Result evolve_cart_pole(const test::TemporaryDirectory& directory, const std::string& name,
                              const std::string& frames) {
    return test::run({"evolve", client + "/cart_pole.json", "-q", "--set",
                      "run.directory=" + directory.file(name), "--set", "run.stop.generations=2",
                      "--set", "population.size=12", "--set", "task.episodes=1", "--set",
                      "task.steps=30", "--set", "task.validation.episodes=2", "--set",
                      "task.frames=" + frames});
}

TEST(PythonClient, ASimulatorIsEvolvedInAnyFrames) {
    const test::TemporaryDirectory directory;
    const auto result = evolve_cart_pole(directory, "a", "json");
    ASSERT_EQ(result.code, 0) << result.err;
    ASSERT_EQ(evolve_cart_pole(directory, "b", "msgpack").code, 0);
    EXPECT_EQ(test::content(directory.file("a/generations.csv")),
              test::content(directory.file("b/generations.csv")));
    EXPECT_EQ(test::content(directory.file("a/individuals.cmb")),
              test::content(directory.file("b/individuals.cmb")));
}

TEST(PythonClient, OthersKnowItsNetworks) {
    const test::TemporaryDirectory directory;
    ASSERT_EQ(evolve_cart_pole(directory, "a", "json").code, 0);
    const std::string best = directory.file("a/best.cmb");
    const auto evaluated = test::run({"evaluate", best, "--episodes", "3"});
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out, HasSubstr("task external, validation: fitness"));
    // By the names of observations, without the simulator.
    const std::string table = directory.write(
        "rows.csv", "speed,other,position,angular speed,angle\n0.1,7,0.2,0.3,0.4\n");
    const auto inferred = test::run({"infer", best, "--input", table});
    EXPECT_EQ(inferred.code, 0) << inferred.err;
    EXPECT_THAT(inferred.out, StartsWith("left,right\n"));
    const auto lacking =
        test::run({"infer", best, "--input", directory.write("few.csv", "speed\n0.1\n")});
    EXPECT_NE(lacking.code, 0);
    EXPECT_THAT(lacking.err, HasSubstr("position"));
}

int run_python(const std::vector<std::string>& arguments) {
    return std::system(fmt::format("python3 {}", fmt::join(arguments, " ")).c_str());
}

TEST(PythonClient, PacksMessagesAndRefusesWhatItCannotCompute) {
    EXPECT_EQ(run_python({client_scripts + "/client.py", client}), 0);
}

TEST(PythonClient, AsksForNetworksAndTellsTheirFitness) {
    const test::TemporaryDirectory directory;
    const std::string command = "python3 " + client_scripts + "/ask_and_tell.py " + client +
                                " " CAMBRIAN_PROGRAM " " + directory.file("run");
    FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    int asked = 0;
    double best = 0.0;
    EXPECT_EQ(std::fscanf(pipe, "%d %lf", &asked, &best), 2);
    EXPECT_EQ(pclose(pipe), 0);
    EXPECT_EQ(asked, 4);  // Three generations, and the validation at the end.
    EXPECT_DOUBLE_EQ(best, distributed::read_network(directory.file("run/best.cmb")).fitness);
    // Nobody would judge.
    const std::string place = directory.file("run");
    const auto resumed = test::run({"resume", place, "--set", "run.stop.generations=9"});
    EXPECT_EQ(resumed.code, 2);
    EXPECT_THAT(resumed.err,
                HasSubstr(place + " cannot be resumed from here (a program judges its networks, "
                                  "with cambrian.Evolution) go on in its program, with "
                                  "resume=True"));
    // Whoever reads its checkpoint asks for no resume.
    for (const char* reader : {"compare", "extract"}) {
        const auto read = test::run({reader, place});
        EXPECT_EQ(read.code, 3) << reader;
        EXPECT_THAT(read.err, HasSubstr("the checkpoints of " + place +
                                        " cannot be read (a program judges its networks, with "
                                        "cambrian.Evolution) use its best.cmb"));
    }
    // As one that was killed.
    auto status = nlohmann::json::parse(test::content(place + "/status.json"));
    status["state"] = "running";
    directory.write("run/status.json", status.dump());
    EXPECT_THAT(test::run({"status", place}).out,
                HasSubstr("  go on:  in its program, with resume=True\n"));
    EXPECT_TRUE(
        nlohmann::json::parse(test::run({"status", place, "--json"}).out)["next"].is_null());
    // Its program says so itself, too, and is found though who asked is gone.
    auto config = nlohmann::json::parse(test::content(place + "/config.json"));
    config["run"]["directory"] = directory.file("again");
    const auto begun = test::run({"evolve", directory.write("again.json", config.dump()), "-q"});
    EXPECT_EQ(begun.code, 2);
    EXPECT_THAT(begun.err, HasSubstr("it ended with exit code 1"));
}

/// What it computes is the action, or a choice among several.
TEST(PythonClient, RunsEnvironmentsOfGymnasium) {
    for (const char* environment : {"Choice-v0", "Box-v0", "Later-v0"}) {
        const test::TemporaryDirectory directory;
        const nlohmann::json config{
            {"run", {{"directory", directory.file("run")}, {"stop", {{"generations", 3}}}}},
            {"population", {{"size", 10}}},
            {"task",
             {{"type", "external"},
              {"command",
               {"env", "PYTHONPATH=" + client_scripts, "python3", client + "/gymnasium_world.py"}},
              {"settings", {{"environment", environment}}},
              {"episodes", 2},
              {"validation", {{"episodes", 2}}}}}};
        const auto result =
            test::run({"evolve", directory.write("config.json", config.dump()), "-q"});
        ASSERT_EQ(result.code, 0) << result.err;
        const double fitness = distributed::read_network(directory.file("run/best.cmb")).fitness;
        EXPECT_GT(fitness, 0.0) << environment;
        EXPECT_LE(fitness, 10.0) << environment;
    }
}

/// Rows that say much about a network.
const nlohmann::json policy_rows{{0.5, -1.0}, {1.25, 0.0}, {-0.75, 2.0}, {0.0, 0.0}, {3.0, -2.5}};

/// A run whose program computes networks itself.
class JudgedRun {
  public:
    JudgedRun(const nlohmann::json& network, const nlohmann::json& sections) {
        nlohmann::json config{
            {"run", {{"directory", directory.file("run")}, {"stop", {{"generations", 12}}}}},
            {"population", {{"size", 12}}},
            {"log", {{"individuals", "all"}}},
            {"network", network},
            {"task",
             {{"type", "external"},
              {"level", "network"},
              {"frames", "msgpack"},
              {"batch", 5},
              {"command", {"python3", client_scripts + "/judge.py", client}},
              {"settings", {{"rows", policy_rows}, {"names", directory.file("names")}}},
              {"episodes", 3},
              {"validation", {{"every", 4}, {"episodes", 2}}}}}};
        config.update(sections);
        path_ = directory.write("config.json", config.dump());
    }
    [[nodiscard]] test::Result evolve(const std::string& name, const std::string& frames) const {
        return test::run({"evolve", path_, "-q", "--set", "run.directory=" + directory.file(name),
                          "--set", "task.frames=" + frames});
    }

    test::TemporaryDirectory directory;

  private:
    std::string path_;
};

std::vector<double> first_column(const std::string& text, std::size_t skipped) {
    std::vector<double> values;
    for (const auto& row : test::cells(text)) {
        if (skipped > 0) {
            --skipped;
        } else {
            values.push_back(std::stod(row.at(0)));
        }
    }
    return values;
}

/// The client computes what Cambrian computes, up to the last digits of a float.
void expect_the_same_outputs(const nlohmann::json& network, const nlohmann::json& sections) {
    const JudgedRun run(network, sections);
    ASSERT_EQ(run.evolve("run", "msgpack").code, 0);
    const std::string best = run.directory.file("run/best.cmb");
    nlohmann::json settings{{"rows", policy_rows}, {"outputs", run.directory.file("outputs")}};
    const auto evaluated =
        test::run({"evaluate", best, "--set", "task.settings=" + settings.dump()});
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out, HasSubstr("task external, validation: fitness"));
    std::string table = "p,q\n";
    for (const auto& row : policy_rows)
        table += fmt::format("{},{}\n", row[0].get<double>(), row[1].get<double>());
    const auto inferred =
        test::run({"infer", best, "--input", run.directory.write("rows.csv", table)});
    ASSERT_EQ(inferred.code, 0) << inferred.err;
    const std::vector<double> own = first_column(test::content(run.directory.file("outputs")), 0);
    const std::vector<double> wanted = first_column(inferred.out, 1);
    ASSERT_EQ(own.size(), policy_rows.size());
    ASSERT_EQ(wanted.size(), policy_rows.size());
    for (std::size_t i = 0; i < own.size(); ++i)
        EXPECT_NEAR(own[i], wanted[i], 1e-5 * std::max(1.0, std::abs(wanted[i]))) << i;
}

TEST(PythonClient, ComputesDenseNetworksWithLinks) {
    expect_the_same_outputs(
        {{"layers",
          {{{"type", "dense"}, {"out", 3}, {"activation", "gelu"}},
           {{"type", "dense"}, {"out", 3}, {"activation", "mish"}},
           {{"type", "dense"}, {"out", 3}, {"activation", "hard_swish"}, {"enabled", false}},
           {{"type", "dense"}, {"out", 3}, {"activation", "exact_gelu"}},
           {{"type", "dense"}}}},
         {"links",
          {{{"source", "input"}, {"target", 1}},
           {{"source", 0}, {"target", 1}},
           {{"source", 0}, {"target", "head"}},
           {{"source", 1}, {"target", 0}, {"kind", "backward"}}}}},
        {{"mutation", {{"activation_rate", 0.3}, {"layer_toggle_rate", 0.2}}}});
}

TEST(PythonClient, ComputesWhatMutationBrings) {
    expect_the_same_outputs({{"layers",
                              {{{"type", "dense"}, {"out", 3}, {"activation", "tanh"}},
                               {{"type", "rms_norm"}},
                               {{"type", "residual"},
                                {"layers", {{{"type", "dense"}, {"out", 5}}, {{"type", "dense"}}}}},
                               {{"type", "dense"}}}}},
                            {{"mutation", {{"layer_type_rate", 0.1}, {"layer_insert_rate", 0.5}}}});
}

TEST(PythonClient, ComputesNeatNetworks) {
    const nlohmann::json neat{
        {"type", "neat"},
        {"node_add_rate", 0.8},
        {"connection_add_rate", 0.9},
        {"activation_rate", 0.3},
        {"aggregation_rate", 0.3},
        {"activations", {"tanh", "gauss", "softplus", "sin", "steep_sigmoid", "hat"}},
        {"aggregations", {"sum", "product", "max", "min", "mean", "median", "maxabs"}}};
    const nlohmann::json neurons{{"layers", {{{"type", "neurons"}}}}};
    expect_the_same_outputs(neurons, {{"genome", neat}});
    nlohmann::json recurrent = neat;
    recurrent.update({{"feed_forward", false}, {"delay_rate", 0.4}, {"largest_delay", 3}});
    expect_the_same_outputs(neurons, {{"genome", recurrent}});
    expect_the_same_outputs({{"layers", {{{"type", "neurons"}, {"continuous", true}}}}},
                            {{"genome", recurrent}});
}

/// What the program is told names networks as the run's own log does.
TEST(PythonClient, NetworksHaveTheNamesOfTheRun) {
    const JudgedRun run({{"layers", {{{"type", "dense"}, {"out", 2}}, {{"type", "dense"}}}}},
                        nlohmann::json::object());
    ASSERT_EQ(run.evolve("a", "json").code, 0);
    const auto told = test::cells(test::content(run.directory.file("names")));
    ASSERT_EQ(run.evolve("b", "msgpack").code, 0);
    EXPECT_EQ(test::content(run.directory.file("a/generations.csv")),
              test::content(run.directory.file("b/generations.csv")));
    const std::string csv = run.directory.file("individuals.csv");
    ASSERT_EQ(test::run({"individuals", run.directory.file("a"), "--csv", csv}).code, 0);
    const auto logged = test::cells(test::content(csv));
    const auto column = [&](const std::string& name) {
        const auto at = std::ranges::find(logged[0], name);
        EXPECT_NE(at, logged[0].end()) << name;
        return static_cast<std::size_t>(at - logged[0].begin());
    };
    std::vector<std::string> expected;
    std::vector<std::string> found;
    for (std::size_t i = 1; i < logged.size(); ++i)
        expected.push_back(logged[i][column("generation")] + " " + logged[i][column("origin")]);
    int validations = 0;
    for (const auto& row : told) {
        if (row[1] == "train") found.push_back(row[2] + " " + row[0]);
        validations += row[1] == "validation" ? 1 : 0;
        EXPECT_NE(row[0], "None");
    }
    std::ranges::sort(expected);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(validations, 3);
}

}  // namespace
}  // namespace cambrian::launch

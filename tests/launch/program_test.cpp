#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/show/run_text.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using test::write_xor;
using testing::HasSubstr;

Result run_in(const std::string& program_arguments) {
    std::istringstream words(program_arguments);
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    return run(arguments);
}

std::string sample(const std::string& name) {
    return std::string(CAMBRIAN_SOURCE_DIR) + "/configs/" + name;
}

TEST(Program, EverySubCommandHelpsWithExamples) {
    for (const std::string command :
         {"evolve", "resume", "train", "status", "adaptation", "evaluate", "infer", "inspect",
          "compare", "splice", "convert", "quantise", "validate", "explain", "ops", "layers", "new",
          "check", "registry"}) {
        const Result result = run({command, "--help"});
        EXPECT_EQ(result.code, 0) << command;
        EXPECT_THAT(result.out, HasSubstr("Examples:\n  ")) << command;
        EXPECT_THAT(result.out, HasSubstr("cambrian " + command)) << command;
    }
    EXPECT_THAT(run({"--help"}).out, HasSubstr("Examples:"));
    EXPECT_THAT(run({"--version"}).out, HasSubstr("cambrian 0."));
}

TEST(Program, WrongUsageEndsWithTwo) {
    for (const char* arguments :
         {"", "evolv x.json", "evolve", "evolve x.json --sett a=b", "splice a b",
          "evaluate a --episodes 0", "evaluate a --phase no"}) {
        const Result result = run_in(arguments);
        EXPECT_EQ(result.code, 2) << arguments;
        EXPECT_THAT(result.err, testing::StartsWith("cambrian: error: ")) << arguments;
        EXPECT_EQ(result.out, "") << arguments;
    }
}

TEST(Program, NamesTheNearestCommand) {
    const Result result = run({"evolv", "x.json"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err,
              "cambrian: error: evolv is not a command (known: new, evolve, resume, train, "
              "trials, sweep, status, adaptation, individuals, lineage, extract, report, "
              "evaluate, infer, generate, inspect, compare, splice, convert, tokenize, "
              "quantise, validate, explain, devices, ops, layers, check, registry, completion, "
              "manual) did you "
              "mean evolve?\n");
    EXPECT_THAT(run({"fly"}).err, HasSubstr("see 'cambrian --help'"));
}

TEST(Program, NumbersAreWhatTheyAreWrittenAs) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"splice", "a", "b", "-o", "c", "--seed", "-3"}, "-3 is negative"},
        {{"splice", "a", "b", "-o", "c", "--alpha", "nan"}, "nan is no number"},
        {{"splice", "a", "b", "-o", "c", "--mode", "point", "--split", "NaN"}, "NaN is no number"},
        {{"trials", "x.json", "--runs", "010"}, "010 is no whole number"},
        {{"trials", "x.json", "--runs", "-18446744073709551614"}, "is negative"},
        {{"evaluate", "x.cmb", "--episodes", "0x10"}, "0x10 is no whole number"},
        {{"generate", "x.cmb", "--prompt", "a", "--seed", "18446744073709551616"},
         "18446744073709551616 is no whole number"},
        {{"lineage", "run", "--birth", "-1"}, "-1 is negative"},
        {{"splice", "a", "b", "-o", "c", "--mode", "graft", "--at", "010"}, "010 is no whole"},
        {{"splice", "a", "b", "-o", "c", "--mode", "graft", "--from", "0x10"}, "0x10 is no whole"},
        {{"adaptation", "run", "--change", "010"}, "010 is no whole number"},
        {{"adaptation", "run", "--share", "0"}, "--share: 0 is not above 0 and at most 1"},
        {{"adaptation", "run", "--share", "1.1"}, "1.1 is not above 0 and at most 1"},
        {{"compare", "a", "b", "--group", "nan"}, "nan is not 0 or a number above it"},
        {{"compare", "a", "b", "--group", "inf"}, "inf is not 0 or a number above it"},
        {{"check", "a", "--bound", "nan"}, "nan is not a number above 0"},
        {{"check", "a", "--bound", "-1"}, "-1 is not a number above 0"},
        {{"evaluate", "a", "b", "--coverage", "0.5"}, "--pairs"}};
    for (const auto& [arguments, text] : cases) {
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 2) << arguments.front() << ' ' << arguments.back();
        EXPECT_THAT(result.err, HasSubstr(text)) << arguments.front() << ' ' << arguments.back();
    }
}

TEST(Program, LinksTakeSlotsPlacesAndNames) {
    const TemporaryDirectory directory;
    const std::string good = write_xor(directory);
    for (const char* link :
         {R"({"source": -1, "target": 3})", R"({"source": "input", "target": "head"})",
          R"({"from": "input", "to": "head"})", R"({"source": -1, "to": "head"})"}) {
        const Result result =
            run({"validate", good, "--set", "network.links=[" + std::string(link) + "]"});
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.out, HasSubstr("1 links")) << link;
    }
    const std::vector<std::pair<std::string, std::string>> cases{
        {R"({"source": "inputt", "target": "head"})", "network.links[0].source is \"inputt\""},
        {R"({"target": "head"})", "network.links[0] lacks an end"},
        {R"({"source": 0, "from": 0, "target": "head"})", "network.links[0] names an end twice"},
        {R"({"source": 0, "target": 99})", "network.links[0].target is 99"},
        {R"({"source": [0, 0, 0], "target": 3})", "network.links[0].source is [0,0,0]"}};
    for (const auto& [link, message] : cases) {
        const Result result = run({"validate", good, "--set", "network.links=[" + link + "]"});
        EXPECT_EQ(result.code, 2) << link;
        EXPECT_THAT(result.err, HasSubstr("error: --set network.links=")) << link;
        EXPECT_THAT(result.err, HasSubstr(message)) << link;
    }
}

TEST(Program, DevicesListsWhatIsThere) {
    const Result text = run({"devices"});
    EXPECT_EQ(text.code, 0);
    EXPECT_THAT(text.out, testing::StartsWith("Vulkan devices\n"));
    const Result result = run({"devices", "--json"});
    EXPECT_EQ(result.code, 0);
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json.at("devices").empty(), !json.at("problem").get<std::string>().empty());
    for (const auto& device : json.at("devices"))
        EXPECT_THAT(text.out, HasSubstr(device.at("uuid").get<std::string>()));
    EXPECT_TRUE(json.at("ranks").is_array());
    EXPECT_TRUE(json.at("gpus_without_driver").is_array());
}

TEST(Program, DumpWritesGraphPlanAndDot) {
    const TemporaryDirectory directory;
    const Result result =
        run({"evolve", write_xor(directory), "--set", "engine.backend=cpu", "--set",
             "run.stop.generations=1", "--dump", directory.file("programs")});
    EXPECT_EQ(result.code, 0) << result.err;
    const auto text = [&](const std::string& file) {
        std::ifstream stream(directory.file("programs/" + file));
        return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    EXPECT_THAT(text("program-0.txt"), HasSubstr("bytes of temporaries"));
    EXPECT_THAT(text("program-0.plan.txt"), HasSubstr("bytes of each individual"));
    EXPECT_THAT(text("program-0.dot"), testing::StartsWith("digraph"));
}

TEST(Program, DumpOfTheReferenceIsAnError) {
    const TemporaryDirectory directory;
    const Result result = run({"evolve", write_xor(directory), "--set", "engine.backend=reference",
                               "--dump", directory.file("programs")});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("--dump has nothing to tell"));
}

TEST(Program, ProfileIsATableOfTimeAndTraffic) {
    const TemporaryDirectory directory;
    const Result result =
        run({"evolve", write_xor(directory), "--set", "engine.backend=cpu", "--set",
             "run.stop.generations=1", "--set", "engine.family=graph", "--profile"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, testing::ContainsRegex("seconds +calls +GB +GB/s +kernel"));
    EXPECT_THAT(result.out, testing::ContainsRegex("[0-9]+\\.[0-9]{6} +[1-9][0-9]* .*matmul"));
    EXPECT_THAT(result.out, testing::ContainsRegex("[1-9][0-9]* +[0-9.]+ +[0-9.]+  all\n"));
}

TEST(Program, CheckSaysWhetherANetworkIsRight) {
    const TemporaryDirectory directory;
    const std::string config = directory.write("network.json", R"({"network": {"input": [3],
        "layers": [{"type": "rnn", "hidden": 4}, {"type": "dense", "out": 2, "activation": "mish"}]}})");
    const Result result = run({"check", config, "--all", "--set", "engine.backend=cpu"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("slot.0.weight_hh"));
    EXPECT_THAT(result.out, HasSubstr("steps against the sequence"));
    EXPECT_THAT(result.out, HasSubstr("cpu: gradients of weights"));
    EXPECT_THAT(result.out, HasSubstr("right: no bound is passed\n"));
    // A bound that rounding passes.
    const Result wrong =
        run({"check", config, "--bound", "1e-15", "--json", "--set", "engine.backend=cpu"});
    EXPECT_EQ(wrong.code, 1) << wrong.err;
    const auto json = nlohmann::json::parse(wrong.out);
    EXPECT_FALSE(json.at("passed").get<bool>());
    EXPECT_EQ(json.at("tensors").size(), 6U);
    EXPECT_EQ(json.at("pairs").size(), 4U);
    // The same of a file.
    const std::string file = directory.file("network.cmb");
    EXPECT_EQ(run({"convert", config, file}).code, 0);
    EXPECT_EQ(run({"check", file, "--set", "engine.backend=cpu"}).code, 0);
    // Rounding has no slope: formats are left out, and that is said.
    EXPECT_EQ(result.err.find("number formats"), std::string::npos);
    const Result rounded = run({"check", directory.write("int8.json", R"({"network": {"input": [3],
        "dtype": "int8", "activation_dtype": "int8", "layers": [{"type": "dense", "out": 2}]}})"),
                                "--all", "--json", "--set", "engine.backend=cpu"});
    EXPECT_EQ(rounded.code, 0) << rounded.err;
    EXPECT_THAT(rounded.err, HasSubstr("number formats of 1 layer are left out"));
    const auto checked = nlohmann::json::parse(rounded.out);
    for (const auto& tensor : checked.at("tensors"))
        EXPECT_GT(tensor.at("largest").get<double>(), 0.0) << tensor.at("name");
    // So is what has the gradient of another function by definition.
    const Result soft = run({"check", directory.write("hard.json", R"({"network": {"input": [3],
        "layers": [{"type": "dense", "out": 4}, {"type": "sequential", "layers": [
            {"type": "softmax", "variant": "gumbel", "hard": true}]},
            {"type": "dense", "out": 2}]}})"),
                             "--all", "--set", "engine.backend=cpu"});
    EXPECT_EQ(soft.code, 0) << soft.out << soft.err;
    EXPECT_THAT(soft.err, HasSubstr("\"hard\" of 1 softmax layer is left out"));
    EXPECT_EQ(result.err.find("softmax"), std::string::npos);
    const Result other = run({"check", file, "--set", "population.size=3"});
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("set keys such as engine.backend"));
}

TEST(Program, BadConfigsEndWithTwoAndNameTheKey) {
    const TemporaryDirectory directory;
    const std::string good = write_xor(directory);
    const std::vector<std::pair<std::string, std::string>> cases{
        {"population.sise=3", "did you mean population.size?"},
        {"population.size=\"x\"", "population.size is \"x\""},
        {"population.size=0", "population.size is 0"},
        {"population.size=1", "no child would ever be born"},
        {"population.elite_fraction=1", "no child would ever be born"},
        {"task.type=xorr", "did you mean \"xor\""},
        {"network.layers=[{\"type\":\"rnn\",\"hidden\":2},{\"type\":\"dense\"}]", "keeps state"},
        {"network.layers=[{\"type\":\"dense\",\"in\":5},{\"type\":\"dense\"}]", "5"},
        {"engine.backend=vulcan", "engine.backend is \"vulcan\""},
        {"engine.backend=[\"cpu\",\"gpu\"]", "engine.backend[1] is \"gpu\""},
        {"engine.backend=[]", "engine.backend is []"},
    };
    for (const auto& [setting, message] : cases) {
        const Result result = run({"evolve", good, "--set", setting, "--quiet"});
        EXPECT_EQ(result.code, 2) << setting;
        EXPECT_THAT(result.err, testing::StartsWith("cambrian: error: ")) << setting;
        EXPECT_THAT(result.err, HasSubstr(message)) << setting;
        EXPECT_FALSE(std::filesystem::exists(directory.file("run-xor"))) << setting;
    }
    const Result broken = run({"evolve", directory.write("broken.json", "{\"task\": }")});
    EXPECT_EQ(broken.code, 2);
    EXPECT_THAT(broken.err, HasSubstr("broken.json:1:10: broken JSON"));
}

TEST(Program, BadFilesEndWithThree) {
    const TemporaryDirectory directory;
    const std::string absent = directory.file("absent.json");
    EXPECT_EQ(run({"evolve", absent}).err, "cambrian: error: cannot read the config " + absent +
                                               " (no such file) check the path\n");
    EXPECT_EQ(run({"evolve", absent}).code, 3);
    EXPECT_EQ(run({"resume", directory.path().string()}).code, 3);
    EXPECT_THAT(run({"resume", directory.path().string()}).err, HasSubstr("(no config.json)"));

    const auto table = [&](const std::string& name, const std::string& csv) {
        directory.write(name + ".csv", csv);
        return directory.write(name + ".json", R"({"task": {"type": "table", "train": [")" + name +
                                                   R"(.csv"], "targets": ["y"]}})");
    };
    EXPECT_EQ(run({"validate", table("good", "x,y\n1,2\n3,4\n")}).code, 0);
    const std::vector<std::pair<std::string, std::string>> cases{
        {table("ragged", "x,y\n1,2\n3\n"), "ragged.csv:3"},
        {table("nan", "x,y\n1,nan\n3,4\n"), "nan.csv:2"},
        {table("column", "x,z\n1,2\n3,4\n"), "no column \"y\""},
        {directory.write("gone.json",
                         R"({"task": {"type": "table", "train": ["gone.csv"], "targets": ["y"]}})"),
         "gone.csv"}};
    for (const auto& [config, message] : cases) {
        const Result result = run({"validate", config});
        EXPECT_EQ(result.code, 3) << config;
        EXPECT_THAT(result.err, HasSubstr(message));
    }
}

TEST(Program, SampleConfigsAreValid) {
    for (const char* name : {"quickstart.json", "xor.json", "cart_pole.json"}) {
        const Result result = run({"validate", sample(name)});
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.out, testing::StartsWith("valid: "));
    }
}

TEST(Program, TheQuickstartIsNotSolvedByAFounder) {
    const TemporaryDirectory directory;
    const Result result =
        run({"evolve", sample("quickstart.json"), "-q", "--set", "engine.backend=cpu", "--set",
             "run.stop.generations=6", "--set", "run.directory=" + directory.file("run")});
    ASSERT_EQ(result.code, 0) << result.err;
    const std::string table = test::content(directory.file("run/generations.csv"));
    EXPECT_EQ(std::ranges::count(table, '\n'), 7) << table;
}

TEST(Program, CoalNamesTheVariableItNeeds) {
    const TemporaryDirectory directory;
    ASSERT_EQ(unsetenv("COAL_DATA"), 0);
    const Result unset = run({"validate", sample("coal.json")});
    EXPECT_EQ(unset.code, 2);
    EXPECT_THAT(unset.err, HasSubstr("COAL_DATA"));

    std::string rows = "Coal_Feeder_Rate,Main_Flm_Int\n";
    for (int i = 0; i < 400; ++i)
        rows += std::to_string(i % 7) + "," + std::to_string(i % 5) + "\n";
    for (const char* name : {"burner_0.csv", "burner_1.csv", "burner_10.csv"})
        directory.write(name, rows);
    ASSERT_EQ(setenv("COAL_DATA", directory.path().c_str(), 1), 0);
    const Result set = run({"validate", sample("coal.json")});
    unsetenv("COAL_DATA");
    EXPECT_EQ(set.code, 0) << set.err;
}

TEST(Program, PrintsAConfigThatReadsBackAsItself) {
    const TemporaryDirectory directory;
    const Result first = run({"evolve", write_xor(directory), "--print-config"});
    ASSERT_EQ(first.code, 0) << first.err;
    const Result second =
        run({"evolve", directory.write("again.json", first.out), "--print-config"});
    EXPECT_EQ(first.out, second.out);
    EXPECT_FALSE(std::filesystem::exists(directory.file("run-xor")));
}

TEST(Program, DryRunShowsStructureMemoryAndShards) {
    const TemporaryDirectory directory;
    const Result result = run({"evolve", write_xor(directory), "--dry-run"});
    ASSERT_EQ(result.code, 0) << result.err;
    for (const char* part :
         {"slot 0 [0 0 0 0]", "head", "ranks       1", "shards      6", "of temporaries"})
        EXPECT_THAT(result.out, HasSubstr(part));
    EXPECT_FALSE(std::filesystem::exists(directory.file("run-xor")));
}

TEST(Program, DryRunRefusesWhatTheRunWould) {
    const TemporaryDirectory directory;
    const std::string config = write_xor(directory);
    const Result unasked = run({"evolve", config, "--dry-run", "--require-solved"});
    EXPECT_EQ(unasked.code, 2);
    EXPECT_THAT(unasked.err, HasSubstr("--require-solved has nothing to compare with"));
    const std::vector<std::string> goes_on{"evolve", config, "--dry-run", "--continue"};
    EXPECT_EQ(run(goes_on).code, 0);
    ASSERT_EQ(run({"evolve", config, "-q"}).code, 0);
    EXPECT_EQ(run(goes_on).code, 0);
    std::vector<std::string> other = goes_on;
    other.insert(other.end(), {"--set", "splice.alpha=0.25"});
    const Result changed = run(other);
    EXPECT_EQ(changed.code, 2);
    EXPECT_THAT(changed.err, HasSubstr("splice.alpha cannot change from 0.5 to 0.25"));
}

TEST(Program, SaysWhatALastGenerationHasNotReached) {
    const TemporaryDirectory directory;
    const evolve::TaskRegistry tasks = evolve::standard_tasks();
    const Schema schema(tasks);
    const std::vector<std::string> asked{"run.stop.fitness=1", "run.stop.fitness_of=least"};
    const distributed::Experiment experiment = make_experiment(
        resolve_evolution(read_config(write_xor(directory), asked), schema), schema, tasks);
    distributed::RunResult result;
    result.last.worst = 0.5;
    EXPECT_EQ(unsolved_text(experiment, result),
              "not solved: least fitness 1 was asked for, 0.5 was reached");
    result.last.worst = 2.0;
    result.last.invalid = 2;
    EXPECT_EQ(unsolved_text(experiment, result),
              "not solved: least fitness 1 was asked for, none was reached (2 individuals of the "
              "last generation had no valid fitness)");
}

/// A task of somebody's program, for the networks of xor.
class ShortTask final : public evolve::Task {
  public:
    explicit ShortTask(std::string_view fault) : fault_(fault) {}
    [[nodiscard]] std::string_view type() const override { return "short"; }
    [[nodiscard]] evolve::TaskSignature signature() const override {
        return {.observations = 2, .outputs = 1};
    }
    [[nodiscard]] std::vector<Tensor> data(evolve::Phase) const override { return given("data"); }
    [[nodiscard]] std::vector<Tensor> draws(evolve::Phase, std::uint64_t,
                                            std::uint64_t) const override {
        return given("draws");
    }
    [[nodiscard]] evolve::Objective build(const evolve::ObjectiveContext& context,
                                          evolve::Phase) const override {
        return {.fitness = context.data.front(), .env_steps = {}, .per_sample = {}};
    }

  private:
    [[nodiscard]] std::vector<Tensor> given(std::string_view what) const {
        Tensor tensor(ValueType::real, {4});
        if (what == fault_) tensor.elements.resize(1);
        return {tensor};
    }
    std::string_view fault_;
};

TEST(Program, DryRunRefusesATaskThatTheRunWould) {
    const TemporaryDirectory directory;
    const evolve::TaskRegistry tasks = evolve::standard_tasks();
    const Schema schema(tasks);
    distributed::Experiment experiment = make_experiment(
        resolve_evolution(read_config(write_xor(directory), {}), schema), schema, tasks);
    const auto backend = make_cpu_backend({});
    for (const auto& [fault, message] : std::vector<std::pair<std::string_view, std::string_view>>{
             {"data", "task short gives data that cannot be used (tensor 0, real [4], has 1"},
             {"draws", "task short gives draws that cannot be used (tensor 0, real [4], has 1"},
             {"fitness", "task short gives real [4] as its fitness"}}) {
        experiment.task = std::make_shared<ShortTask>(fault);
        try {
            static_cast<void>(dry_run_text(experiment, *backend, 1));
            ADD_FAILURE() << fault;
        } catch (const ConfigError& error) {
            EXPECT_THAT(error.what(), HasSubstr(message));
        }
    }
}

TEST(Program, DryRunGoesOnWhereTheFallbackWould) {
    const TemporaryDirectory directory;
    const evolve::TaskRegistry tasks = evolve::standard_tasks();
    const Schema schema(tasks);
    distributed::Experiment experiment = make_experiment(
        resolve_evolution(read_config(write_xor(directory), {}), schema), schema, tasks);
    const auto tiny = make_cpu_backend({.memory_limit = 1});
    EXPECT_THROW(static_cast<void>(dry_run_text(experiment, *tiny, 1)), OutOfMemoryError);
    experiment.distribution.fallback = [] { return make_cpu_backend({}); };
    EXPECT_THAT(dry_run_text(experiment, *tiny, 1), HasSubstr("temporaries not known"));
}

}  // namespace
}  // namespace cambrian::launch

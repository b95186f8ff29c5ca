#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/op.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/show/function_table.hpp"
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

TEST(Program, OpsListsEveryOpWithAllItsTexts) {
    const Result text = run({"ops"});
    EXPECT_EQ(text.code, 0);
    EXPECT_THAT(text.out, testing::StartsWith("input\n"));
    const Result result = run({"ops", "--json"});
    EXPECT_EQ(result.code, 0);
    const auto json = nlohmann::json::parse(result.out);
    ASSERT_EQ(json.size(), op_count + function_table().size());
    EXPECT_EQ(json[static_cast<std::size_t>(Op::gather)].at("data errors"), "yes");
    EXPECT_EQ(json[static_cast<std::size_t>(Op::add)].at("data errors"), "no");
    EXPECT_EQ(json[static_cast<std::size_t>(Op::scan)].at("data errors"),
              "where its body has them");
    std::set<std::string> names;
    for (const auto& op : json) {
        EXPECT_TRUE(names.insert(op.at("name")).second) << op.at("name");
        EXPECT_EQ(op.at("kind"), names.size() <= op_count ? "op" : "function");
        for (const auto& [title, value] : op.items())
            EXPECT_NE(value.get<std::string>(), "") << title << " of " << op.at("name");
        EXPECT_THAT(text.out, HasSubstr("\n  formula      " + op.at("formula").get<std::string>()));
    }
}

TEST(Program, FunctionsAreToldByTheirExamples) {
    const auto find = [](std::string_view name) {
        return example_of(*std::ranges::find(function_table(), name, &FunctionRow::name));
    };
    const FunctionExample norm = find("rms_norm");
    EXPECT_EQ(norm.operands, "x [2, 4], gain [4]");
    EXPECT_EQ(norm.results, "[2, 4]");
    EXPECT_THAT(norm.ops, HasSubstr("rsqrt"));
    EXPECT_FALSE(norm.may_fail);
    EXPECT_TRUE(find("cross_entropy").may_fail) << "a target may be no class";
    EXPECT_EQ(find("conv_transpose").results, "[2, 3, 8, 8]");
    EXPECT_EQ(find("adamw").operands,
              "learning_rate [], step [], value [4], gradient [4], moment [4], moment [4]");
}

TEST(Program, LayersListsEveryTypeWithAllItsTexts) {
    const Result text = run({"layers"});
    EXPECT_EQ(text.code, 0);
    const Result result = run({"layers", "--json"});
    EXPECT_EQ(result.code, 0);
    const auto json = nlohmann::json::parse(result.out);
    ASSERT_EQ(json.size(), layer_types().size());
    for (std::size_t i = 0; i < json.size(); ++i) {
        const auto& layer = json[i];
        EXPECT_EQ(layer.at("name"), layer_types()[i]);
        for (const char* title : {"summary", "formula", "source"})
            EXPECT_NE(layer.at(title).get<std::string>(), "")
                << title << " of " << layer_types()[i];
        EXPECT_THAT(text.out,
                    HasSubstr("\n  summary     " + layer.at("summary").get<std::string>() + "\n"));
        // The example says the shapes and parameters that the text gives for it.
        AnyLayer example = layer_from_json(layer.at("example"), "example");
        const auto extents = [](const Shape& shape) {
            return std::vector<std::int64_t>(shape.extents().begin(), shape.extents().end());
        };
        const auto row = layer.at("input").get<std::vector<std::int64_t>>();
        const Shape input{std::span<const std::int64_t>(row)};
        example.resolve(input);
        EXPECT_EQ(layer.at("output").get<std::vector<std::int64_t>>(),
                  extents(example.output_shape(input)));
        EXPECT_EQ(layer.at("parameters").size(), example.parameters().size());
        EXPECT_EQ(layer.at("state").size(), example.state().size());
        // Every field is told, with a default that the type starts with.
        const auto defaults = to_json(*default_layer(layer_types()[i]));
        ASSERT_GE(layer.at("fields").size() + 1, defaults.size());
        for (const auto& field : layer.at("fields")) {
            // What came later is written where it is not as it was before.
            const auto name = field.at("name").get<std::string>();
            nlohmann::json given{{"type", layer_types()[i]}};
            if (!defaults.contains(name)) given[name] = field.at("default");
            EXPECT_EQ(to_json(layer_from_json(given, "layer")), defaults) << name;
            if (defaults.contains(name)) {
                EXPECT_EQ(field.at("default"), defaults.at(name));
            }
            EXPECT_NE(field.at("type").get<std::string>(), "");
        }
    }
}

TEST(Program, LayersTellsRangesStatesAndTheNearestType) {
    const Result lstm = run({"layers", "lstm"});
    EXPECT_EQ(lstm.code, 0);
    EXPECT_THAT(lstm.out, testing::StartsWith("lstm\n"));
    for (const char* part :
         {"hidden: integer, default 0, allowed 0 to 16777216 (width of the state; 0: told by what",
          "[.., 3] gives [.., 2]", "weight_ih [8, 3], weight_hh [8, 2], bias [8]",
          "state       hidden [2], cell [2]", "c' = sigmoid(f) c + sigmoid(i) tanh(g)"})
        EXPECT_THAT(lstm.out, HasSubstr(part));
    EXPECT_THAT(lstm.out, testing::Not(HasSubstr("dense")));
    for (const auto& [type, part] : std::vector<std::pair<std::string, std::string>>{
             {"dropout", "rate: number, default 0.5, allowed 0 to below 1"},
             {"mamba", "kernel: integer, default 4, allowed 2 or more"},
             {"mamba",
              "decay       in_proj [12, 3], conv_weight [6, 1, 3], x_proj [5, 6], "
              "dt_proj [6, 1], out_proj [3, 6]\n"},
             {"kmeans", "decay       none\n"},
             {"neurons", "neurons: list of neurons, default [], allowed activation identity, relu"},
             {"neurons", "weight [9], bias [4]"},
             {"conv2d", "stride: integer, or one for each axis, default 1, allowed 1 or more, one"},
             {"dense", "activation: activation, default \"linear\", allowed linear, relu, silu"},
             {"parallel", "combine: text, default \"concat\", allowed \"concat\", \"add\""}})
        EXPECT_THAT(run({"layers", type}).out, HasSubstr(part));
    const Result wrong = run({"layers", "dens"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_EQ(wrong.out, "");
    EXPECT_THAT(wrong.err, HasSubstr("did you mean \"dense\"?"));
    const Result one = run({"layers", "rms_norm", "--json"});
    EXPECT_EQ(nlohmann::json::parse(one.out).at("name"), "rms_norm");
}

TEST(Program, LayersListsTheActivations) {
    const Result text = run({"layers", "--activations"});
    EXPECT_EQ(text.code, 0) << text.err;
    const auto json = nlohmann::json::parse(run({"layers", "--activations", "--json"}).out);
    ASSERT_EQ(json.size(), activation_names.size());
    for (std::size_t code = 0; code < json.size(); ++code) {
        EXPECT_EQ(json[code].at("name"), activation_names[code]);
        EXPECT_EQ(json[code].at("code"), code);
        EXPECT_THAT(text.out, HasSubstr(json[code].at("formula").get<std::string>() + "\n"));
    }
    EXPECT_EQ(run({"layers", "dense", "--activations"}).code, 2);
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

/// The names of a kind, each with a text and with what its fields mean.
std::set<std::string> registered(const nlohmann::json& registry, const char* kind) {
    std::set<std::string> names;
    for (const auto& each : registry.at(kind)) {
        const auto name = each.at("name").get<std::string>();
        EXPECT_TRUE(names.insert(name).second) << name;
        if (!each.contains("fields")) continue;
        EXPECT_NE(each.at("summary").get<std::string>(), "") << kind << ' ' << name;
        for (const auto& field : each.at("fields")) {
            EXPECT_TRUE(field.contains("default") && field.contains("allowed")) << field;
            EXPECT_TRUE(field.at("meaning").is_string()) << field;
        }
    }
    return names;
}

TEST(Program, TheRegistryHoldsEveryTable) {
    const Result result = run({"registry", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    const auto set_of = [](const auto& names) {
        return std::set<std::string>(names.begin(), names.end());
    };
    EXPECT_EQ(registered(json, "layers"), set_of(layer_types()));
    EXPECT_EQ(registered(json, "ops").size(), op_count + function_table().size());
    EXPECT_EQ(registered(json, "activations"), set_of(activation_names));
    EXPECT_EQ(registered(json, "init_rules"), set_of(init_rule_names));
    EXPECT_EQ(registered(json, "tasks"), set_of(evolve::standard_tasks().names()));
    EXPECT_EQ(registered(json, "strategies"), set_of(evolve::standard_strategies().names()));
    EXPECT_EQ(registered(json, "genomes"), set_of(evolve::standard_genomes().names()));
    EXPECT_THAT(registered(json, "losses"),
                testing::IsSupersetOf({"mse", "mae", "huber", "cross_entropy", "bce_with_logits"}));
    EXPECT_THAT(registered(json, "optimizers"),
                testing::IsSupersetOf({"sgd", "adam", "adamw", "rmsprop"}));
    EXPECT_THAT(registered(json, "schedules"), testing::Contains("cosine"));
    EXPECT_THAT(registered(json, "sources"), testing::Contains("xor"));
    const std::set<std::string> commands = registered(json, "commands");
    const std::string help = run({"--help"}).out;
    for (const std::string& command : commands) EXPECT_THAT(help, HasSubstr("  " + command + " "));
    EXPECT_THAT(commands, testing::IsSupersetOf({"evolve", "check", "registry", "layers"}));
    EXPECT_TRUE(json.at("config").contains("properties"));
    EXPECT_THAT(run({"registry"}).out, HasSubstr("optimizers ("));
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

TEST(Program, ExplainsKeys) {
    const Result key = run({"explain", "population.size"});
    EXPECT_EQ(key.code, 0);
    for (const char* part :
         {"Individuals of a generation", "an integer at least 1", "256", "identity", "pop_size"})
        EXPECT_THAT(key.out, HasSubstr(part));
    EXPECT_THAT(run({"explain", "--all"}).out, HasSubstr("mutation.link_add_rate"));
    const Result page = run({"explain", "--markdown"});
    EXPECT_THAT(page.out, HasSubstr("\n## population\n"));
    EXPECT_THAT(page.out, HasSubstr("| `population.size` | Individuals of a generation."));
    EXPECT_THAT(run({"explain", "population"}).out, HasSubstr("population.elite_fraction"));
    EXPECT_THAT(run({"explain", "extends"}).out, HasSubstr("by its path from this one"));
    EXPECT_THAT(run({"explain", "network.layers[0].activation"}).out, HasSubstr("sigmoid"));
    EXPECT_THAT(run({"explain", "network.layers[].at"}).out, HasSubstr("[z, y, x, l]"));
    EXPECT_THAT(run({"explain", "task.validation.every"}).out, HasSubstr("of type cart_pole"));
    EXPECT_THAT(run({"explain", "task.baselines"}).out,
                HasSubstr("default  persistence (mean where time_offset is 0)"));
    EXPECT_EQ(nlohmann::json::parse(run({"explain", "--json"}).out)
                  .at("/properties/population/properties/size/default"_json_pointer),
              256);
    const Result wrong = run({"explain", "conn_add_prob"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("mutation.link_add_rate"));
    EXPECT_THAT(run({"explain", "genome.num_hidden"}).err,
                HasSubstr("networks begin without hidden neurons"));
}

TEST(Program, ExplainsNames) {
    const Result list = run({"explain"});
    EXPECT_EQ(list.code, 0);
    EXPECT_LT(std::count(list.out.begin(), list.out.end(), '\n'), 40);
    for (const char* part : {"\n  population ", "\n  layers ", "lstm", "cart_pole", "age_layers"})
        EXPECT_THAT(list.out, HasSubstr(part));
    EXPECT_EQ(run({"explain", "lstm"}).out, run({"layers", "lstm"}).out);
    EXPECT_THAT(run({"explain", "cart_pole"}).out,
                testing::AllOf(HasSubstr("cart_pole  (one of tasks)"), HasSubstr("episodes")));
    EXPECT_THAT(run({"explain", "elite"}).out, HasSubstr("(one of strategies)"));
    EXPECT_THAT(run({"explain", "adamw"}).out, HasSubstr("(one of optimizers)"));
    // A source and a task have this name.
    EXPECT_THAT(run({"explain", "spirals"}).out,
                testing::AllOf(HasSubstr("(one of tasks)"), HasSubstr("(one of sources)")));
    EXPECT_EQ(run({"explain", "lstn"}).code, 2);
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

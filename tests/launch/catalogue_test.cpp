#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/graph/op.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/launch/show/function_table.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using testing::HasSubstr;

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
    for (const auto& [word, key_of_it] : {std::pair{"seed", "run.seed?"},
                                          {"lease_seconds", "distributed.lease_seconds?"},
                                          {"weight_power", "mutation.weight_power?"}})
        EXPECT_THAT(run({"explain", word}).err,
                    HasSubstr(std::string("did you mean ") + key_of_it));
    EXPECT_THAT(run({"explain", "run.stop.generations"}).out,
                HasSubstr("default  none (without any criterion 100, in the steady state"));
}

TEST(Program, ExplainsNames) {
    const Result list = run({"explain"});
    EXPECT_EQ(list.code, 0);
    EXPECT_LT(std::count(list.out.begin(), list.out.end(), '\n'), 40);
    for (const char* part : {"\n  population ", "\n  layers ", "lstm", "cart_pole", "age_layers"})
        EXPECT_THAT(list.out, HasSubstr(part));
    EXPECT_EQ(run({"explain", "lstm"}).out, run({"layers", "lstm"}).out);
    EXPECT_THAT(run({"explain", "cart_pole"}).out,
                testing::AllOf(HasSubstr("cart_pole  (one of tasks)"), HasSubstr("episodes"),
                               HasSubstr(R"(default {"every":5,"episodes":100})")));
    EXPECT_THAT(run({"explain", "external"}).out, HasSubstr(R"(default {"every":)"));
    EXPECT_THAT(run({"explain", "elite"}).out, HasSubstr("(one of strategies)"));
    EXPECT_THAT(run({"explain", "adamw"}).out, HasSubstr("(one of optimizers)"));
    // A source and a task have this name.
    EXPECT_THAT(run({"explain", "spirals"}).out,
                testing::AllOf(HasSubstr("(one of tasks)"), HasSubstr("(one of sources)")));
    EXPECT_EQ(run({"explain", "lstn"}).code, 2);
}

}  // namespace
}  // namespace cambrian::launch

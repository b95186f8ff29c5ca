#include "cambrian/engine/network/builders/builders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/support/network_passes.hpp"

namespace cambrian::builders_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A network section that asks for a builder, and what it joins.
struct Case {
    const char* name;
    const char* network;
    std::int64_t inputs;
    std::int64_t outputs;
    std::vector<std::string> types;  ///< Of the layers, the head last.
    bool time = true;
    std::int64_t vocabulary = 0;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"PlainStack",
         R"({"build": {"type": "dense_stack", "widths": [6, 5]}})",
         4,
         3,
         {"dense", "dense", "dense"}},
        {"StackOfNothing", R"({"build": {"type": "dense_stack", "widths": []}})", 4, 3, {"dense"}},
        {"StackWithNorms",
         R"({"build": {"type": "dense_stack", "widths": [6, 6], "norm": "layer_norm",
             "dropout": 0.25, "activation": "gelu"}})",
         4,
         3,
         {"dense", "dropout", "layer_norm", "dense", "dropout", "layer_norm", "dense"}},
        {"StackOfResiduals",
         R"({"build": {"type": "dense_stack", "widths": [6, 6, 6, 4], "norm": "rms_norm",
             "residual": true, "dropout": 0.1}})",
         4,
         3,
         {"dense", "dropout", "residual", "residual", "rms_norm", "dense", "dropout", "rms_norm",
          "dense"}},
        {"StackWithBatchNorm",
         R"({"build": {"type": "dense_stack", "widths": [6, 5], "norm": "batch_norm"},
             "grid": {"depth": 2, "rows": 2, "layers_per_cell": 2}})",
         4,
         3,
         {"dense", "batch_norm", "dense", "batch_norm", "dense"}},
        {"StackAsAMesh",
         R"({"build": {"type": "dense_stack", "widths": [4]}, "mode": "mesh"})",
         4,
         3,
         {"dense", "dense"}},
        {"PlainImages",
         R"({"build": {"type": "convolutional", "channels": [3, 4]},
             "input": [2, 8, 6]})",
         96,
         3,
         {"conv2d", "max_pool2d", "conv2d", "max_pool2d", "dense"}},
        {"ImagesWithAll",
         R"({"build": {"type": "convolutional", "channels": [3], "kernel": 5, "batch_norm": true,
             "pool": "average", "pool_size": 3, "widths": [7], "dropout": 0.5,
             "activation": "silu"}, "input": [1, 6, 6]})",
         36,
         3,
         {"conv2d", "batch_norm", "average_pool2d", "dropout", "dense", "dropout", "dense"},
         false},
        {"ImagesWithoutPools",
         R"({"build": {"type": "convolutional", "channels": [2, 2], "pool": "none"},
             "input": [1, 3, 3]})",
         9,
         2,
         {"conv2d", "conv2d", "dense"},
         false},
        {"CausalTransformer",
         R"({"build": {"type": "transformer", "blocks": 2, "features": 8, "heads": 4, "kv_heads": 2,
             "rope_base": 100, "window": 4, "dropout": 0.1}})",
         3,
         2,
         {"dense", "residual", "residual", "residual", "residual", "rms_norm", "dense"}},
        {"TransformerOfTokens",
         R"({"build": {"type": "transformer", "blocks": 1, "features": 6, "heads": 2,
             "vocabulary": 9, "norm": "layer_norm"}})",
         1,
         9,
         {"embedding", "residual", "residual", "layer_norm", "dense"},
         true,
         9},
        {"TransformerOfRowsOfTokens",
         R"({"build": {"type": "transformer", "blocks": 1, "features": 6, "heads": 3,
             "vocabulary": 5, "causal": false, "hidden": 9}})",
         4,
         2,
         {"embedding", "residual", "residual", "rms_norm", "dense"},
         false,
         5},
        {"TransformerOfWholeSequences",
         R"({"build": {"type": "transformer", "blocks": 1, "features": 4, "heads": 1,
             "causal": false}, "input": [3, 2]})",
         6,
         2,
         {"dense", "residual", "residual", "rms_norm", "dense"},
         false},
        {"RandomRows", R"({"build": {"type": "random", "seed": 4}})", 6, 2, {}, false},
        {"RandomInAGrid",
         R"({"build": {"type": "random", "seed": 5, "most_layers": 3},
             "grid": {"cols": 3, "layers_per_cell": 2}, "mode": "mesh", "input": [2, 3]})",
         6,
         2,
         {}},
        {"RandomOfTokens",
         R"({"build": {"type": "random", "seed": 6, "vocabulary": 7}})",
         3,
         2,
         {},
         true,
         7},
    };
    return all;
}

Blueprint built(const Case& sample) {
    return blueprint_from_json(json::parse(sample.network), sample.inputs, sample.outputs,
                               sample.time);
}

std::vector<std::string> types_of(const Blueprint& blueprint) {
    std::vector<std::string> types;
    for (const auto& slot : blueprint.slots)
        if (slot) types.emplace_back(slot->layer.type());
    types.emplace_back(blueprint.head.type());
    return types;
}

class Builders : public testing::TestWithParam<Case> {};

TEST_P(Builders, MakeNetworksThatAnswerAndLearn) {
    const Case& sample = GetParam();
    const Network network(built(sample));
    if (!sample.types.empty()) {
        EXPECT_EQ(types_of(network.blueprint()), sample.types);
    }
    ASSERT_TRUE(sample.time || !network.stateful());
    const auto backend = make_cpu_backend({});
    const std::vector<float> weights = test::start_weights(network, 1);
    const Tensor x = test::some_inputs(network, 3, 2, sample.vocabulary);
    const Tensor y = test::infer(*backend, network, weights, x);
    EXPECT_EQ(y.shape, (Shape{3, 2, sample.outputs}));
    EXPECT_TRUE(test::all_finite(y));
    const Tensor gradient = test::train_gradient(*backend, network, weights, x);
    EXPECT_TRUE(test::all_finite(gradient));
}

TEST_P(Builders, AreKeptByConfigsAndFiles) {
    const Blueprint blueprint = built(GetParam());
    EXPECT_EQ(test::through_json(blueprint), blueprint);
    EXPECT_EQ(test::through_archive(blueprint), blueprint);
    RandomStream rng(random_key(1, "builders"), 0);
    distributed::NetworkFile file;
    file.genome = evolve::sample_genome(Network(blueprint), rng, 0);
    const auto path = std::filesystem::path(testing::TempDir()) /
                      (std::string("builders_") + GetParam().name + ".cmb");
    distributed::write_network(path, file);
    EXPECT_EQ(distributed::read_network(path).genome, file.genome);
    std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Of, Builders, testing::ValuesIn(cases()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(BuilderSettings, SurviveJson) {
    for (const std::string_view type : builder_types()) {
        json given = to_json(builder_from_json(json{{"type", type}}, "build"));
        for (auto& [key, value] : given.items()) {
            if (value.is_number_integer())
                value = value.get<int>() + 1;
            else if (value.is_boolean())
                value = !value.get<bool>();
        }
        const Builder builder = builder_from_json(given, "build");
        EXPECT_EQ(name(builder), type);
        EXPECT_EQ(json(to_json(builder)), given);
        EXPECT_NE(builder, builder_from_json(json{{"type", type}}, "build"));
    }
}

/// Text of the error that a network section causes.
std::string refusal(const char* network, std::int64_t inputs = 4, bool time = true) {
    try {
        (void)blueprint_from_json(json::parse(network), inputs, 2, time);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "nothing";
}

TEST(BuilderSettings, AttentionSeesAllOfASequenceThatIsKnown) {
    const auto window = [](const char* network, std::int64_t steps) {
        const Blueprint blueprint = blueprint_from_json(json::parse(network), 4, 3, true, steps);
        const std::string text = network_section(blueprint).dump();
        return text.substr(text.find("\"window\":"), 13);
    };
    const char* automatic = R"({"build": {"type": "transformer"}})";
    EXPECT_EQ(window(automatic, 300).substr(0, 12), "\"window\":300");
    EXPECT_EQ(window(automatic, 0).substr(0, 12), "\"window\":128");
    EXPECT_EQ(window(automatic, 64).substr(0, 12), "\"window\":128");
    const char* given = R"({"build": {"type": "transformer", "window": 50}})";
    EXPECT_EQ(window(given, 300).substr(0, 11), "\"window\":50");
}

TEST(BuilderSettings, ThatCannotBeUsedAreNamed) {
    struct Bad {
        const char* network;
        const char* key;
        std::int64_t inputs = 4;
        bool time = true;
    };
    const std::vector<Bad> bad{
        {R"({"build": {}})", "network.build has no type"},
        {R"({"build": {"type": "dens_stack"}})", "did you mean \"dense_stack\"?"},
        {R"({"build": {"type": "dense_stack", "width": [3]}})", "network.build.width is not a key"},
        {R"({"build": {"type": "dense_stack", "widths": [3, 0]}})", "network.build.widths is 0"},
        {R"({"build": {"type": "dense_stack", "norm": "norm"}})", "network.build.norm is \"norm\""},
        {R"({"build": {"type": "dense_stack", "dropout": 1}})", "network.build.dropout is 1"},
        {R"({"build": {"type": "dense_stack"}, "layers": [{"type": "dense"}]})",
         "network.layers is given beside network.build"},
        {R"({"build": {"type": "dense_stack"}, "links": []})",
         "network.links is given beside network.build"},
        {R"({"build": {"type": "dense_stack"}, "grid": {"layers_per_cell": 1}})",
         "network.grid has 1 slots"},
        {R"({"build": {"type": "convolutional"}})", "network.input is missing"},
        {R"({"build": {"type": "convolutional"}, "input": [2, 2]})", "network.input is [2, 2]"},
        {R"({"build": {"type": "convolutional"}, "input": [1, 2, 2]})", "network.build.pool_size"},
        {R"({"build": {"type": "convolutional", "kernel": 2}, "input": [1, 2, 2]})",
         "network.build.kernel is 2"},
        {R"({"build": {"type": "convolutional", "channels": [0]}, "input": [1, 2, 2]})",
         "network.build.channels is 0"},
        {R"({"build": {"type": "convolutional", "pool": "min"}, "input": [1, 2, 2]})",
         "network.build.pool is \"min\""},
        {R"({"build": {"type": "convolutional", "pool_size": 0}, "input": [1, 2, 2]})",
         "network.build.pool_size is 0"},
        {R"({"build": {"type": "convolutional", "channels": [2], "pool": "none"},
             "input": [1, 2, 3]})",
         "network.build cannot be used here"},
        {R"({"build": {"type": "transformer", "blocks": 5000}})", "network.build.blocks"},
        {R"({"build": {"type": "transformer", "features": 0}})", "network.build.features is 0"},
        {R"({"build": {"type": "transformer", "heads": 5}})", "network.build.heads is 5"},
        {R"({"build": {"type": "transformer", "heads": 0}})", "network.build.heads is 0"},
        {R"({"build": {"type": "transformer", "kv_heads": 3}})", "network.build.kv_heads is 3"},
        {R"({"build": {"type": "transformer", "rope_base": -1}})", "network.build.rope_base is -1"},
        {R"({"build": {"type": "transformer", "features": 4, "rope_base": 9}})",
         "network.build.rope_base is given"},
        {R"({"build": {"type": "transformer", "norm": "none"}})", "network.build.norm is \"none\""},
        {R"({"build": {"type": "transformer"}})", "network.build.causal is true", 4, false},
        {R"({"build": {"type": "transformer", "vocabulary": 4}})", "network.build.causal is true"},
        {R"({"build": {"type": "transformer", "causal": false}})", "network.input is missing"},
        {R"({"build": {"type": "transformer", "causal": false, "vocabulary": 4}})",
         "network.input is missing", 1},
        {R"({"build": {"type": "transformer", "causal": false, "window": 4}, "input": [2, 2]})",
         "network.build.window is 4"},
        {R"({"build": {"type": "random", "most_layers": 0}})", "network.build.most_layers is 0"},
        {R"({"build": {"type": "random", "nesting": 17}})", "network.build.nesting is 17"},
        {R"({"build": {"type": "random", "layer_types": ["densely"]}})", "did you mean \"dense\"?"},
        {R"({"build": {"type": "random", "layer_types": ["conv3d"]}, "input": [2, 2]})",
         "network.build.layer_types make no network"},
        {R"({"build": {"type": "random"}, "mode": "mesh"})", "network.mode is mesh", 4, false},
    };
    for (const Bad& each : bad)
        EXPECT_THAT(refusal(each.network, each.inputs, each.time), HasSubstr(each.key))
            << each.network;
}

}  // namespace
}  // namespace cambrian::builders_test

#include "cambrian/engine/models/universal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/support/model_support.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::models {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Universal : public testing::Test {
  protected:
    [[nodiscard]] UniversalPlan plan(const std::map<std::string, Shape>& shapes,
                                     const UniversalOptions& options) const {
        test::write_tensors(folder_ / "x.safetensors", shapes);
        return universal_plan(TensorFiles(folder_ / "x.safetensors"), options);
    }
    /// The layers of the chain as JSON, the head last.
    [[nodiscard]] static std::vector<nlohmann::json> layers(const UniversalPlan& plan) {
        std::vector<nlohmann::json> result;
        const nlohmann::json json = network_section(plan.plan.blueprint);
        for (const auto& layer : json["layers"]) result.push_back(layer);
        return result;
    }

    test::TemporaryDirectory directory_;
    fs::path folder_ = directory_.path();
};

TEST_F(Universal, FieldsAreOfAllLayersOrOfOne) {
    const std::map<std::string, Shape> shapes{
        {"a.weight", {4, 3}}, {"b.weight", {4, 4}}, {"c.weight", {2, 4}}};
    const auto found = layers(plan(shapes, {.fields = {"activation=tanh", "b.activation=relu"}}));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0]["activation"], "tanh");
    EXPECT_EQ(found[1]["activation"], "relu");
    EXPECT_EQ(found[2]["activation"], "linear") << "nothing follows it";
    EXPECT_EQ(layers(plan(shapes, {.fields = {"activation=tanh",
                                              "c.activation=sigmoid"}}))[2]["activation"],
              "sigmoid");
}

TEST_F(Universal, SaysWhichGeluIsThatOfPyTorch) {
    const std::map<std::string, Shape> shapes{{"a.weight", {4, 3}}, {"b.weight", {2, 4}}};
    const auto note = HasSubstr("nn.GELU() is activation=exact_gelu");
    EXPECT_THAT(plan(shapes, {.fields = {"activation=gelu"}}).plan.notes, testing::Contains(note));
    const UniversalPlan exact = plan(shapes, {.fields = {"activation=exact_gelu"}});
    EXPECT_EQ(layers(exact)[0]["activation"], "exact_gelu");
    EXPECT_THAT(exact.plan.notes, testing::Not(testing::Contains(note)));
}

TEST_F(Universal, OptionsThatFitNothingAreRefused) {
    const std::map<std::string, Shape> shapes{{"a.weight", {4, 3}}, {"b.weight", {2, 4}}};
    const auto refused = [&](const UniversalOptions& options, const std::string& text) {
        EXPECT_THAT([&] { static_cast<void>(plan(shapes, options)); },
                    ThrowsMessage<ConfigError>(HasSubstr(text)));
    };
    const std::string relu = "activation=relu";
    refused({.fields = {relu, "heads=2"}}, "--with heads=2 fits nothing (the modules are a, b)");
    refused({.fields = {relu, "x.stride=2"}}, "--with x.stride=2 fits nothing");
    refused({.fields = {relu, "heads"}}, "--with is heads (it says FIELD=VALUE");
    refused({.fields = {relu, "type=dense"}}, "--with type=dense names no module");
    refused({.fields = {relu, "a.type=denze"}}, "dense");
    refused({.fields = {relu, "a.bios=true"}}, "bias");
    refused({.fields = {relu}, .insertions = {"x=softmax"}}, "--after x=softmax fits nothing");
    refused({.fields = {relu}, .insertions = {"a=softmix"}}, "softmax");
    refused({.fields = {relu}, .insertions = {"softmax"}}, "--after is softmax");
    refused({.fields = {relu}, .blocks = "post_norm"}, "--blocks is post_norm");
}

TEST_F(Universal, LayersWithoutWeightsAreInserted) {
    const UniversalPlan made =
        plan({{"a.weight", {4, 3}}, {"b.weight", {2, 4}}},
             {.fields = {"activation=relu"},
              .insertions = {R"(a={"type": "dropout", "rate": 0.25})", "b=softmax", "b=dropout"}});
    std::vector<std::string> types;
    for (const nlohmann::json& layer : layers(made)) types.push_back(layer["type"]);
    EXPECT_THAT(types, ElementsAre("dense", "dropout", "dense", "softmax", "dropout"));
    EXPECT_EQ(made.layers[1].weights, "slot.2.");
}

TEST_F(Universal, HeadsTellTheWidthsOfAttention) {
    const std::map<std::string, Shape> shapes{{"a.q_proj.weight", {12, 4}},
                                              {"a.k_proj.weight", {6, 4}},
                                              {"a.v_proj.weight", {6, 4}},
                                              {"a.o_proj.weight", {4, 12}},
                                              {"a.o_proj.bias", {4}}};
    const std::vector<std::string> told{"causal=true", "window=8", "rope_base=0"};
    UniversalOptions options{.fields = told};
    options.fields.push_back("heads=4");
    const UniversalPlan made = plan(shapes, options);
    const nlohmann::json layer = layers(made)[0];
    EXPECT_EQ(layer["heads"], 4);
    EXPECT_EQ(layer["kv_heads"], 2);
    EXPECT_EQ(layer["head_dim"], 3);
    EXPECT_EQ(layer["bias"], true);
    // Three of the four biases are not theirs, and zero.
    const Network network(made.plan.blueprint);
    const std::vector<float> weights =
        read_weights(made.plan, network, TensorFiles(folder_ / "x.safetensors"));
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const float first = weights[static_cast<std::size_t>(network.weights()[i].offset)];
        EXPECT_EQ(first == 0.0F, network.weight_name(i).starts_with("head.b") &&
                                     network.weight_name(i) != "head.bo")
            << network.weight_name(i);
    }
    for (const char* heads : {"heads=5", "heads=12.5", "heads=-1", "heads=2"}) {
        options.fields.back() = heads;
        if (std::string(heads) == "heads=2") {
            EXPECT_EQ(layers(plan(shapes, options))[0]["head_dim"], 6);
            continue;
        }
        EXPECT_THAT([&] { static_cast<void>(plan(shapes, options)); },
                    ThrowsMessage<ConfigError>(
                        HasSubstr("does not fit a (queries have 12 elements, keys 6)")))
            << heads;
    }
}

TEST_F(Universal, BlocksAddToWhatEntersThemOrDoNot) {
    const std::map<std::string, Shape> shapes{{"in.weight", {4, 3}},
                                              {"layers.0.norm1.weight", {4}},
                                              {"layers.0.ffn.w1.weight", {6, 4}},
                                              {"layers.0.ffn.w2.weight", {4, 6}},
                                              {"layers.0.ffn.w3.weight", {6, 4}},
                                              {"norm.weight", {4}},
                                              {"output.weight", {2, 4}}};
    UniversalOptions options{.fields = {"activation=linear", "epsilon=1e-5"}};
    EXPECT_THAT([&] { static_cast<void>(plan(shapes, options)); },
                ThrowsMessage<InputError>(HasSubstr("--blocks pre_norm or plain")));
    options.blocks = "pre_norm";
    const auto types = [&] {
        std::vector<std::string> result;
        for (const nlohmann::json& layer : layers(plan(shapes, options)))
            result.push_back(layer["type"]);
        return result;
    };
    EXPECT_THAT(types(), ElementsAre("dense", "residual", "rms_norm", "dense"));
    options.blocks = "plain";
    EXPECT_THAT(types(), ElementsAre("dense", "rms_norm", "swiglu", "rms_norm", "dense"));
}

TEST_F(Universal, GroupsOfAConvolutionFollowFromItsInput) {
    const auto found = layers(plan(
        {{"a.weight", {6, 2, 3}}, {"b.weight", {4, 6, 1}}},
        {.fields = {"activation=relu", "stride=1", "padding=0", "dilation=1"}, .input = {4, 9}}));
    EXPECT_EQ(found[0]["groups"], 2);
    EXPECT_EQ(found[1]["groups"], 1);
}

TEST_F(Universal, GroupsOfATransposedConvolutionTellItsOutputs) {
    const std::map<std::string, Shape> shapes{{"up.weight", {4, 3, 3, 3}}, {"up.bias", {6}}};
    UniversalOptions options{
        .fields = {"up.type=conv_transpose2d", "stride=2", "padding=1", "dilation=1", "groups=2"},
        .input = {4, 5, 5}};
    const UniversalPlan made = plan(shapes, options);
    const nlohmann::json layer = layers(made)[0];
    EXPECT_EQ(layer["in_channels"], 4);
    EXPECT_EQ(layer["out_channels"], 6);
    EXPECT_EQ(layer["groups"], 2);
    EXPECT_EQ(made.plan.blueprint.output_features, 6 * 9 * 9);
    options.fields.emplace_back("up.out_channels=6");
    EXPECT_EQ(plan(shapes, options).plan.blueprint, made.plan.blueprint);

    options.fields.resize(4);
    EXPECT_EQ(layers(plan({{"up.weight", {4, 3, 3, 3}}}, options))[0]["out_channels"], 3);
    for (const char* groups : {"groups=0", "groups=-2", "groups=3", "groups=two",
                               "groups=9000000000000000000", "group_out_channels=3"}) {
        options.fields.resize(4);
        options.fields.emplace_back(std::string("up.") + groups);
        EXPECT_THAT([&] { static_cast<void>(plan(shapes, options)); },
                    ThrowsMessage<ConfigError>(HasSubstr("group")))
            << groups;
    }
}

TEST_F(Universal, NothingIsChosenThatShapesDoNotTell) {
    EXPECT_THAT(
        [&] {
            static_cast<void>(plan({{"a.weight", {6, 2, 3}}},
                                   {.fields = {"stride=1", "padding=0"}, .input = {2, 9}}));
        },
        ThrowsMessage<InputError>(HasSubstr("--with dilation=1")));
    const std::map<std::string, Shape> norms{{"layer_norm.weight", {4}}, {"x.weight", {2, 4}}};
    const std::vector<std::string> order{"layer_norm", "a_norm", "b_norm", "x"};
    const UniversalPlan taken = plan(norms, {.fields = {"epsilon=1e-5"}, .order = order});
    EXPECT_EQ(layers(taken)[0]["type"], "rms_norm");
    EXPECT_THAT(taken.plan.notes, ElementsAre(HasSubstr("--with MODULE.type=layer_norm")));
    const UniversalPlan told =
        plan(norms, {.fields = {"epsilon=1e-5", "layer_norm.type=layer_norm"}, .order = order});
    EXPECT_EQ(layers(told)[0]["type"], "layer_norm");
    EXPECT_THAT(told.plan.notes, testing::IsEmpty());
    const UniversalPlan known =
        plan({{"a_norm.weight", {4}}, {"b_norm.weight", {4}}, {"x.weight", {2, 4}}},
             {.fields = {"epsilon=1e-5", "a_norm.type=rms_norm"}, .order = order});
    EXPECT_THAT(known.plan.notes, ElementsAre(testing::StartsWith("b_norm is taken for rms_norm")));
}

TEST_F(Universal, TensorsWithoutANumberAreRefused) {
    const std::vector<std::string> attention{"heads=2", "causal=false", "rope_base=0"};
    const std::vector<std::string> convolution{"stride=1", "padding=0", "dilation=1"};
    const auto refused = [&](const std::map<std::string, Shape>& shapes,
                             const UniversalOptions& options, const std::string& text) {
        EXPECT_THAT(
            [&] { static_cast<void>(plan(shapes, options)); },
            ThrowsMessage<InputError>(testing::AllOf(HasSubstr("x.safetensors"), HasSubstr(text))));
    };
    refused({{"c.weight", {8, 0, 3}}}, {.fields = convolution, .input = {2, 5}},
            R"(tensor "c.weight" is [8, 0, 3])");
    refused({{"a.q_proj.weight", {0, 8}},
             {"a.k_proj.weight", {8, 8}},
             {"a.v_proj.weight", {8, 8}},
             {"a.o_proj.weight", {8, 0}}},
            {.fields = attention}, R"(tensor "a.o_proj.weight" is [8, 0])");
}

TEST_F(Universal, WhatIsMeasuredIsNoField) {
    const auto refused = [&](const std::map<std::string, Shape>& shapes,
                             const UniversalOptions& options, const std::string& text) {
        EXPECT_THAT([&] { static_cast<void>(plan(shapes, options)); },
                    ThrowsMessage<ConfigError>(HasSubstr(text)));
    };
    refused(
        {{"c.weight", {8, 2, 3}}},
        {.fields = {"stride=1", "padding=0", "dilation=1", "c.group_channels=0"}, .input = {2, 5}},
        "group_channels");
    refused({{"a.q_proj.weight", {8, 8}},
             {"a.k_proj.weight", {8, 8}},
             {"a.v_proj.weight", {8, 8}},
             {"a.o_proj.weight", {8, 8}}},
            {.fields = {"heads=2", "causal=false", "rope_base=0", "a.queries=none"}}, "queries");
}

TEST_F(Universal, BranchesBesideOneAnotherAreNamed) {
    const UniversalPlan made = plan({{"actor.weight", {4, 4}}, {"critic.weight", {1, 4}}},
                                    {.fields = {"activation=tanh"}});
    EXPECT_THAT(
        made.plan.notes,
        ElementsAre(HasSubstr("only letters tell this order: critic after actor (--order")));
}

TEST_F(Universal, NormsThatMayBeOthersAreNamed) {
    const UniversalPlan made =
        plan({{"0.weight", {4}}, {"0.bias", {4}}, {"1.weight", {2, 4}}}, {.fields = {"epsilon=1"}});
    EXPECT_EQ(layers(made)[0]["type"], "layer_norm");
    EXPECT_THAT(made.plan.notes, ElementsAre(HasSubstr("GroupNorm, InstanceNorm")));
}

TEST_F(Universal, NormsOfChannelsAreNotTakenForOthers) {
    // 16 would be the last two axes.
    const std::map<std::string, Shape> shapes{
        {"0.weight", {16, 3, 1, 1}}, {"1.weight", {16}}, {"1.bias", {16}}};
    UniversalOptions options{
        .fields = {"activation=relu", "stride=1", "padding=0", "dilation=1", "epsilon=1e-5"},
        .input = {3, 4, 4}};
    EXPECT_THAT([&] { static_cast<void>(plan(shapes, options)); },
                ThrowsMessage<InputError>(testing::AllOf(
                    HasSubstr("\"1\" is a layer_norm of 16 features by its tensors, and [16, 4, 4] "
                              "enters it (GroupNorm"),
                    HasSubstr("--with 1.type=layer_norm"))));
    options.fields.emplace_back("1.type=layer_norm");
    EXPECT_EQ(layers(plan(shapes, options))[1]["type"], "layer_norm");

    // As many channels as columns.
    options.fields.pop_back();
    EXPECT_THAT(
        [&] {
            static_cast<void>(
                plan({{"0.weight", {4, 3, 1, 1}}, {"1.weight", {4}}, {"1.bias", {4}}}, options));
        },
        ThrowsMessage<InputError>(HasSubstr("of 4 features by its tensors, and [4, 4, 4]")));
}

TEST_F(Universal, NormsOfAWholeRowAreNotThoseOfChannels) {
    const std::vector<std::string> convolution{"activation=relu", "stride=1", "padding=0",
                                               "dilation=1", "epsilon=1e-5"};
    const UniversalPlan image =
        plan({{"0.weight", {4, 3, 1, 1}}, {"1.weight", {144}}, {"1.bias", {144}}},
             {.fields = convolution, .input = {3, 6, 6}});
    EXPECT_EQ(layers(image)[1]["type"], "layer_norm");
    EXPECT_EQ(layers(image)[1]["features"], 144);
    // As many steps as features.
    const UniversalPlan steps =
        plan({{"0.weight", {4, 3}}, {"1.weight", {4}}, {"1.bias", {4}}},
             {.fields = {"activation=relu", "epsilon=1e-5"}, .input = {4, 3}});
    EXPECT_EQ(layers(steps)[1]["type"], "layer_norm");
}

TEST_F(Universal, LearnedPositionsAreThoseOfTheEmbedding) {
    const std::map<std::string, Shape> shapes{
        {"wte.weight", {9, 4}}, {"wpe.weight", {6, 4}}, {"head.weight", {9, 4}}};
    const UniversalPlan made = plan(shapes, {});
    const auto found = layers(made);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0]["vocabulary"], 9);
    EXPECT_EQ(found[0]["positions"], 6);
    EXPECT_THAT(made.plan.rules,
                testing::Contains(TensorRule{"wpe.weight", {"slot.0.position_table"}}));
    EXPECT_THAT(made.plan.notes, ElementsAre(HasSubstr("wpe is taken for the positions of wte")));
    EXPECT_EQ(read_weights(made.plan, Network(made.plan.blueprint),
                           TensorFiles(folder_ / "x.safetensors"))
                  .size(),
              9U * 4 + 6 * 4 + 9 * 4);
    for (const auto& [table, positions] : std::vector<std::pair<std::string, std::string>>{
             {"tok_emb", "pos_emb"},
             {"embed", "pos_embed"},
             {"token_embedding", "pos_embedding"},
             {"token_embedding_table", "position_embedding_table"}})
        EXPECT_EQ(layers(plan({{table + ".weight", {9, 4}},
                               {positions + ".weight", {6, 4}},
                               {"head.weight", {9, 4}}},
                              {}))[0]["positions"],
                  6)
            << positions;

    // A table of another name is put before its positions by the user.
    const std::map<std::string, Shape> others{
        {"char_emb.weight", {9, 4}}, {"pos_emb.weight", {6, 4}}, {"head.weight", {9, 4}}};
    EXPECT_THAT([&] { static_cast<void>(plan(others, {})); },
                ThrowsMessage<InputError>(HasSubstr("--order char_emb,")));
    EXPECT_EQ(layers(plan(others, {.order = {"char_emb"}}))[0]["positions"], 6);
}

TEST_F(Universal, VectorsAreNoIds) {
    const std::map<std::string, Shape> shapes{{"a.weight", {4, 3}}, {"my_emb.weight", {9, 4}}};
    EXPECT_THAT([&] { static_cast<void>(plan(shapes, {.fields = {"activation=relu"}})); },
                ThrowsMessage<InputError>(
                    HasSubstr("\"my_emb\" is an embedding by its name and comes after \"a\"")));
    EXPECT_THAT([&] { static_cast<void>(plan(shapes, {.fields = {"activation=relu"}})); },
                ThrowsMessage<InputError>(HasSubstr("--order my_emb,")));
    const auto found = layers(plan(shapes, {.fields = {"activation=relu", "my_emb.type=dense"}}));
    EXPECT_EQ(found[1]["type"], "dense");
}

TEST_F(Universal, AModuleWithoutANameIsNotAllModules) {
    const std::map<std::string, Shape> shapes{{"weight", {2, 3}}, {"bias", {2}}};
    EXPECT_THAT([&] { static_cast<void>(plan(shapes, {.fields = {"activation=relu"}})); },
                ThrowsMessage<ConfigError>(
                    HasSubstr("--with activation=relu fits nothing (the modules are .)")));
    EXPECT_EQ(layers(plan(shapes, {.fields = {".activation=relu"}}))[0]["activation"], "relu");
}

TEST_F(Universal, LayersThatDoNotFitSayWhere) {
    EXPECT_THAT(
        [&] {
            static_cast<void>(plan({{"a.weight", {4, 3}}, {"b.weight", {2, 5}}},
                                   {.fields = {"activation=relu"}}));
        },
        ThrowsMessage<ShapeError>(
            testing::AllOf(HasSubstr("b does not fit where it stands"), HasSubstr("--order"))));
}

}  // namespace
}  // namespace cambrian::models

#include "cambrian/engine/models/module_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// "path: type" of all modules.
std::vector<std::string> found(const std::map<std::string, Shape>& tensors,
                               const ModuleChoice& choice = {}) {
    std::vector<std::string> result;
    for (const FoundModule& module : find_modules(tensors, choice, "it"))
        result.push_back(module.path + ": " + std::string(module.names->type));
    return result;
}

TEST(ModuleTree, TellsLayersByNamesAndShapes) {
    EXPECT_THAT(found({{"a.weight", {3, 2}},
                       {"a.bias", {3}},
                       {"b.weight", {3}},
                       {"c.weight", {3}},
                       {"c.bias", {3}},
                       {"d.weight", {4, 3, 5}},
                       {"e.weight", {4, 3, 5, 5}},
                       {"f.weight", {4, 3, 5, 5, 5}},
                       {"g.weight", {3}},
                       {"g.bias", {3}},
                       {"g.running_mean", {3}},
                       {"g.running_var", {3}},
                       {"g.num_batches_tracked", {}},
                       {"my_emb.weight", {9, 3}}}),
                ElementsAre("a: dense", "b: rms_norm", "c: layer_norm", "d: conv1d", "e: conv2d",
                            "f: conv3d", "g: batch_norm", "my_emb: embedding"));
}

TEST(ModuleTree, TellsRecurrentLayersByTheirGates) {
    EXPECT_THAT(found({{"rnn.weight_ih_l0", {2, 3}},
                       {"rnn.weight_hh_l0", {2, 2}},
                       {"r.weight_ih", {12, 2}},
                       {"r.weight_hh", {12, 4}},
                       {"r.bias_ih", {12}},
                       {"r.bias_hh", {12}}}),
                ElementsAre("r: gru", "rnn: rnn"));
    EXPECT_THAT(found({{"weight_ih_l10", {8, 2}},
                       {"weight_hh_l10", {8, 2}},
                       {"weight_ih_l2", {8, 2}},
                       {"weight_hh_l2", {8, 2}}}),
                ElementsAre("l2: lstm", "l10: lstm"));
    EXPECT_THAT(
        [] {
            found({{"r.weight_ih_l0_reverse", {8, 2}}, {"r.weight_hh_l0_reverse", {8, 2}}});
        },
        ThrowsMessage<InputError>(HasSubstr("the tensors of \"r\" are those of no layer")));
}

TEST(ModuleTree, TellsAttentionAndGatedLayersByAllOfTheirNames) {
    for (const auto& [q, k, v, o] :
         {std::array{"q_proj", "k_proj", "v_proj", "o_proj"},
          std::array{"query", "key", "value", "out"}, std::array{"wq", "wk", "wv", "wo"},
          std::array{"q", "k", "v", "o"}}) {
        const std::string at = "x.";
        EXPECT_THAT(found({{at + q + ".weight", {6, 4}},
                           {at + k + ".weight", {2, 4}},
                           {at + v + ".weight", {2, 4}},
                           {at + o + ".weight", {4, 6}}}),
                    ElementsAre("x: multi_head_attention"))
            << q;
    }
    EXPECT_THAT(found({{"m.w1.weight", {6, 4}}, {"m.w3.weight", {6, 4}}, {"m.w2.weight", {4, 6}}}),
                ElementsAre("m: swiglu"));
    EXPECT_THAT(found({{"m.in_proj_weight", {12, 4}}, {"m.out_proj.weight", {4, 4}}}),
                ElementsAre("m: multi_head_attention"));
    // One tensor less: two dense layers and a norm of nobody's.
    EXPECT_THAT(found({{"m.w1.weight", {6, 4}}, {"m.w2.weight", {4, 6}}}),
                ElementsAre("m.w1: dense", "m.w2: dense"));
}

TEST(ModuleTree, MakesNoChainOfQueriesAndKeys) {
    const std::map<std::string, Shape> bert{
        {"self.query.weight", {4, 4}},  {"self.query.bias", {4}},      {"self.key.weight", {4, 4}},
        {"self.key.bias", {4}},         {"self.value.weight", {4, 4}}, {"self.value.bias", {4}},
        {"output.dense.weight", {4, 4}}};
    EXPECT_THAT([&] { found(bert); },
                ThrowsMessage<InputError>(
                    HasSubstr("self.query, self.key, self.value are no attention that is known")));
    EXPECT_THAT(
        found(bert, {.types = {{"self.query", "dense"}, {"self.key", "dense"}}, .order = {}}),
        ElementsAre("self.key: dense", "self.query: dense", "self.value: dense",
                    "output.dense: dense"));
    // A tensor more than those of an attention.
    EXPECT_THAT(
        [] {
            found({{"a.q_proj.weight", {4, 4}},
                   {"a.k_proj.weight", {4, 4}},
                   {"a.v_proj.weight", {4, 4}},
                   {"a.o_proj.weight", {4, 4}},
                   {"a.q_norm.weight", {4}}});
        },
        ThrowsMessage<InputError>(HasSubstr("--with a.q_proj.type=..")));
    EXPECT_THAT(found({{"policy.weight", {4, 4}}, {"value.weight", {4, 4}}}),
                ElementsAre("policy: dense", "value: dense"));
}

TEST(ModuleTree, KnowsWhereLettersAloneTellTheOrder) {
    const auto by_letters = [](const std::map<std::string, Shape>& tensors,
                               const ModuleChoice& choice = {}) {
        std::vector<std::string> paths;
        for (const FoundModule& module : find_modules(tensors, choice, "it"))
            if (module.by_letters) paths.push_back(module.path);
        return paths;
    };
    const std::map<std::string, Shape> branches{{"actor.0.weight", {4, 4}},
                                                {"actor.2.weight", {4, 4}},
                                                {"critic.0.weight", {4, 4}},
                                                {"critic.2.weight", {4, 4}}};
    EXPECT_THAT(by_letters(branches), ElementsAre("critic.0"));
    EXPECT_THAT(by_letters(branches, {.types = {}, .order = {"critic"}}), testing::IsEmpty());
    EXPECT_THAT(by_letters({{"fc1.weight", {4, 4}}, {"fc2.weight", {4, 4}}}), testing::IsEmpty());
    EXPECT_THAT(by_letters({{"embed.weight", {4, 4}}, {"x.weight", {4, 4}}}), testing::IsEmpty());
}

TEST(ModuleTree, OrdersByRolesThenNumbersThenLetters) {
    EXPECT_THAT(
        found({{"lm_head.weight", {9, 2}},
               {"model.norm.weight", {2}},
               {"model.layers.10.mlp.weight", {2, 2}},
               {"model.layers.2.post_attention_layernorm.weight", {2}},
               {"model.layers.2.mlp.weight", {2, 2}},
               {"model.layers.2.input_layernorm.weight", {2}},
               {"model.embed_tokens.weight", {9, 2}}}),
        ElementsAre("model.embed_tokens: embedding", "model.layers.2.input_layernorm: rms_norm",
                    "model.layers.2.post_attention_layernorm: rms_norm",
                    "model.layers.2.mlp: dense", "model.layers.10.mlp: dense",
                    "model.norm: rms_norm", "lm_head: dense"));
    EXPECT_THAT(found({{"decoder.weight", {2, 2}}, {"encoder.weight", {2, 2}}},
                      {.types = {}, .order = {"encoder", "decoder"}}),
                ElementsAre("encoder: dense", "decoder: dense"));
}

TEST(ModuleTree, TakesTheTypeOfAModuleFromItsUser) {
    EXPECT_THAT(found({{"up.weight", {3, 2, 4, 4}}, {"table.weight", {9, 3}}},
                      {.types = {{"up", "conv_transpose2d"}, {"table", "embedding"}}, .order = {}}),
                ElementsAre("table: embedding", "up: conv_transpose2d"));
    EXPECT_THAT(
        [] {
            found({{"up.weight", {3, 2}}}, {.types = {{"up", "conv1d"}}, .order = {}});
        },
        ThrowsMessage<ConfigError>(HasSubstr("--with up.type=conv1d fits no layer")));
    EXPECT_THAT(
        [] {
            found({{"up.weight", {3, 2}}}, {.types = {{"down", "dense"}}, .order = {}});
        },
        ThrowsMessage<ConfigError>(HasSubstr("--with down.type=dense fits nothing")));
}

TEST(ModuleTree, DropsNoTensor) {
    EXPECT_THAT(
        [] {
            found({{"a.weight", {3, 2}}, {"a.scale_of_nobody", {1}}});
        },
        ThrowsMessage<InputError>(HasSubstr("are those of no layer (\"scale_of_nobody\" [1], "
                                            "\"weight\" [3, 2])")));
    EXPECT_THAT(
        [] {
            found({{"a.weight", {3, 2}}, {"loose", {1}}});
        },
        ThrowsMessage<InputError>(HasSubstr("\"loose\" [1]")));
}

TEST(ModuleTree, RefusesNamesOfTooManyParts) {
    std::string name = "weight";
    for (int i = 0; i < 100; ++i) name = "a." + name;
    EXPECT_THAT(
        [&] {
            found({{name, {3}}});
        },
        ThrowsMessage<InputError>(HasSubstr("too many parts")));
}

}  // namespace
}  // namespace cambrian::models

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/tests/launch/conversion/model_conversion_support.hpp"

// Models and networks that cannot be read or written as they are, and options without a use.
namespace cambrian::launch::model_test {
namespace {

class ModelRefusal : public ModelConversion {};

TEST_F(ModelRefusal, NothingIsDroppedOrMadeUp) {
    static_cast<void>(read("llama"));
    ASSERT_EQ(convert({path("llama.cmb"), path("out"), "--family", "llama"}).code, 0);
    const std::string file = path("out/model.safetensors");
    const Safetensors whole = read_safetensors(file);
    const auto refused = [&](const Safetensors& content) {
        write_safetensors(file, content);
        return fails(3, {path("out"), path("again.cmb")});
    };
    Safetensors content = whole;
    content.tensors["model.layers.0.self_attn.q_proj.bias"] =
        StoredTensor::of(Tensor(ValueType::real, {24}));
    content.tensors.erase("model.norm.weight");
    EXPECT_THAT(refused(content), HasSubstr("(missing: \"model.norm.weight\"; left over: "
                                            "\"model.layers.0.self_attn.q_proj.bias\")"));
    content = whole;
    content.tensors["model.norm.weight"] = StoredTensor::of(Tensor(ValueType::real, {9}));
    EXPECT_THAT(refused(content),
                HasSubstr("\"model.norm.weight\" is [9] (the network needs [8])"));
    content = whole;
    content.tensors["model.norm.weight"] =
        StoredTensor::of(Tensor(ValueType::real, {8}), StoredType::i8);
    EXPECT_THAT(refused(content),
                HasSubstr("\"model.norm.weight\" holds I8 (weights are read from F32"));
    content = whole;
    Tensor gain(ValueType::real, {8});
    gain.elements[3] = NAN;
    content.tensors["model.norm.weight"] = StoredTensor::of(gain);
    EXPECT_THAT(refused(content),
                HasSubstr("element 3 of tensor \"model.norm.weight\" is not finite"));
}

TEST_F(ModelRefusal, ConfigsThatAskForMoreAreRefused) {
    static_cast<void>(read("llama"));
    ASSERT_EQ(convert({path("llama.cmb"), path("out"), "--family", "llama"}).code, 0);
    nlohmann::json config;
    std::ifstream(path("out/config.json")) >> config;
    struct Case {
        std::string key;
        nlohmann::json value;  ///< Null: the key is left out.
        std::string text;
    };
    const nlohmann::json none;
    for (const Case& c : std::vector<Case>{
             {"hidden_size", none, "\"hidden_size\" is missing"},
             {"num_hidden_layers", -1, "\"num_hidden_layers\" is -1 (it is a count)"},
             {"num_hidden_layers", 1000000, "a model of 1000000 blocks cannot be built"},
             {"rms_norm_eps", "small", "\"rms_norm_eps\" is \"small\" (it is a number"},
             {"hidden_act", "relu", "\"hidden_act\" is \"relu\" (computed here is \"silu\")"},
             {"rope_scaling", {{"rope_type", "dynamic"}}, "positions of the type \"dynamic\""},
             {"rope_scaling", {{"rope_type", "yarn"}}, "has no number \"factor\""},
             {"rope_scaling",
              {{"rope_type", "yarn"}, {"factor", 4}, {"short_factor", 1}},
              "scaling of positions has \"short_factor\" (known are rope_type"},
             {"rope_scaling",
              {{"rope_type", "yarn"}, {"factor", 4}, {"truncate", 1}},
              "\"truncate\" is 1 (it is true or false)"},
             {"rope_scaling",
              {{"rope_type", "yarn"}, {"factor", 4}, {"beta_fast", 0.5}},
              "rope_low is above 0 and below rope_high"},
             {"rope_scaling",
              {{"rope_type", "yarn"}, {"factor", 4}, {"attention_factor", 0}},
              "rope_gain is above 0"},
             {"rope_scaling", {{"rope_type", "llama3"}}, "has no number \"factor\""},
             {"rope_scaling", {{"type", "linear"}, {"factor", 0.5}}, "rope_factor is 1 or more"},
             {"rope_scaling", {{"factor", 4}}, "positions has \"factor\" (known are rope_type"},
             {"rope_scaling",
              {{"rope_type", "default"}, {"type", "linear"}, {"factor", 4}},
              "\"factor\" (known are rope_type, type, rope_theta, as its type is \"default\")"},
             {"rope_parameters",
              {{"full_attention", {{"rope_theta", 100}}}},
              "positions has \"full_attention\""},
             {"rope_parameters", {{"rope_theta", "500"}}, "has no number \"rope_theta\""},
             {"rope_parameters",
              {{"rope_theta", 100}, {"partial_rotary_factor", 0.5}},
              "\"partial_rotary_factor\" is 0.5 (computed here is 1)"},
             {"partial_rotary_factor", 0.5, "\"partial_rotary_factor\" is 0.5"},
             {"rope_interleaved", true, "\"rope_interleaved\" is true (computed here is false)"},
             {"tie_word_embeddings", 1, "\"tie_word_embeddings\" is 1 (it is true or false)"},
             {"model_type", "bert", "is of the type \"bert\" (known are llama, mistral"},
             {"num_attention_heads", 3, "heads"}}) {
        nlohmann::json changed = config;
        if (c.value.is_null())
            changed.erase(c.key);
        else
            changed[c.key] = c.value;
        directory_.write("out/config.json", changed.dump());
        EXPECT_THAT(fails(3, {path("out"), path("again.cmb")}), HasSubstr(c.text)) << c.key;
    }
    config["new_setting"] = 3;
    config["rope_new_setting"] = 3;
    config["partial_rotary_factor"] = 1.0;
    config["rope_scaling"] = {{"rope_type", "linear"}, {"type", "yarn"}, {"factor", 2}};
    directory_.write("out/config.json", config.dump());
    EXPECT_THAT(convert({path("out"), path("again.cmb")}).out,
                HasSubstr("keys not read: new_setting, partial_rotary_factor, rope_new_setting"));
    config["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 4}};
    directory_.write("out/config.json", config.dump());
    EXPECT_THAT(fails(3, {path("out"), path("again.cmb")}), HasSubstr("\"rope_scaling\" differ"));
    config.erase("rope_parameters");
    directory_.write("out/config.json", config.dump());
    EXPECT_THAT(fails(3, {path("out"), path("again.cmb"), "--family", "qwen"}),
                HasSubstr("is of the type \"llama\" (that is --family llama)"));
    EXPECT_THAT(fails(2, {path("out"), path("again.cmb"), "--heads", "4"}),
                HasSubstr("have no use here"));
}

TEST_F(ModelRefusal, StateSpacesThatAskForMoreAreRefused) {
    struct Case {
        std::string model;
        nlohmann::json change;
        std::string text;
    };
    for (const Case& c : std::vector<Case>{
             {"mamba", {{"use_bias", true}}, "\"use_bias\" is true (computed here is false)"},
             {"mamba", {{"use_conv_bias", false}}, "\"use_conv_bias\" is false"},
             {"mamba", {{"intermediate_size", 13}}, "\"intermediate_size\" is 13 (channels are"},
             {"mamba",
              {{"time_step_rank", "wide"}},
              "\"time_step_rank\" is \"wide\" (it is a count"},
             {"mamba", {{"model_type", "mamba2"}}, "is of the type \"mamba2\" (known are"},
             {"mamba_ssm", {{"ssm_cfg", {{"layer", "Mamba2"}}}}, "\"layer\": \"Mamba2\" (computed"},
             {"mamba_ssm",
              {{"ssm_cfg", {{"headdim", 4}}}},
              "\"ssm_cfg\" has \"headdim\" (known are"},
             {"mamba_ssm", {{"ssm_cfg", {{"d_state", 0}}}}, "\"d_state\" is 0 (it is a count"},
             {"mamba_ssm", {{"ssm_cfg", 3}}, "\"ssm_cfg\" is 3 (it is an object"},
             {"mamba_ssm", {{"rms_norm", false}}, "\"rms_norm\" is false"},
             {"mamba_ssm", {{"attn_layer_idx", {0}}}, "\"attn_layer_idx\" is [0]"},
             {"mamba_ssm", {{"pad_vocab_size_multiple", 1}}, "(the network needs [13"}}) {
        const auto folder = cambrian::test::golden_model(c.model);
        nlohmann::json config;
        std::ifstream(folder / "config.json") >> config;
        config.update(c.change);
        directory_.write("changed/config.json", config.dump());
        std::filesystem::copy_file(folder / "model.safetensors", path("changed/model.safetensors"),
                                   std::filesystem::copy_options::overwrite_existing);
        EXPECT_THAT(fails(3, {path("changed"), path("again.cmb")}), HasSubstr(c.text))
            << c.change.dump();
    }
    // What the family has no setting for: another way to weigh what comes in.
    NetworkFile file = read("mamba");
    std::get<Mamba>(file.genome.blueprint.slots[1]->layer.variant()).discretization =
        Discretization::zero_order_hold;
    write_network(path("zoh.cmb"), file);
    EXPECT_THAT(fails(2, {path("zoh.cmb"), path("out"), "--family", "mamba"}),
                HasSubstr("cannot be written as mamba (layer 1 is"));
}

TEST_F(ModelRefusal, WhatShapesDoNotTellIsAskedFor) {
    const std::string text =
        fails(3, {cambrian::test::golden_model("blocks").string(), path("a.cmb")});
    for (const char* option :
         {"--with heads=", "--with causal=", "--with rope_base=", "--with epsilon=",
          "--with activation=", "--blocks pre_norm or plain"})
        EXPECT_THAT(text, HasSubstr(option));
    EXPECT_THAT(
        fails(3, {cambrian::test::golden_model("mlp").string(), path("a.cmb")}),
        HasSubstr("they do not tell activation of 0 and 1 more) give --with activation=relu"));
    EXPECT_THAT(fails(3, {cambrian::test::golden_model("cnn").string(), path("a.cmb"),
                          "--activation", "relu"}),
                HasSubstr("give --input, such as --input 3,32,32"));
    EXPECT_THAT(fails(2, {cambrian::test::golden_model("mlp").string(), path("a.cmb"),
                          "--activation", "relu", "--heads", "3"}),
                HasSubstr("--with heads=3 fits nothing (the modules are 0, 2, 4)"));
    EXPECT_THAT(fails(2, {cambrian::test::golden_model("mlp").string(), path("a.cmb"),
                          "--activation", "rely"}),
                HasSubstr("relu"));
    EXPECT_FALSE(std::filesystem::exists(path("a.cmb")));
}

TEST_F(ModelRefusal, NetworksOfAnotherStructureAreNotWrittenAsAFamily) {
    static_cast<void>(read("mlp", {"--activation", "relu"}));
    EXPECT_THAT(fails(2, {path("mlp.cmb"), path("out"), "--family", "llama"}),
                HasSubstr("the network cannot be written as llama (its first layers are others)"));
    EXPECT_FALSE(std::filesystem::exists(path("out")));
    // Biases of outputs that Qwen has not.
    NetworkFile file = read("qwen2");
    const Network network(file.genome.blueprint);
    for (std::size_t i = 0; i < network.weights().size(); ++i)
        if (network.weight_name(i) == "slot.1.layers.1.bo")
            file.genome.weights[static_cast<std::size_t>(network.weights()[i].offset)] = 0.5F;
    write_network(path("biased.cmb"), file);
    EXPECT_THAT(fails(2, {path("biased.cmb"), path("out"), "--family", "qwen"}),
                HasSubstr("slot.1.layers.1.bo cannot be written (it is not zero"));
}

TEST_F(ModelRefusal, OptionsHaveTheirPlace) {
    static_cast<void>(read("mlp", {"--activation", "relu"}));
    EXPECT_THAT(fails(2, {path("mlp.cmb"), path("out")}),
                HasSubstr("a folder with the --family to write"));
    EXPECT_THAT(fails(2, {path("mlp.cmb"), path("a.safetensors"), "--family", "torch"}),
                HasSubstr("--family has no use here"));
    EXPECT_THAT(fails(2, {path("mlp.cmb"), path("b.cmb"), "--shard-size", "1GB"}),
                HasSubstr("--shard-size has no use here"));
    EXPECT_THAT(fails(2, {path("mlp.cmb"), path("b.cmb"), "--heads", "2"}),
                HasSubstr("it is of models of others that are read"));
    ASSERT_EQ(convert({path("mlp.cmb"), path("out"), "--family", "torch"}).code, 0);
    EXPECT_THAT(fails(2, {path("mlp.cmb"), path("out"), "--family", "torch"}),
                HasSubstr("has a model already ("));
}

}  // namespace
}  // namespace cambrian::launch::model_test

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"
#include "cambrian/tests/support/model_support.hpp"

namespace cambrian::launch {
namespace {

using distributed::NetworkFile;
using distributed::read_network;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;

class ModelConversion : public testing::Test {
  protected:
    Result convert(Arguments arguments) {
        arguments.insert(arguments.begin(), "convert");
        return run(arguments);
    }
    /// The network of a golden model.
    NetworkFile read(const std::string& name, Arguments options = {}) {
        options.insert(options.begin(),
                       {cambrian::test::golden_model(name).string(), path(name + ".cmb")});
        const Result result = convert(options);
        EXPECT_EQ(result.code, 0) << result.err;
        said_ = result.out;
        return read_network(path(name + ".cmb"));
    }
    std::string fails(int code, Arguments arguments) {
        const Result result = convert(std::move(arguments));
        EXPECT_EQ(result.code, code) << result.out << result.err;
        return result.err;
    }
    [[nodiscard]] std::string path(const std::string& name) const { return directory_.file(name); }

    TemporaryDirectory directory_;
    std::string said_;
};

/// The largest difference between what a network gives in f32 and what is expected.
double difference(const NetworkFile& file, const std::string& name) {
    const auto expected = cambrian::test::expected_outputs(cambrian::test::golden_model(name));
    const auto backend = make_cpu_backend({});
    const bool time = Network(file.genome.blueprint).stateful();
    const std::vector<float> outputs = evolve::infer(
        *backend, file.genome, expected.inputs, time ? 1 : expected.rows, time ? expected.rows : 0);
    EXPECT_EQ(outputs.size(), expected.outputs.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < outputs.size() && i < expected.outputs.size(); ++i)
        largest =
            std::max(largest, std::abs(static_cast<double>(outputs[i]) - expected.outputs[i]));
    return largest;
}

constexpr double tolerance = 1e-5;

/// Models with a config.json, and the family to write them as.
const std::vector<std::pair<std::string, std::string>> with_config{
    {"llama", "llama"},      {"llama3", "llama"},    {"llama_linear", "llama"},
    {"llama_yarn", "llama"}, {"qwen2_yarn", "qwen"}, {"mistral", "mistral"},
    {"qwen2", "qwen"},       {"qwen3", "qwen"},      {"gpt2", "gpt2"},
    {"mamba", "mamba"},      {"mamba_ssm", "mamba"}};

/// Models of names and shapes alone, and what those do not tell.
const std::vector<std::pair<std::string, Arguments>> without_config{
    {"mlp", {"--activation", "relu"}},
    {"cnn",
     {"--activation", "relu", "--with", "padding=1", "--with", "dilation=1", "--with",
      "conv1.stride=1", "--with", "conv2.stride=2", "--after",
      R"(conv1={"type": "max_pool2d", "kernel": 2})", "--input", "2,8,8"}},
    {"recurrent", {}},
    {"blocks",
     {"--heads", "3", "--with", "causal=true", "--with", "window=64", "--with", "rope_base=0",
      "--with", "epsilon=1e-3", "--activation", "gelu", "--blocks", "pre_norm"}}};

TEST_F(ModelConversion, ModelsOfOthersGiveWhatTheyGave) {
    for (const auto& [name, family] : with_config) {
        EXPECT_LT(difference(read(name), name), tolerance) << name;
        EXPECT_THAT(said_, HasSubstr("read as " + family)) << name;
    }
    for (const auto& [name, options] : without_config)
        EXPECT_LT(difference(read(name, options), name), tolerance) << name;
}

/// Rows of queries and keys in the order of pairs that lie side by side give the same products
/// where nothing turns them.
TEST_F(ModelConversion, RotaryPairsAreHalvesApart) {
    NetworkFile file = read("llama");
    const Network network(file.genome.blueprint);
    constexpr std::int64_t features = 8;
    constexpr std::int64_t width = 6;  // Of a head.
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        const std::string name = network.weight_name(i);
        if (!name.ends_with(".wq") && !name.ends_with(".wk")) continue;
        const std::vector<float> old = file.genome.weights;
        for (std::int64_t row = 0; row < range.count / features; ++row) {
            const std::int64_t place = row % width;
            const std::int64_t from =
                row - place + (place % 2 == 0 ? place / 2 : width / 2 + place / 2);
            std::copy_n(old.begin() + range.offset + from * features, features,
                        file.genome.weights.begin() + range.offset + row * features);
        }
    }
    EXPECT_GT(difference(file, "llama"), 1e-2);
}

TEST_F(ModelConversion, PositionsOfLongerSequencesAreScaled) {
    NetworkFile file = read("llama3");
    EXPECT_LT(difference(file, "llama3"), tolerance);
    ASSERT_EQ(convert({path("llama3.cmb"), path("out"), "--family", "llama"}).code, 0);
    nlohmann::json config;
    std::ifstream(path("out/config.json")) >> config;
    EXPECT_EQ(config["rope_scaling"], nlohmann::json::parse(R"({"rope_type": "llama3", "factor": 8,
        "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 40})"));
    // Unscaled it is another model.
    for (auto& slot : file.genome.blueprint.slots)
        if (auto* residual = slot ? std::get_if<Residual>(&slot->layer.variant()) : nullptr)
            if (auto* attention = std::get_if<MultiHeadAttention>(&residual->layers[1].variant()))
                attention->rope_factor = 1.0F;
    EXPECT_GT(difference(file, "llama3"), 1e-3);
}

TEST_F(ModelConversion, PositionsAreScaledByYarn) {
    const auto scaling = [&](const std::string& name) {
        static_cast<void>(read(name));
        const std::string family = name.starts_with("llama") ? "llama" : "qwen";
        EXPECT_EQ(convert({path(name + ".cmb"), path(name), "--family", family}).code, 0);
        nlohmann::json config;
        std::ifstream(path(name + "/config.json")) >> config;
        return config["rope_scaling"];
    };
    EXPECT_EQ(scaling("llama_yarn"), nlohmann::json::parse(R"({"rope_type": "yarn", "factor": 8,
        "beta_fast": 4, "beta_slow": 0.5, "attention_factor": 1.5, "truncate": false,
        "original_max_position_embeddings": 20})"));
    // What is usual is not written.
    EXPECT_EQ(scaling("qwen2_yarn"), nlohmann::json::parse(R"({"rope_type": "yarn", "factor": 4,
        "beta_fast": 32, "beta_slow": 1, "original_max_position_embeddings": 40})"));
    // With another ramp or gain it is another model.
    for (const auto& change : std::vector<void (*)(MultiHeadAttention&)>{
             [](MultiHeadAttention& attention) { attention.rope_yarn = false; },
             [](MultiHeadAttention& attention) { attention.rope_gain = 1.0F; },
             [](MultiHeadAttention& attention) { attention.rope_truncate = true; }}) {
        NetworkFile file = read("llama_yarn");
        for (auto& slot : file.genome.blueprint.slots)
            if (auto* residual = slot ? std::get_if<Residual>(&slot->layer.variant()) : nullptr)
                if (auto* attention =
                        std::get_if<MultiHeadAttention>(&residual->layers[1].variant()))
                    change(*attention);
        EXPECT_GT(difference(file, "llama_yarn"), 1e-4);
    }
}

/// The factor of scores may be told by two weights, and the first length by that of positions.
TEST_F(ModelConversion, YarnHasWhatIsUsualWhereAConfigDoesNotSay) {
    static_cast<void>(read("llama_yarn"));
    ASSERT_EQ(convert({path("llama_yarn.cmb"), path("out"), "--family", "llama"}).code, 0);
    nlohmann::json config;
    std::ifstream(path("out/config.json")) >> config;
    config["rope_scaling"] = {{"type", "yarn"},
                              {"factor", 4},
                              {"mscale", 1},
                              {"mscale_all_dim", 2},
                              {"attention_factor", nullptr}};
    directory_.write("out/config.json", config.dump());
    ASSERT_EQ(convert({path("out"), path("again.cmb")}).code, 0);
    const NetworkFile file = read_network(path("again.cmb"));
    const auto& residual = std::get<Residual>(file.genome.blueprint.slots[1]->layer.variant());
    const auto& attention = std::get<MultiHeadAttention>(residual.layers[1].variant());
    // It was written to see as far as it was scaled, and sees as far again.
    EXPECT_EQ(attention.rope_original, 160);
    EXPECT_EQ(attention.window, 640);
    EXPECT_EQ(attention.rope_low, 1.0F);
    EXPECT_EQ(attention.rope_high, 32.0F);
    EXPECT_TRUE(attention.rope_truncate);
    const double ln = std::log(4.0);
    EXPECT_FLOAT_EQ(attention.rope_gain, static_cast<float>((0.1 * ln + 1.0) / (0.2 * ln + 1.0)));
}

TEST_F(ModelConversion, MasksAreLeftOutAndCounted) {
    static_cast<void>(read("gpt2"));
    EXPECT_THAT(said_, HasSubstr("left out: 4 tensors that hold nothing learnt"));
}

TEST_F(ModelConversion, OutAndInAgainIsExact) {
    for (const auto& [name, family] : with_config) {
        const NetworkFile file = read(name);
        const std::string folder = path(name + "-out");
        const Result written = convert({path(name + ".cmb"), folder, "--family", family});
        ASSERT_EQ(written.code, 0) << written.err;
        ASSERT_EQ(convert({folder, path("again.cmb")}).code, 0);
        EXPECT_EQ(read_network(path("again.cmb")), file) << name;
    }
    for (const auto& [name, options] : without_config) {
        const NetworkFile file = read(name, options);
        const std::string folder = path(name + "-out");
        const Result written =
            convert({path(name + ".cmb"), folder, "--family", "torch", "--shard-size", "100"});
        ASSERT_EQ(written.code, 0) << written.err;
        EXPECT_TRUE(std::filesystem::exists(folder + "/model.safetensors.index.json")) << name;
        ASSERT_EQ(convert({folder, path("again.cmb")}).code, 0);
        EXPECT_EQ(read_network(path("again.cmb")), file) << name;
    }
}

TEST_F(ModelConversion, TheWindowOfMistralStays) {
    static_cast<void>(read("mistral"));
    ASSERT_EQ(convert({path("mistral.cmb"), path("out"), "--family", "mistral"}).code, 0);
    const auto config = [&] {
        return nlohmann::json::parse(std::ifstream(path("out/config.json")));
    };
    const auto golden = nlohmann::json::parse(
        std::ifstream(cambrian::test::golden_model("mistral") / "config.json"));
    EXPECT_EQ(config()["model_type"], "mistral");
    EXPECT_EQ(config()["sliding_window"], golden["sliding_window"]);

    const auto window_with = [&](const nlohmann::json& changed) {
        std::ofstream(path("out/config.json")) << changed;
        EXPECT_EQ(convert({path("out"), path("again.cmb")}).code, 0);
        const NetworkFile file = read_network(path("again.cmb"));
        const auto& block = std::get<Residual>(file.genome.blueprint.slots[1]->layer.variant());
        return std::get<MultiHeadAttention>(block.layers[1].variant()).window;
    };
    nlohmann::json changed = config();
    changed["max_position_embeddings"] = 9000;
    changed["sliding_window"] = nullptr;
    EXPECT_EQ(window_with(changed), 9000);
    changed.erase("sliding_window");
    EXPECT_EQ(window_with(changed), 4096);
}

TEST_F(ModelConversion, TensorsAreWrittenAsTheyWereRead) {
    static_cast<void>(read("llama"));
    ASSERT_EQ(convert({path("llama.cmb"), path("out"), "--family", "llama"}).code, 0);
    Safetensors before = read_safetensors(cambrian::test::golden_model("llama") /
                                          "model-00001-of-00002.safetensors");
    before.tensors.merge(
        read_safetensors(cambrian::test::golden_model("llama") / "model-00002-of-00002.safetensors")
            .tensors);
    EXPECT_EQ(read_safetensors(path("out/model.safetensors")), before);

    static_cast<void>(read("qwen2"));
    ASSERT_EQ(convert({path("qwen2.cmb"), path("half"), "--family", "qwen", "--dtype", "F16"}).code,
              0);
    EXPECT_EQ(read_safetensors(path("half/model.safetensors")),
              read_safetensors(cambrian::test::golden_model("qwen2") / "model.safetensors"));
}

TEST_F(ModelConversion, TiedWeightsAreToldAndWrittenOnce) {
    NetworkFile file = read("qwen2");
    EXPECT_EQ(std::get<Dense>(file.genome.blueprint.head.variant()).tied, "slot.0.table");
    EXPECT_THAT(said_,
                HasSubstr("tied: \"model.embed_tokens.weight\" is the embedding and the head"));
    const Result written = convert({path("qwen2.cmb"), path("out"), "--family", "qwen"});
    EXPECT_THAT(written.out, HasSubstr("tied: embedding and head have the same weights"));
    EXPECT_FALSE(
        read_safetensors(path("out/model.safetensors")).tensors.contains("lm_head.weight"));
    // A copy may be there, and must be one.
    Safetensors content = read_safetensors(path("out/model.safetensors"));
    content.tensors["lm_head.weight"] = content.at("model.embed_tokens.weight");
    write_safetensors(path("out/model.safetensors"), content);
    EXPECT_EQ(convert({path("out"), path("again.cmb")}).code, 0);
    content.tensors["lm_head.weight"].bytes[0] ^= std::byte{1};
    write_safetensors(path("out/model.safetensors"), content);
    EXPECT_THAT(fails(3, {path("out"), path("again.cmb")}),
                HasSubstr("tensors \"lm_head.weight\" and \"model.embed_tokens.weight\" differ"));

    // A network with two copies that are equal is written as one tensor, too; others are two.
    std::get<Dense>(file.genome.blueprint.head.variant()).tied.clear();
    std::vector<float>& weights = file.genome.weights;
    constexpr std::ptrdiff_t table = 12 * 8;
    const std::vector<float> copy(weights.begin(), weights.begin() + table);
    weights.insert(weights.end(), copy.begin(), copy.end());
    write_network(path("copies.cmb"), file);
    ASSERT_EQ(convert({path("copies.cmb"), path("one"), "--family", "qwen"}).code, 0);
    EXPECT_FALSE(
        read_safetensors(path("one/model.safetensors")).tensors.contains("lm_head.weight"));
    weights.back() += 1.0F;
    write_network(path("copies.cmb"), file);
    ASSERT_EQ(convert({path("copies.cmb"), path("two"), "--family", "qwen"}).code, 0);
    EXPECT_TRUE(read_safetensors(path("two/model.safetensors")).tensors.contains("lm_head.weight"));
}

TEST_F(ModelConversion, NothingIsDroppedOrMadeUp) {
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

TEST_F(ModelConversion, ConfigsThatAskForMoreAreRefused) {
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

TEST_F(ModelConversion, StateSpacesThatAskForMoreAreRefused) {
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

TEST_F(ModelConversion, WhatShapesDoNotTellIsAskedFor) {
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

TEST_F(ModelConversion, EveryTensorIsInTheTable) {
    static_cast<void>(read("recurrent"));
    const Safetensors content =
        read_safetensors(cambrian::test::golden_model("recurrent") / "model.safetensors");
    for (const auto& [name, tensor] : content.tensors)
        EXPECT_THAT(said_, HasSubstr(name + " " + tensor.shape.text()));
    EXPECT_THAT(said_, HasSubstr("a.l0: lstm in=3 hidden=4"));
    EXPECT_THAT(said_, HasSubstr("d: dense in=4 out=2"));
}

TEST_F(ModelConversion, NetworksOfAnotherStructureAreNotWrittenAsAFamily) {
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

TEST_F(ModelConversion, OptionsHaveTheirPlace) {
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

TEST_F(ModelConversion, CommandsTakeWhatWasRead) {
    static_cast<void>(read("llama"));
    EXPECT_THAT(run({"inspect", path("llama.cmb")}).out, HasSubstr("multi_head_attention"));
    const std::string rows = directory_.write("ids.csv", "id\n3\n1\n4\n");
    const Result result = run({"infer", path("llama.cmb"), "--input", rows});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 4) << result.out;
}

}  // namespace
}  // namespace cambrian::launch

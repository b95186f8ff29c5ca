#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/tests/launch/conversion/model_conversion_support.hpp"

// Models of others, read and written as they are.
namespace cambrian::launch::model_test {
namespace {

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

/// What GPT-2 is between its layers, by the name that the library transformers has for it.
TEST_F(ModelConversion, ActivationsAreThoseThatAConfigNames) {
    const NetworkFile tanh_form = read("gpt2");
    ASSERT_EQ(convert({path("gpt2.cmb"), path("out"), "--family", "gpt2"}).code, 0);
    auto config = nlohmann::json::parse(std::ifstream(path("out/config.json")));
    EXPECT_EQ(config["activation_function"], "gelu_new");
    const auto activation_of = [](const NetworkFile& file) {
        const auto& block = std::get<Residual>(file.genome.blueprint.slots[2]->layer.variant());
        return std::get<Dense>(block.layers[1].variant()).activation;
    };
    for (const auto& [theirs, ours, written] :
         std::vector<std::tuple<std::string, Activation, std::string>>{
             {"gelu", Activation::exact_gelu, "gelu"},
             {"gelu_python", Activation::exact_gelu, "gelu"},
             {"gelu_pytorch_tanh", Activation::gelu, "gelu_new"},
             {"gelu_fast", Activation::gelu, "gelu_new"},
             {"relu", Activation::relu, "relu"}}) {
        config["activation_function"] = theirs;
        directory_.write("out/config.json", config.dump());
        ASSERT_EQ(convert({path("out"), path("again.cmb")}).code, 0) << theirs;
        const NetworkFile file = read_network(path("again.cmb"));
        EXPECT_EQ(activation_of(file), ours) << theirs;
        EXPECT_EQ(file.genome.weights, tanh_form.genome.weights) << theirs;
        const std::string folder = path(theirs);
        ASSERT_EQ(convert({path("again.cmb"), folder, "--family", "gpt2"}).code, 0) << theirs;
        const auto said = nlohmann::json::parse(std::ifstream(folder + "/config.json"));
        EXPECT_EQ(said["activation_function"], written) << theirs;
    }
    config.erase("activation_function");
    directory_.write("out/config.json", config.dump());
    ASSERT_EQ(convert({path("out"), path("again.cmb")}).code, 0);
    EXPECT_EQ(read_network(path("again.cmb")), tanh_form) << "what GPT-2 is where nothing is said";
    config["activation_function"] = "quick_gelu";
    directory_.write("out/config.json", config.dump());
    EXPECT_THAT(fails(3, {path("out"), path("again.cmb")}),
                HasSubstr("\"activation_function\" is \"quick_gelu\" (computed here is gelu_new"));
    // What has no name there is no model of the family.
    NetworkFile file = tanh_form;
    for (auto& slot : file.genome.blueprint.slots)
        if (auto* block = slot ? std::get_if<Residual>(&slot->layer.variant()) : nullptr)
            if (auto* first = std::get_if<Dense>(&block->layers[1].variant()))
                first->activation = Activation::mish;
    write_network(path("mish.cmb"), file);
    EXPECT_THAT(fails(2, {path("mish.cmb"), path("none"), "--family", "gpt2"}),
                HasSubstr("cannot be written as gpt2 (layer 2 is"));
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

TEST_F(ModelConversion, EveryTensorIsInTheTable) {
    static_cast<void>(read("recurrent"));
    const Safetensors content =
        read_safetensors(cambrian::test::golden_model("recurrent") / "model.safetensors");
    for (const auto& [name, tensor] : content.tensors)
        EXPECT_THAT(said_, HasSubstr(name + " " + tensor.shape.text()));
    EXPECT_THAT(said_, HasSubstr("a.l0: lstm in=3 hidden=4"));
    EXPECT_THAT(said_, HasSubstr("d: dense in=4 out=2"));
}

TEST_F(ModelConversion, GroupsOfATransposedConvolutionSeeTheirOwnChannels) {
    // Two groups of one channel with two outputs each: w[in, out / groups].
    Tensor weight(ValueType::real, Shape{2, 2, 1});
    weight.elements = {1, 2, 3, 4};
    Safetensors content;
    content.tensors.emplace("up.weight", StoredTensor::of(weight));
    write_safetensors(path("up.safetensors"), content);
    const Result read =
        convert({path("up.safetensors"), path("up.cmb"), "--family", "torch", "--with",
                 "up.type=conv_transpose1d", "--with", "stride=1", "--with", "padding=0", "--with",
                 "dilation=1", "--with", "groups=2", "--input", "2,1"});
    ASSERT_EQ(read.code, 0) << read.err;
    const std::string rows = directory_.write("up.csv", "a,b\n1,10\n");
    EXPECT_THAT(run({"infer", path("up.cmb"), "--raw", "--input", rows}).out,
                testing::EndsWith("\n1,2,30,40\n"));
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
}  // namespace cambrian::launch::model_test

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"
#include "cambrian/tests/support/model_support.hpp"

namespace cambrian::launch {
namespace {

using distributed::NetworkFile;
using distributed::read_network;
using test::Result;
using test::run;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// What a folder for other programs keeps of a network, says of it, or refuses.
class ModelFolder : public testing::Test {
  protected:
    /// A golden model as a network.
    NetworkFile read(const std::string& name, const std::vector<std::string>& options = {}) {
        std::vector<std::string> arguments{cambrian::test::golden_model(name).string(),
                                           path("model.cmb")};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return converted(arguments, path("model.cmb"));
    }
    /// Through a folder and back.
    NetworkFile again(const NetworkFile& file, const std::string& family) {
        write_network(path("written.cmb"), file);
        std::filesystem::remove_all(path("out"));
        const Result written =
            run({"convert", path("written.cmb"), path("out"), "--family", family});
        EXPECT_EQ(written.code, 0) << written.err;
        said_ = written.out;
        return converted({path("out"), path("again.cmb")}, path("again.cmb"));
    }
    NetworkFile converted(std::vector<std::string> arguments, const std::string& output) {
        arguments.insert(arguments.begin(), "convert");
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        return read_network(output);
    }
    std::string refused(const NetworkFile& file, const std::vector<std::string>& options) {
        write_network(path("written.cmb"), file);
        std::vector<std::string> arguments{"convert", path("written.cmb"), path("out")};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 2) << result.out;
        EXPECT_FALSE(std::filesystem::exists(path("out")));
        return result.err;
    }
    [[nodiscard]] std::string path(const std::string& name) const { return directory_.file(name); }
    [[nodiscard]] nlohmann::json config() const {
        return nlohmann::json::parse(std::ifstream(path("out/config.json")));
    }

    test::TemporaryDirectory directory_;
    std::string said_;
};

NetworkFile quantised_by(NetworkFile file, LayerFormats formats) {
    for_each_formats(file.genome.blueprint, [&](LayerFormats& own) { own = formats; });
    return file;
}

TEST_F(ModelFolder, HoldsTheNumbersThatCodesStandFor) {
    const std::vector<std::pair<NetworkFile, std::string>> cases{
        {read("llama"), "llama"},
        {read("qwen2"), "qwen"},  // Tied.
        {read("mlp", {"--activation", "relu"}), "torch"}};
    for (const auto& [file, family] : cases) {
        const NetworkFile quantised = quantised_by(file, {.weights = Dtype::int4});
        const NetworkFile back = again(quantised, family);
        EXPECT_EQ(back.genome.weights,
                  evaluated_weights(Network(quantised.genome.blueprint), quantised.genome.weights))
            << family;
        EXPECT_NE(back.genome.weights, file.genome.weights) << family;
        EXPECT_EQ(back.genome.blueprint, file.genome.blueprint) << family;
        EXPECT_THAT(said_, HasSubstr("codes of int4 stand for: no format of weights is kept"));
        EXPECT_THAT((again(file, family), said_), Not(HasSubstr("number formats"))) << family;
    }
}

TEST_F(ModelFolder, HasFormatsOfRowsInAConfigOfOurs) {
    const NetworkFile llama = quantised_by(read("llama"), {.activations = Dtype::int8});
    const NetworkFile mlp = quantised_by(read("mlp", {"--activation", "relu"}),
                                         {.weights = Dtype::int8, .activations = Dtype::int8});
    EXPECT_THAT(refused(llama, {"--family", "llama"}), HasSubstr("its rows have a number format"));
    const NetworkFile back = again(mlp, "torch");
    EXPECT_EQ(back.genome.blueprint,
              quantised_by(mlp, {.activations = Dtype::int8}).genome.blueprint);
    EXPECT_EQ(back.genome.weights,
              evaluated_weights(Network(mlp.genome.blueprint), mlp.genome.weights));
    EXPECT_THAT(said_, HasSubstr("codes of int8 stand for"));
    const NetworkFile rows = quantised_by(mlp, {.activations = Dtype::int8});
    EXPECT_EQ(again(rows, "torch"), rows);
    EXPECT_THAT(said_, Not(HasSubstr("codes of")));
}

TEST_F(ModelFolder, HasTypesThatCanBeRead) {
    const NetworkFile file = read("llama");
    for (const char* type : {"F8_E4M3", "F4"})
        EXPECT_THAT(refused(file, {"--family", "llama", "--dtype", type, "--force"}),
                    HasSubstr(std::string("cannot hold ") + type +
                              " (programs read its tensors from F32, F16, BF16, F64)"));
    for (const auto& [type, name] : std::vector<std::pair<std::string, std::string>>{
             {"F32", "float32"}, {"F16", "float16"}, {"BF16", "bfloat16"}, {"F64", "float64"}}) {
        std::filesystem::remove_all(path("out"));
        write_network(path("written.cmb"), file);
        ASSERT_EQ(
            run({"convert", path("written.cmb"), path("out"), "--family", "llama", "--dtype", type})
                .code,
            0);
        EXPECT_EQ(config()["torch_dtype"], name);
        ASSERT_EQ(run({"convert", path("out"), path("again.cmb")}).code, 0) << type;
    }
}

TEST_F(ModelFolder, AConfigOfOursMayBeAsLongAsANetworkNeeds) {
    const NetworkFile file = again(read("mlp", {"--activation", "relu"}), "torch");
    directory_.write("out/config.json", std::string(std::size_t{16} << 20U, ' ') + config().dump());
    EXPECT_EQ(converted({path("out"), path("again.cmb")}, path("again.cmb")), file);
}

TEST_F(ModelFolder, SaysHowRowsArePrepared) {
    NetworkFile file = read("mlp", {"--activation", "relu"});
    file.preparation = evolve::plain_preparation(file.genome.blueprint);
    EXPECT_FALSE(again(file, "torch").preparation) << "what is plain goes without saying";
    EXPECT_THAT(said_, Not(HasSubstr("prepared")));

    file.preparation->outputs[0] = {"y", {1e-9, 1.0 / 3.0}, ""};
    EXPECT_EQ(again(file, "torch").preparation, file.preparation);
    EXPECT_THAT(said_, HasSubstr("rows are prepared before this network, as its config.json says"));
    nlohmann::json damaged = config();
    damaged["preparation"]["outputs"].clear();
    directory_.write("out/config.json", damaged.dump());
    const Result result = run({"convert", path("out"), path("again.cmb")});
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, HasSubstr("\"preparation\" cannot be read"));

    file.preparation->outputs[0].name = "\xff";
    EXPECT_FALSE(again(file, "torch").preparation);
    EXPECT_THAT(said_,
                HasSubstr("which the folder does not say, as a column has no name in UTF-8"));

    NetworkFile llama = read("llama");
    llama.preparation = evolve::plain_preparation(llama.genome.blueprint);
    llama.preparation->sequence_rows = 5;
    EXPECT_FALSE(again(llama, "llama").preparation);
    EXPECT_THAT(said_, AllOf(HasSubstr("rows are prepared before this network, which the folder "
                                       "does not say"),
                             HasSubstr("`inspect`")));
}

/// The attention of the first block.
MultiHeadAttention& attention_of(NetworkFile& file) {
    auto& block = std::get<Residual>(file.genome.blueprint.slots[1]->layer.variant());
    return std::get<MultiHeadAttention>(block.layers[1].variant());
}
std::int64_t window_of(NetworkFile file) {
    return attention_of(file).window;
}

TEST_F(ModelFolder, LinearPositionsSeeTheScaledLength) {
    const NetworkFile file = read("llama_linear");
    EXPECT_EQ(window_of(file), 4 * 64);
    EXPECT_EQ(again(file, "llama"), file);
    EXPECT_EQ(config()["max_position_embeddings"], 64);
    EXPECT_THAT(
        said_,
        HasSubstr("max_position_embeddings is 64, the window of 256 divided by the factor 4"));

    // A factor that is no whole number rounds down, and is still found again.
    nlohmann::json changed = config();
    changed["max_position_embeddings"] = 9;
    changed["rope_scaling"]["factor"] = 1.1;
    directory_.write("out/config.json", changed.dump());
    const NetworkFile short_one = converted({path("out"), path("again.cmb")}, path("again.cmb"));
    EXPECT_EQ(window_of(short_one), 9);
    EXPECT_EQ(again(short_one, "llama"), short_one);
    EXPECT_EQ(config()["max_position_embeddings"], 9);

    // A window of its own stays.
    nlohmann::json sliding = config();
    sliding["model_type"] = "mistral";
    sliding["num_key_value_heads"] = 2;
    sliding["sliding_window"] = 7;
    sliding["rope_scaling"]["factor"] = 4.0;
    directory_.write("out/config.json", sliding.dump());
    const NetworkFile mistral = converted({path("out"), path("again.cmb")}, path("again.cmb"));
    EXPECT_EQ(window_of(mistral), 7);
    EXPECT_EQ(again(mistral, "mistral"), mistral);
    EXPECT_EQ(config()["max_position_embeddings"], 7);
    EXPECT_EQ(config()["sliding_window"], 7);
    EXPECT_THAT(said_, Not(HasSubstr("max_position_embeddings")));
}

TEST_F(ModelFolder, WindowsOfNoWholePositionsAreRefused) {
    NetworkFile file = read("llama_linear");
    const auto with = [&](std::int64_t window, float factor) {
        attention_of(file).window = window;
        attention_of(file).rope_factor = factor;
        return file;
    };
    EXPECT_THAT(refused(with(100, 3.0F), {"--family", "llama"}),
                HasSubstr("a window of 100 (rope_factor 3 times a whole number of positions, "
                          "rounded down, gives 99 or 102)"));
    EXPECT_THAT(refused(with(2, 3.0F), {"--family", "llama"}), HasSubstr("gives 3)"));
    for (const std::int64_t window : {99, 102}) {
        static_cast<void>(again(with(window, 3.0F), "llama"));
        EXPECT_EQ(config()["max_position_embeddings"], window / 3);
    }
    // One from before windows were scaled.
    static_cast<void>(again(with(64, 4.0F), "llama"));
    EXPECT_THAT(said_, HasSubstr("max_position_embeddings is 16, the window of 64 divided by"));
}

}  // namespace
}  // namespace cambrian::launch

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using distributed::NetworkFile;
using distributed::read_network;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

/// A genome with nested layers, a disabled slot and links of both kinds and of both parameters.
NetworkFile rich_network() {
    RandomStream rng(random_key(3, "test"), 0);
    NetworkFile file;
    file.genome = evolve::sample_genome(blueprint_from_json(nlohmann::json::parse(R"({
            "input": [1, 2, 3], "grid": {"depth": 2, "rows": 1, "cols": 2, "layers_per_cell": 2},
            "layers": [
                {"type": "dense", "out": 4, "activation": "tanh", "at": [0, 0, 0, 1]},
                {"type": "rms_norm", "epsilon": 0.1, "at": [0, 0, 1, 1], "enabled": false},
                {"type": "sequential", "at": [1, 0, 0, 0], "layers": [
                    {"type": "dense", "out": 5}, {"type": "gru", "hidden": 4}]},
                {"type": "dense", "out": 2}],
            "links": [{"source": "input", "target": 3}, {"source": 3, "target": 4},
                      {"source": 4, "target": 1, "kind": "backward"}]})")),
                                        rng, 7);
    for (float& weight : file.genome.weights) weight = static_cast<float>(rng.normal());
    file.genome.link_genes.back().born = 11;
    file.identity_json = R"({"run":{"seed":5},"task":{"type":"xor"}})";
    file.generation = 12;
    file.birth = 345;
    file.fitness = 0.1;
    file.validated = -2.5;
    file.preparation = evolve::plain_preparation(file.genome.blueprint);
    for (std::size_t i = 0; i < file.preparation->inputs.size(); ++i)
        file.preparation->inputs[i] = {"x" + std::to_string(i), {0.1, 1.0 / 3.0}, 1.0 / 255.0};
    file.preparation->outputs[0] = {"y", {1e-9, -2.0}, "x1"};
    file.preparation->sequence_rows = 5;
    return file;
}

class Convert : public testing::Test {
  protected:
    /// The text of the error that a conversion ends with.
    std::string fails(int code, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "convert");
        const Result result = run(arguments);
        EXPECT_EQ(result.code, code) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, testing::StartsWith("cambrian: error: "));
        return result.err;
    }
    void converts(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "convert");
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.out, testing::StartsWith(arguments[2] + ": "));
    }
    /// All weights of a file, back from its tensors.
    std::vector<float> read_tensors(const std::string& tensors) {
        converts({tensors, path("back.cmb")});
        return read_network(path("back.cmb")).genome.weights;
    }
    [[nodiscard]] std::string path(const std::string& name) const { return directory_.file(name); }

    TemporaryDirectory directory_;
};

TEST_F(Convert, TensorsAndBackGiveTheSameFile) {
    const NetworkFile file = rich_network();
    write_network(path("a.cmb"), file);
    for (const std::string dtype : {"F32", "F64"}) {
        converts({path("a.cmb"), path("a.safetensors"), "--dtype", dtype});
        converts({path("a.safetensors"), path("b.cmb")});
        EXPECT_EQ(read_network(path("b.cmb")), file) << dtype;
    }
}

TEST_F(Convert, TensorsAreNamedByTheirPaths) {
    const NetworkFile file = rich_network();
    write_network(path("a.cmb"), file);
    converts({path("a.cmb"), path("a.safetensors")});
    const Safetensors content = read_safetensors(path("a.safetensors"));
    const Network network(file.genome.blueprint);
    ASSERT_EQ(content.tensors.size(), network.weights().size());
    EXPECT_EQ(content.at("slot.1.weight").shape, Shape({4, 6}));
    EXPECT_EQ(content.at("slot.4.layers.1.weight_ih").shape, Shape({12, 5}));
    EXPECT_EQ(content.at("link.0.projection").shape, Shape({4, 6}));
    EXPECT_EQ(content.at("link.1.gain").shape, Shape({4}));
    const Tensor bias = content.at("head.bias").tensor();
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        if (network.weight_name(i) != "head.bias") continue;
        EXPECT_EQ(static_cast<float>(bias.elements[1]),
                  file.genome.weights[static_cast<std::size_t>(network.weights()[i].offset) + 1]);
    }
}

TEST_F(Convert, RoundedWeightsLoseTheirFitness) {
    const NetworkFile file = rich_network();
    write_network(path("a.cmb"), file);
    for (const std::string dtype :
         {"F16", "BF16", "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"}) {
        converts({path("a.cmb"), path("a.safetensors"), "--dtype", dtype});
        converts({path("a.safetensors"), path("b.cmb")});
        const NetworkFile back = read_network(path("b.cmb"));
        EXPECT_EQ(back.genome.blueprint, file.genome.blueprint);
        EXPECT_EQ(back.genome.slot_genes, file.genome.slot_genes);
        EXPECT_EQ(back.genome.link_genes, file.genome.link_genes);
        EXPECT_EQ(back.identity_json, file.identity_json);
        EXPECT_EQ(back.fitness, evolve::worst_fitness);
        EXPECT_FALSE(back.validated);
        ASSERT_EQ(back.genome.weights.size(), file.genome.weights.size());
        EXPECT_NE(back.genome.weights, file.genome.weights);
        for (std::size_t i = 0; i < back.genome.weights.size(); ++i)
            EXPECT_NEAR(back.genome.weights[i], file.genome.weights[i],
                        0.13F * std::abs(file.genome.weights[i]) + 0.01F);
    }
    for (const std::string dtype : {"U8", "C64", "F8_E8M0"})
        EXPECT_THAT(fails(2, {path("a.cmb"), path("c.safetensors"), "--dtype", dtype}),
                    HasSubstr("--dtype is " + dtype +
                              " (weights are real: F4, F6_E2M3, F6_E3M2, F8_E5M2, F8_E4M3, "
                              "F8_E4M3FNUZ, F8_E5M2FNUZ, F16, BF16, F32, F64)"));
    EXPECT_FALSE(std::filesystem::exists(path("c.safetensors")));
}

TEST_F(Convert, WeightsThatWouldVanishAreRefused) {
    const std::string network = directory_.write(
        "relu.json",
        R"({"network": {"input": [64], "layers": [{"type": "dense", "out": 64, "activation": "relu"},
            {"type": "dense", "out": 2}]}})");
    converts({network, path("a.cmb")});
    const std::string refused = fails(2, {path("a.cmb"), path("a.safetensors"), "--dtype", "F4"});
    EXPECT_THAT(refused, HasSubstr("a.cmb cannot be stored as F4 ("));
    EXPECT_THAT(refused, HasSubstr("% of the weights become zero: it has no scales)"));
    EXPECT_THAT(refused, HasSubstr("--force"));
    EXPECT_FALSE(std::filesystem::exists(path("a.safetensors")));
    const Result forced =
        run({"convert", path("a.cmb"), path("a.safetensors"), "--dtype", "F4", "--force"});
    EXPECT_EQ(forced.code, 0) << forced.err;
    EXPECT_THAT(forced.out, HasSubstr("F4: "));
    EXPECT_THAT(forced.out, HasSubstr("% of the weights become zero"));
    const std::vector<float> back = read_tensors(path("a.safetensors"));
    const auto zeros = std::count(back.begin(), back.end(), 0.0F);
    EXPECT_GT(zeros, static_cast<std::ptrdiff_t>(back.size() / 2));
    const Result wider = run({"convert", path("a.cmb"), path("b.safetensors"), "--dtype", "F16"});
    EXPECT_EQ(wider.code, 0) << wider.err;
    EXPECT_THAT(wider.out, testing::Not(HasSubstr("become zero")));
}

TEST_F(Convert, ALayerThatWouldVanishInALargeNetworkIsRefused) {
    const std::string network = directory_.write("wide.json", R"({"network": {"input": [200],
        "layers": [{"type": "dense", "out": 128}, {"type": "dense", "out": 1}]}})");
    converts({network, path("a.cmb")});
    NetworkFile file = read_network(path("a.cmb"));
    // The matrix of the head, before its bias: 0.5 % of the weights.
    ASSERT_GT(file.genome.weights.size(), 200U * 128U);
    for (auto weight = file.genome.weights.end() - 129; weight != file.genome.weights.end();
         ++weight)
        *weight = *weight == 0.0F ? 0.0F : 1e-6F;
    write_network(path("a.cmb"), file);
    EXPECT_THAT(fails(2, {path("a.cmb"), path("a.safetensors"), "--dtype", "F8_E5M2"}),
                HasSubstr("of one of its parameters 100 % of the weights become zero"));
}

TEST_F(Convert, WeightsBeyondTheLargestAreRefused) {
    NetworkFile file = rich_network();
    for (float& weight : file.genome.weights) weight *= 1e5F;
    write_network(path("a.cmb"), file);
    for (const std::string dtype : {"F4", "F8_E4M3", "F16"}) {
        EXPECT_THAT(fails(2, {path("a.cmb"), path("a.safetensors"), "--dtype", dtype}),
                    HasSubstr("are beyond the largest number"))
            << dtype;
    }
    converts({path("a.cmb"), path("a.safetensors"), "--dtype", "BF16"});
}

TEST_F(Convert, ANetworkIsASectionOfAConfig) {
    const NetworkFile file = rich_network();
    write_network(path("a.cmb"), file);
    converts({path("a.cmb"), path("a.json")});
    converts({path("a.json"), path("b.cmb"), "--seed", "4"});
    converts({path("a.json"), path("c.cmb"), "--seed", "4"});
    converts({path("a.json"), path("d.cmb"), "--seed", "5"});
    const NetworkFile made = read_network(path("b.cmb"));
    EXPECT_EQ(made.genome.blueprint, file.genome.blueprint);
    EXPECT_EQ(made, read_network(path("c.cmb")));
    EXPECT_NE(made.genome.weights, read_network(path("d.cmb")).genome.weights);
    EXPECT_EQ(made.identity_json, "");

    converts({test::write_xor(directory_), path("xor.cmb")});
    converts({path("xor.cmb"), path("xor-network.json")});
    const std::string config = directory_.write(
        "again.json", R"({"extends": "xor-network.json", "task": {"type": "xor"}})");
    const Result valid = run({"validate", config});
    EXPECT_EQ(valid.code, 0) << valid.err;
    converts({config, path("again.cmb")});
    EXPECT_EQ(read_network(path("again.cmb")).genome, read_network(path("xor.cmb")).genome);
    EXPECT_EQ(run({"evaluate", path("xor.cmb")}).code, 0);
}

TEST_F(Convert, TakesTheBestOfATraining) {
    const Result trained =
        run({"train", std::string(CAMBRIAN_SOURCE_DIR) + "/configs/train_spirals.json", "--quiet",
             "--set", "training.epochs=3", "--set", "run.directory=" + path("run")});
    ASSERT_EQ(trained.code, 0) << trained.err;
    converts({path("run/best.cmb"), path("best.safetensors")});
    converts({path("best.safetensors"), path("again.cmb")});
    EXPECT_EQ(read_network(path("again.cmb")), read_network(path("run/best.cmb")));
}

TEST_F(Convert, TakesTensorsOfOthersByName) {
    const auto tensor = [](Shape shape, StoredType type = StoredType::f32) {
        Tensor result(ValueType::real, shape);
        for (std::size_t i = 0; i < result.elements.size(); ++i)
            result.elements[i] = 0.5 * static_cast<double>(i);
        return StoredTensor::of(result, type);
    };
    const std::string config = test::write_xor(directory_);
    Safetensors content;
    content.tensors = {{"model.fc1.weight", tensor({3, 2})},
                       {"model.fc1.bias", tensor({3}, StoredType::f64)},
                       {"model.last.weight", tensor({1, 3}, StoredType::bf16)},
                       {"model.last.b", tensor({1})}};
    const std::string theirs = path("torch.safetensors");
    write_safetensors(theirs, content);
    const std::vector<std::string> good{theirs,     path("mine.cmb"),   "--network", config,
                                        "--rename", "model=",           "--rename",  "fc1=slot.0",
                                        "--rename", "last.b=last.bias", "--rename",  "last=head"};
    converts(good);
    const NetworkFile mine = read_network(path("mine.cmb"));
    EXPECT_EQ(mine.genome.weights,
              (std::vector<float>{0, 0.5F, 1, 1.5F, 2, 2.5F, 0, 0.5F, 1, 0, 0.5F, 1, 0}));
    const Result evaluated = run({"evaluate", path("mine.cmb")});
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;

    const auto with = [&](const std::string& rule) {
        std::vector<std::string> arguments = good;
        arguments.insert(arguments.end(), {"--rename", rule});
        return arguments;
    };
    EXPECT_THAT(fails(2, with("hed=slot.2")), HasSubstr("--rename hed=slot.2 fits no tensor"));
    EXPECT_THAT(fails(2, with("slot.0.bais=slot.0.bias")), HasSubstr("did you mean slot.0.bias?"));
    EXPECT_THAT(fails(2, with("head=slot.0")), HasSubstr("the name slot.0."));
    EXPECT_THAT(fails(2, with("head")), HasSubstr("it says FROM=TO"));
    EXPECT_THAT(fails(3, with("head.bias=head.offset")),
                HasSubstr("(missing: \"head.bias\" [1]; there instead: \"head.offset\" [1])"));
    EXPECT_THAT(fails(3, {theirs, path("mine.cmb")}), HasSubstr("has no \"network\""));

    content.tensors.at("model.fc1.weight") = tensor({2, 3});
    write_safetensors(theirs, content);
    EXPECT_THAT(fails(3, good),
                HasSubstr("tensor \"slot.0.weight\" is [2, 3] (the network needs [3, 2])"));
    content.tensors.at("model.fc1.weight") = tensor({3, 2}, StoredType::i32);
    write_safetensors(theirs, content);
    EXPECT_THAT(fails(3, good), HasSubstr("tensor \"slot.0.weight\" holds I32 (weights are real)"));
    Tensor infinite(ValueType::real, {3, 2});
    infinite.elements[4] = 1e300;
    content.tensors.at("model.fc1.weight") = StoredTensor::of(infinite, StoredType::f64);
    write_safetensors(theirs, content);
    EXPECT_THAT(fails(3, good), HasSubstr("element 4 of tensor \"slot.0.weight\" is not finite"));
}

TEST_F(Convert, RefusesHostileMetadata) {
    write_network(path("a.cmb"), rich_network());
    converts({path("a.cmb"), path("a.safetensors")});
    const Safetensors good = read_safetensors(path("a.safetensors"));
    const std::string genes = good.metadata.at("genes");
    std::string twice = genes;
    twice.replace(twice.find("\"id\":\"") + 6, 32, twice.substr(twice.rfind("\"id\":\"") + 6, 32));
    std::string origin = good.metadata.at("origin");
    origin.replace(origin.find("\"birth\":345"), 11, "\"birth\":\"x\"");
    std::string negative = good.metadata.at("origin");
    negative.replace(negative.find("\"birth\":345"), 11, "\"birth\":-45");
    const std::string nested = std::string(100000, '[') + std::string(100000, ']');
    const std::string longest(100000, 'x');
    std::string residuals = R"({"type": "dense"})";
    for (int level = 0; level < 2000; ++level)
        residuals = R"({"type": "residual", "layers": [)" + residuals + "]}";
    residuals = R"({"input": [4], "layers": [)" + residuals + "]}";
    nlohmann::json identity = nlohmann::json::parse(good.metadata.at("origin"));
    identity["identity"] = R"({"task": )" + nested + "}";
    const std::string hostile_identity = identity.dump();
    const std::vector<std::array<std::string, 3>> cases{
        {"origin", negative, "birth is -45, which counts nothing"},
        {"network", "{", "\"network\" cannot be read"},
        {"network", "null", "network.input is absent"},
        {"network", R"({"input": [4], "layers": [{"type": "dens"}]})", "did you mean"},
        {"network", R"({"input": [16777216, 16777216], "layers": [{"type": "dense"}]})",
         "too large"},
        {"network", R"({"input": [6], "layers": [{"type": "dense", "out": 2}]})",
         "there instead: \"link.0.projection\""},
        {"network",
         R"({"input": [6], "grid": {"depth": 1048577}, "layers": [{"type": "dense", "out": 2}]})",
         "network.grid.depth"},
        {"genes", "[]", "the network has 7 genes"},
        {"genes", "[1, 2, 3, 4, 5, 6, 7]", "\"genes\" cannot be read"},
        {"genes", twice, "two genes share the id"},
        {"origin", origin, "\"origin\" cannot be read"},
        {"origin", std::string(100000, '['), "\"origin\" cannot be read"},
        {"network", nested, "\"network\" cannot be read (nested too deeply"},
        {"network", R"({"input": [4], "layers": )" + nested + "}", "nested too deeply"},
        {"network", R"({"input": [4], "layers": [{"type": "dense", "out": )" + nested + "}]}",
         "nested too deeply"},
        {"network", residuals, "nested too deeply"},
        {"network", R"({"input": [4], "layers": [{"type": ")" + longest + "\"}]}",
         "is not a layer type"},
        {"network",
         R"({"input": [4], "layers": [{"type": "dense", "out": 2}], ")" + longest + R"(": 1})",
         "is not a key"},
        {"genes", nested, "\"genes\" cannot be read (nested too deeply"},
        {"genes", R"([{"id": )" + nested + "}]", "nested too deeply"},
        {"origin", nested, "\"origin\" cannot be read (nested too deeply"},
        {"origin", R"({"identity": )" + nested + "}", "nested too deeply"},
        {"origin", R"({"identity": "", "generation": 1, "birth": )" + nested + "}",
         "nested too deeply"},
        {"origin", hostile_identity, "its identity is no config: nested too deeply"}};
    for (const auto& [key, text, message] : cases) {
        SCOPED_TRACE(key + ' ' + text.substr(0, 100));
        Safetensors bad = good;
        bad.metadata[key] = text;
        write_safetensors(path("bad.safetensors"), bad);
        const std::string said = fails(3, {path("bad.safetensors"), path("bad.cmb")});
        EXPECT_THAT(said, HasSubstr(message));
        EXPECT_LT(said.size(), 1500U);
        EXPECT_FALSE(std::filesystem::exists(path("bad.cmb")));
    }
    // A network that says it is huge beside a small file costs nothing.
    Safetensors huge = good;
    huge.metadata["network"] =
        R"({"input": [1048576], "layers": [{"type": "dense", "out": 1048576, "bias": false}]})";
    huge.tensors = {{"head.weight", StoredTensor::of(Tensor(ValueType::real, {2, 2}))}};
    write_safetensors(path("huge.safetensors"), huge);
    EXPECT_THAT(fails(3, {path("huge.safetensors"), path("bad.cmb")}),
                HasSubstr("[2, 2] (the network needs [1048576, 1048576])"));
}

TEST_F(Convert, ReadersRefuseAnIdentityThatIsNone) {
    NetworkFile file = rich_network();
    for (const auto& [identity, message] : std::vector<std::pair<std::string, std::string>>{
             {"[", "its identity is no config"},
             {"[]", "its identity is no config"},
             {R"({"task":)" + std::string(100000, '['), "its identity is no config"},
             {R"({"task":)" + std::string(100000, '[') + std::string(100000, ']') + "}",
              "its identity is no config: nested too deeply"},
             {R"({"run":{"seed":1e400},"task":{"type":"xor"}})", "the number 1e400"},
             {R"({"run":{"seed":1},"task":{"type":3}})", "its identity names no task"},
             {R"({"run":[],"task":{"type":"xor"}})", "its identity has no seed"}}) {
        file.identity_json = identity;
        write_network(path("bad.cmb"), file);
        const Result result = run({"inspect", path("bad.cmb")});
        EXPECT_EQ(result.code, 3) << identity.substr(0, 100);
        EXPECT_THAT(result.err, HasSubstr(message));
    }
}

TEST_F(Convert, APreparationOfAnotherNetworkOrNoneIsRefused) {
    write_network(path("a.cmb"), rich_network());
    converts({path("a.cmb"), path("a.safetensors")});
    Safetensors content = read_safetensors(path("a.safetensors"));
    const std::string good = content.metadata.at("preparation");
    for (const std::string& bad : std::vector<std::string>{
             "", "3", "[]", "{}", R"({"inputs":[],"outputs":[],"classes":[],"sequence_rows":0})",
             R"({"inputs":3})", good.substr(0, good.size() / 2)}) {
        content.metadata["preparation"] = bad;
        write_safetensors(path("bad.safetensors"), content);
        EXPECT_THAT(fails(3, {path("bad.safetensors"), path("bad.cmb")}),
                    HasSubstr("its metadata \"preparation\" cannot be read"))
            << bad;
    }
    content.metadata.erase("preparation");
    write_safetensors(path("none.safetensors"), content);
    converts({path("none.safetensors"), path("none.cmb")});
    EXPECT_FALSE(read_network(path("none.cmb")).preparation);
}

TEST_F(Convert, RefusesWrongUse) {
    write_network(path("a.cmb"), rich_network());
    converts({path("a.cmb"), path("a.safetensors")});
    EXPECT_THAT(fails(2, {path("a.cmb"), path("a.cmb")}),
                HasSubstr("would replace what it is made"));
    std::filesystem::create_symlink(path("a.cmb"), path("link.cmb"));
    EXPECT_THAT(fails(2, {path("a.cmb"), path("link.cmb")}), HasSubstr("would replace"));
    EXPECT_THAT(
        fails(2, {path("a.cmb"), path("a.onx")}),
        HasSubstr(
            "has the ending \".onx\" (known: .cmb, .safetensors, .json, .onnx; a folder with"));
    EXPECT_THAT(fails(2, {path("a.cmb"), path("b.cmb"), "--dtype", "F16"}), HasSubstr("--dtype"));
    EXPECT_THAT(fails(2, {path("a.cmb"), path("b.cmb"), "--seed", "1"}), HasSubstr("--seed"));
    EXPECT_THAT(fails(2, {path("a.cmb"), path("b.json"), "--rename", "a=b"}),
                HasSubstr("--rename"));
    EXPECT_THAT(fails(2, {path("a.cmb"), path("b.json"), "--network", "c.json"}),
                HasSubstr("--network"));
    EXPECT_THAT(fails(3, {path("absent.cmb"), path("b.json")}), HasSubstr("No such file"));
    EXPECT_THAT(fails(3, {path("a.cmb"), path("no/folder/b.json")}),
                HasSubstr("cannot be written"));
    EXPECT_THAT(fails(2, {directory_.write("none.json", "{}"), path("b.cmb")}),
                HasSubstr("neither a task nor a network"));
    EXPECT_THAT(
        fails(2, {directory_.write("open.json", R"({"network": {"input": [2]}})"), path("b.cmb")}),
        HasSubstr("network.layers is absent"));
    EXPECT_THAT(fails(2, {directory_.write("more.json", R"({"network": {"input": [2],
                              "layers": [{"type": "dense", "out": 1}]}, "run": {"seed": 2}})"),
                          path("b.cmb")}),
                HasSubstr("run is not a key (known here: network)"));
    EXPECT_THAT(fails(2, {directory_.write("initial.json", R"({"network": {"input": [2],
                              "initial": "x.cmb", "layers": [{"type": "dense", "out": 1}]}})"),
                          path("b.cmb")}),
                HasSubstr("network.initial is set"));
    EXPECT_THAT(fails(2, {directory_.write("wide.json",
                                           R"({"network": {"input": [2], "layers": [{"type":
                                               "dense"}]}})"),
                          path("b.cmb")}),
                HasSubstr("wide.json: "));
}

}  // namespace
}  // namespace cambrian::launch

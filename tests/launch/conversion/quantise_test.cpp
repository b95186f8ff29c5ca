#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using distributed::read_network;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;
using testing::Not;

/// A short run of xor with formats of its own, and its best network.
class Quantise : public testing::Test {
  protected:
    std::string evolved(const std::string& name, const std::vector<std::string>& sets) {
        const std::string config = directory_.write(
            name + ".json", R"({"run": {"seed": 3, "directory": ")" + directory_.file(name) +
                                R"(", "stop": {"generations": 6}}, "engine": {"backend": "cpu"},
                "population": {"size": 40}, "task": {"type": "xor"},
                "network": {"layers": [{"type": "dense", "out": 6, "activation": "tanh"},
                                       {"type": "dense"}]}})");
        std::vector<std::string> arguments{"evolve", config};
        for (const std::string& set : sets) {
            arguments.emplace_back("--set");
            arguments.push_back(set);
        }
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        return directory_.file(name) + "/best.cmb";
    }
    TemporaryDirectory directory_;
};

TEST_F(Quantise, SaysWhatAFormatMakesOfANetworkAndWritesIt) {
    const std::string best = evolved("plain", {});
    const std::string small = directory_.file("small.cmb");
    const Result result = run({"quantise", best, "--dtype", "fp4", "--calibrate", "-o", small});
    ASSERT_EQ(result.code, 0) << result.err;
    for (const char* text : {"weights in float4_e2m1fn", "slot.0.weight", "head.weight", "cosine",
                             "float32:    ", "in formats: ", "clip ", "calibrated: "})
        EXPECT_THAT(result.out, HasSubstr(text));
    const auto written = read_network(small).genome;
    EXPECT_EQ(written.blueprint.head_formats.weights, Dtype::float4_e2m1fn);
    EXPECT_EQ(written.blueprint.slots[0]->formats.weights, Dtype::float4_e2m1fn);
    EXPECT_THAT(run({"inspect", small}).out, HasSubstr("weights in float4_e2m1fn"));
    EXPECT_EQ(run({"evaluate", small}).code, 0);
    // And back: formats alone, no calibration.
    const std::string again = directory_.file("again.cmb");
    ASSERT_EQ(run({"quantise", best, "--dtype", "float32", "-o", again}).code, 0);
    EXPECT_EQ(read_network(again).genome, read_network(best).genome);
    EXPECT_THAT(run({"quantise", best, "--dtype", "int5"}).err,
                HasSubstr("--dtype is int5 (formats are float64, float32"));
}

TEST_F(Quantise, FormatsOfAConfigStayThoseOfTheRun) {
    const std::string best =
        evolved("binary", {"network.dtype=binary", "network.activation_dtype=int8"});
    const auto genome = read_network(best).genome;
    EXPECT_EQ(genome.blueprint.head_formats,
              (LayerFormats{.weights = Dtype::binary, .activations = Dtype::int8}));
    for (const auto& slot : genome.blueprint.slots) {
        ASSERT_TRUE(!slot || slot->formats == genome.blueprint.head_formats);
    }
}

TEST_F(Quantise, AFitnessStaysWithTheNetworkThatHasIt) {
    const std::string best = evolved("worth", {});
    const distributed::NetworkFile before = read_network(best);
    ASSERT_TRUE(std::isfinite(before.fitness));
    const std::string path = directory_.file("quantised.cmb");
    ASSERT_EQ(run({"quantise", best, "--dtype", "binary", "-o", path}).code, 0);
    const distributed::NetworkFile binary = read_network(path);
    EXPECT_EQ(binary.fitness, evolve::worst_fitness);
    EXPECT_EQ(binary.validated, std::nullopt);
    EXPECT_EQ(binary.birth, before.birth);
    ASSERT_EQ(run({"quantise", best, "--dtype", "float32", "-o", path}).code, 0);
    EXPECT_EQ(read_network(path), before) << "it is in float32 already";
    const std::string codes = directory_.file("codes.safetensors");
    ASSERT_EQ(run({"convert", best, codes, "--inference", "--dtype", "binary"}).code, 0);
    EXPECT_THAT(read_safetensors(codes).metadata.at("origin"), HasSubstr("\"fitness\":null"));
}

TEST_F(Quantise, InferenceNeedsNoMasters) {
    const std::string best = evolved("masters", {});
    const std::string rows = directory_.write("rows.csv", "a,b\n0,0\n0.25,1\n1,0.5\n-3,2\n");
    const auto answers = [&](const std::string& network) {
        const Result result = run({"infer", network, "--input", rows, "--raw"});
        EXPECT_EQ(result.code, 0) << result.err;
        return result.out;
    };
    for (const std::string dtype : {"int8", "uint4", "q4_0", "bfloat16", "binary", "uint64"}) {
        SCOPED_TRACE(dtype);
        const std::string formatted = directory_.file(dtype + ".cmb");
        const std::string codes = directory_.file(dtype + ".safetensors");
        ASSERT_EQ(run({"quantise", best, "--dtype", dtype, "-o", formatted}).code, 0);
        const Result converted = run({"convert", best, codes, "--inference", "--dtype", dtype});
        ASSERT_EQ(converted.code, 0) << converted.err;
        const Safetensors content = read_safetensors(codes);
        EXPECT_FALSE(content.tensors.contains("head.weight"));
        EXPECT_TRUE(content.tensors.contains("head.weight.codes"));
        EXPECT_TRUE(content.tensors.contains("head.bias"));
        EXPECT_EQ(answers(codes), answers(formatted));
        const std::string again = directory_.file(dtype + "-again.cmb");
        ASSERT_EQ(run({"convert", codes, again}).code, 0);
        EXPECT_EQ(answers(again), answers(formatted));
    }
    Safetensors broken = read_safetensors(directory_.file("int8.safetensors"));
    broken.tensors.erase("slot.0.weight.scales");
    write_safetensors(directory_.file("broken.safetensors"), broken);
    EXPECT_THAT(
        run({"infer", directory_.file("broken.safetensors"), "--input", rows, "--raw"}).err,
        HasSubstr("lacks tensor \"slot.0.weight.scales\" (its structure has a number format"));
}

TEST_F(Quantise, ScalesAreAChoice) {
    const std::string best =
        evolved("scales", {"network.dtype=int8", "network.dtype_scales=tensor"});
    EXPECT_EQ(read_network(best).genome.blueprint.head_formats,
              (LayerFormats{.weights = Dtype::int8, .scales = Scales::tensor}));
    EXPECT_THAT(run({"inspect", best}).out, HasSubstr("weights in int8 (scales: tensor)"));
    const std::string rows = directory_.write("rows.csv", "a,b\n0,0\n0.25,1\n1,0.5\n-3,2\n");
    const auto answers = [&](const std::string& network) {
        const Result result = run({"infer", network, "--input", rows, "--raw"});
        EXPECT_EQ(result.code, 0) << result.err;
        return result.out;
    };
    std::set<std::string> different;
    for (const std::string scales : {"format", "tensor", "channel", "block", "mx"}) {
        SCOPED_TRACE(scales);
        const std::string formatted = directory_.file(scales + ".cmb");
        const std::string codes = directory_.file(scales + ".safetensors");
        const Result quantised =
            run({"quantise", best, "--dtype", "uint8", "--scales", scales, "-o", formatted});
        ASSERT_EQ(quantised.code, 0) << quantised.err;
        ASSERT_EQ(run({"convert", formatted, codes, "--inference"}).code, 0);
        EXPECT_EQ(answers(codes), answers(formatted));
        different.insert(answers(formatted));
    }
    EXPECT_EQ(different.size(), 3U);  // Rows of so few numbers are blocks, and what uint8 has.
    EXPECT_THAT(run({"quantise", best, "--dtype", "bf16", "--scales", "mx"}).err,
                HasSubstr("--scales is mx (bfloat16 takes none but its own)"));
    EXPECT_THAT(run({"quantise", best, "--dtype", "int8", "--scales", "rows"}).err,
                HasSubstr("--scales is rows (they are format, tensor, channel, block, mx)"));
}

TEST_F(Quantise, WhoAsksForAnswersReadsCodes) {
    const std::string best = evolved("masters", {});
    const std::string formatted = directory_.file("int8.cmb");
    const std::string codes = directory_.file("int8.safetensors");
    ASSERT_EQ(run({"quantise", best, "--dtype", "int8", "-o", formatted}).code, 0);
    ASSERT_EQ(run({"convert", best, codes, "--inference", "--dtype", "int8"}).code, 0);
    // All but the line that names the file.
    const auto evaluated = [&](const std::string& network) {
        const Result result = run({"evaluate", network});
        EXPECT_EQ(result.code, 0) << result.err;
        std::string text = result.out;
        for (std::size_t at = 0; (at = text.find(network, at)) != std::string::npos;)
            text.replace(at, network.size(), "network");
        return text;
    };
    EXPECT_EQ(evaluated(codes), evaluated(formatted));
    for (const char* command : {"inspect", "check"}) {
        const Result result = run({command, codes});
        EXPECT_EQ(result.code, 0) << command << ": " << result.err;
    }
    EXPECT_EQ(run({"compare", codes, formatted}).code, 0);
    const Result spliced = run({"splice", codes, best, "-o", directory_.file("child.cmb")});
    EXPECT_NE(spliced.code, 0);
    EXPECT_THAT(spliced.err, HasSubstr("is a safetensors file (a .cmb is read here) convert it"));
}

TEST_F(Quantise, RunsThatStartFromCodesAreToldToTakeTheirMasters) {
    const std::string best = evolved("masters", {});
    const std::string codes = directory_.file("int8.safetensors");
    ASSERT_EQ(run({"convert", best, codes, "--inference", "--dtype", "int8"}).code, 0);
    const Result result =
        run({"evolve", directory_.file("masters.json"), "--set",
             "run.directory=" + directory_.file("other"), "--set", "network.initial=" + codes});
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, HasSubstr("it holds codes of number formats (a run goes on with "
                                      "masters) name the .cmb that it was made of"));
}

TEST_F(Quantise, WritesNoNetworkUnderTheNameOfAnotherFormat) {
    const std::string best = evolved("named", {});
    const std::string tensors = directory_.file("small.safetensors");
    const std::string model = directory_.file("child.onnx");
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"quantise", best, "--dtype", "int8", "-o", tensors},
                                               {"splice", best, best, "-o", model}}) {
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 2) << arguments.front();
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, HasSubstr("networks are written as .cmb here"));
        EXPECT_THAT(result.err, HasSubstr("cambrian convert " + directory_.file("")));
        EXPECT_FALSE(std::filesystem::exists(arguments.back()));
    }
    EXPECT_EQ(run({"splice", best, best, "-o", directory_.file("plain.json")}).code, 2);
    for (const char* name : {"child", "child-v1.2", "child.cmb.tmp"})
        EXPECT_EQ(run({"splice", best, best, "-o", directory_.file(name)}).code, 0) << name;
}

TEST_F(Quantise, ANetworkWithoutWeightsHasNoShareOfThem) {
    const std::string structure = directory_.write("pool.json", R"({"network": {"input": [1, 4, 4],
            "layers": [{"type": "max_pool2d", "kernel": 2}]}})");
    const std::string network = directory_.file("pool.cmb");
    const Result converted = run({"convert", structure, network});
    ASSERT_EQ(converted.code, 0) << converted.err;
    const Result result = run({"quantise", network, "--dtype", "int8"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("stored: 0 bytes (it has no weights)"));
    EXPECT_THAT(result.out, Not(HasSubstr("nan")));
}

TEST_F(Quantise, FormatsEvolveAndBytesAreAnObjective) {
    const auto bytes = [&](const std::string& name, const char* weight) {
        const std::string best =
            evolved(name, {"mutation.dtype_rate=0.5", "mutation.layer_insert_rate=0",
                           std::string("selection.bytes_weight=") + weight});
        std::ifstream log(directory_.file(name) + "/generations.csv");
        std::string header;
        std::getline(log, header);
        EXPECT_THAT(header, HasSubstr("parameters,bytes,env_steps"));
        return evolve::Structure(read_network(best).genome).stored_bytes();
    };
    // As dear as that, bytes are all that counts.
    EXPECT_LT(bytes("dear", "1"), bytes("free", "0"));
}

TEST_F(Quantise, ProductsAreAnObjective) {
    const auto products = [&](const std::string& name, const char* weight) {
        const std::string best = evolved(
            name,
            {"mutation.layer_insert_rate=0.5", std::string("selection.products_weight=") + weight});
        std::ifstream log(directory_.file(name) + "/generations.csv");
        std::string header;
        std::getline(log, header);
        EXPECT_THAT(header, HasSubstr(weight[0] == '0' ? "parameters,env_steps"
                                                       : "parameters,products,env_steps"));
        return evolve::Structure(read_network(best).genome).products();
    };
    EXPECT_LE(products("dear_products", "1"), products("free_products", "0"));
}

}  // namespace
}  // namespace cambrian::launch

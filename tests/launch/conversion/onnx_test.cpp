#include <gtest/gtest.h>

#include <filesystem>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// What the models compute is compared with `cambrian infer` by tests/onnx.
namespace cambrian::launch {
namespace {

using test::content;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class OnnxFile : public testing::Test {
  protected:
    [[nodiscard]] std::string path(const std::string& name) const { return directory_.file(name); }
    /// A network of a section of a config.
    std::string network(const std::string& name, const std::string& section) {
        const std::string config =
            directory_.write(name + ".json", R"({"network": )" + section + "}");
        const Result made = run({"convert", config, path(name + ".cmb")});
        EXPECT_EQ(made.code, 0) << made.err;
        return path(name + ".cmb");
    }
    std::string fails(int code, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "convert");
        const Result result = run(arguments);
        EXPECT_EQ(result.code, code) << result.err;
        EXPECT_EQ(result.out, "");
        return result.err;
    }

    TemporaryDirectory directory_;
};

constexpr const char* recurrent =
    R"({"input": [2], "layers": [{"type": "dense", "out": 3}, {"type": "gru", "hidden": 4},
        {"type": "dense", "out": 1}]})";

TEST_F(OnnxFile, AStepHasItsStatesByName) {
    const Result made = run({"convert", network("a", recurrent), path("a.onnx")});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("one step: begin with zeros in every state.NAME, and pass "
                                    "next.NAME on to it"));
    EXPECT_THAT(content(path("a.onnx")),
                AllOf(HasSubstr("state.slot.1.hidden"), HasSubstr("next.slot.1.hidden"),
                      HasSubstr("slot.0.weight"), HasSubstr("head.bias"), HasSubstr("rows"),
                      HasSubstr("outputs"), HasSubstr("parameters")));
}

TEST_F(OnnxFile, EqualNetworksAreEqualBytes) {
    const std::string file = network("a", recurrent);
    ASSERT_EQ(run({"convert", file, path("a.onnx")}).code, 0);
    ASSERT_EQ(run({"convert", file, path("b.onnx")}).code, 0);
    EXPECT_EQ(content(path("a.onnx")), content(path("b.onnx")));
}

TEST_F(OnnxFile, LayersThatShareAWeightHaveOneTensor) {
    const std::string file = network("a", R"({"input": [3], "layers": [{"type": "dense", "out": 3},
            {"type": "dense", "out": 3, "tied": "slot.0.weight"}, {"type": "dense", "out": 2}]})");
    ASSERT_EQ(run({"convert", file, path("a.onnx")}).code, 0);
    EXPECT_THAT(content(path("a.onnx")), AllOf(HasSubstr("slot.0.weight"), HasSubstr("slot.1.bias"),
                                               Not(HasSubstr("slot.1.weight"))));
    // As tensors of modules, too, and back.
    const Result written = run({"convert", file, path("modules"), "--family", "torch"});
    ASSERT_EQ(written.code, 0) << written.err;
    EXPECT_THAT(written.out,
                HasSubstr("tied: slot 1 has no weight of its own but \"slot.0.weight\""));
    ASSERT_EQ(run({"convert", path("modules"), path("again.cmb")}).code, 0);
    EXPECT_EQ(distributed::read_network(path("again.cmb")), distributed::read_network(file));
}

TEST_F(OnnxFile, RowsOfATableAreReadByTheirColumns) {
    const std::string rows = directory_.write("rows.csv",
                                              "width,height,kind\n1,2,small\n3,5,large\n"
                                              "2,2,small\n4,7,large\n");
    const std::string config = directory_.write(
        "table.json", R"({"task": {"type": "table", "mode": "classification", "train": [")" + rows +
                          R"("], "targets": ["kind"], "loss": "cross_entropy", "baselines": []},
        "network": {"layers": [{"type": "dense"}]}})");
    ASSERT_EQ(run({"convert", config, path("a.cmb")}).code, 0);
    ASSERT_EQ(run({"convert", path("a.cmb"), path("a.onnx")}).code, 0);
    EXPECT_THAT(
        content(path("a.onnx")),
        AllOf(HasSubstr("width, height"), HasSubstr("[\"width\",\"height\"]"), HasSubstr("large"),
              HasSubstr("class"), HasSubstr("probabilities"), HasSubstr("Softmax")));
    ASSERT_EQ(run({"convert", path("a.cmb"), path("raw.onnx"), "--raw"}).code, 0);
    EXPECT_THAT(
        content(path("raw.onnx")),
        AllOf(HasSubstr("outputs"), Not(HasSubstr("probabilities")), Not(HasSubstr("Softmax"))));
}

TEST_F(OnnxFile, AForecastSaysHowManyRowsAheadItTells) {
    const std::string rows = directory_.write("forecast.csv",
                                              "load,state\n1,low\n3,high\n2,low\n4,high\n5,high\n"
                                              "2,low\n1,low\n3,high\n");
    const auto model = [&](const std::string& name, const std::string& keys) {
        const std::string config = directory_.write(
            name + ".json", R"({"task": {"type": "table", "train": [")" + rows +
                                R"("], "inputs": ["load"], "baselines": [], )" + keys +
                                R"(}, "network": {"layers": [{"type": "dense"}]}})");
        EXPECT_EQ(run({"convert", config, path(name + ".cmb")}).code, 0);
        EXPECT_EQ(run({"convert", path(name + ".cmb"), path(name + ".onnx")}).code, 0);
        return content(path(name + ".onnx"));
    };
    // An entry of the metadata: key and value with their lengths.
    const auto entry = HasSubstr(
        "\x0a\x05"
        "ahead\x12\x01"
        "2");
    EXPECT_THAT(model("numbers", R"("targets": ["load"], "time_offset": 2)"), entry);
    EXPECT_THAT(model("classes", R"("mode": "classification", "loss": "cross_entropy",
        "targets": ["state"], "time_offset": 2)"),
                entry);
    EXPECT_THAT(model("now", R"("mode": "classification", "loss": "cross_entropy",
        "targets": ["state"])"),
                Not(HasSubstr("\x05"
                              "ahead")));
}

TEST_F(OnnxFile, WhatOnnxCannotSayIsNamed) {
    const std::string file =
        network("a", R"({"input": [3], "layers": [{"type": "dense", "out": 4}, {"type": "rms_norm"},
            {"type": "dense", "out": 4, "activation_dtype": "float16"}, {"type": "dense", "out": 2}]})");
    const std::string error = fails(2, {file, path("a.onnx")});
    EXPECT_THAT(error, HasSubstr("a.cmb cannot be written as ONNX (slot 2, dense computes encode"));
    EXPECT_THAT(error, HasSubstr("leave out the layer, or its \"activation_dtype\""));
    EXPECT_FALSE(std::filesystem::exists(path("a.onnx")));
    // Formats with scales are arithmetic.
    const std::string scaled = network(
        "b", R"({"input": [3], "layers": [{"type": "dense", "out": 4, "activation_dtype": "int8"},
            {"type": "dense", "out": 2}]})");
    EXPECT_EQ(run({"convert", scaled, path("b.onnx")}).code, 0);
}

TEST_F(OnnxFile, OptionsWithoutUseAreRefused) {
    const std::string file = network("a", recurrent);
    for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{
             {"--dtype", "F16"}, {"--inference"}, {"--force"}, {"--rename", "a=b"}}) {
        std::vector<std::string> arguments{file, path("a.onnx")};
        arguments.insert(arguments.end(), option.begin(), option.end());
        EXPECT_THAT(fails(2, arguments), HasSubstr(option[0] + " has no use here"));
    }
    EXPECT_THAT(fails(2, {file, path("a.safetensors"), "--raw"}),
                HasSubstr("--raw has no use here (only .onnx prepare rows)"));
    EXPECT_THAT(fails(2, {path("a.onnx"), path("b.cmb")}),
                HasSubstr("models of ONNX are only written"));
    EXPECT_THAT(fails(2, {file, path("a.onx")}),
                HasSubstr("known: .cmb, .safetensors, .json, .onnx"));
}

TEST_F(OnnxFile, IsWrittenAsOtherOutputsAre) {
    const std::string file = network("a", recurrent);
    // Through a link to what is read, into a folder that is not there, onto a folder.
    std::filesystem::create_symlink(file, path("link.onnx"));
    EXPECT_THAT(fails(2, {file, path("link.onnx")}), HasSubstr("link.onnx"));
    EXPECT_THAT(fails(3, {file, path("nowhere/a.onnx")}), HasSubstr("nowhere"));
    std::filesystem::create_directory(path("folder.onnx"));
    EXPECT_THAT(fails(3, {file, path("folder.onnx")}), HasSubstr("folder.onnx"));
    // A file is replaced as a whole.
    directory_.write("old.onnx", std::string(100000, 'x'));
    ASSERT_EQ(run({"convert", file, path("old.onnx")}).code, 0);
    EXPECT_THAT(content(path("old.onnx")), testing::StartsWith("\x08\x08\x12\x08"));
}

}  // namespace
}  // namespace cambrian::launch

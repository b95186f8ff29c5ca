#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/tests/launch/launch_support.hpp"

// Networks that a config lets a builder make.
namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

class Build : public testing::Test {
  protected:
    /// A config with that task and network, which ends soon.
    std::string config(const std::string& task, const std::string& network,
                       const std::string& rest = "") const {
        return directory_.write("config.json", R"({"run": {"directory": ")" +
                                                   directory_.file("run") + R"("}, "task": )" +
                                                   task + R"(, "network": )" + network + rest +
                                                   "}");
    }
    [[nodiscard]] std::string evolving(const std::string& network) const {
        return config(R"({"type": "xor"})", network, R"(, "population": {"size": 8})");
    }

    TemporaryDirectory directory_;
};

TEST_F(Build, EvolvesWhatABuilderMade) {
    const std::string path = evolving(
        R"({"build": {"type": "dense_stack", "widths": [5, 5], "residual": true},
            "grid": {"layers_per_cell": 8}})");
    const Result result = run({"evolve", path, "--set", "run.stop.generations=3", "-q"});
    ASSERT_EQ(result.code, 0) << result.err;
    const Result shown = run({"inspect", directory_.file("run/best.cmb")});
    EXPECT_THAT(shown.out, HasSubstr("residual"));
    EXPECT_THAT(shown.out, HasSubstr("grid 1x1x1x8"));
    EXPECT_EQ(run({"evaluate", directory_.file("run/best.cmb")}).code, 0);
}

TEST_F(Build, TrainsWhatABuilderMade) {
    const std::string path = config(
        R"({"type": "dataset", "source": {"type": "blobs"}, "loss": {"type": "cross_entropy"}})",
        R"({"build": {"type": "random", "seed": 3}})", R"(, "training": {"epochs": 2})");
    const Result result = run({"train", path, "-q"});
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(Build, PrintsAConfigThatReadsBackAsItself) {
    const Result first =
        run({"evolve", evolving(R"({"build": {"type": "random"}})"), "--print-config"});
    ASSERT_EQ(first.code, 0) << first.err;
    const auto network = nlohmann::json::parse(first.out)["network"];
    EXPECT_EQ(network["build"]["most_layers"], 8);
    for (const char* key : {"layers", "links", "mode"}) EXPECT_FALSE(network.contains(key)) << key;
    const Result second =
        run({"evolve", directory_.write("again.json", first.out), "--print-config"});
    EXPECT_EQ(first.out, second.out);
}

TEST_F(Build, IsRefusedWithTheKeyToChange) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {R"({"build": {"type": "transformr"}})", "did you mean \"transformer\"?"},
        {R"({"build": {"type": "transformer", "head": 2}})", "did you mean network.build.heads?"},
        {R"({"build": {"type": "transformer"}})", "network.build.causal is true"},
        {R"({"build": {"type": "dense_stack", "widths": [0]}})", "network.build.widths[0] is 0"},
        {R"({"build": {"type": "dense_stack"}, "layers": [{"type": "dense"}]})",
         "network.layers is given beside network.build"},
        {R"({"build": {"type": "dense_stack"}, "initial": "a.cmb"})",
         "network.initial is given beside network.build"},
    };
    for (const auto& [network, message] : cases) {
        const Result result = run({"evolve", evolving(network), "-q"});
        EXPECT_EQ(result.code, 2) << network;
        EXPECT_THAT(result.err, HasSubstr(message)) << network;
        EXPECT_THAT(result.err, HasSubstr("config.json")) << network;
    }
}

TEST_F(Build, IsExplained) {
    const Result result = run({"explain", "network.build"});
    EXPECT_EQ(result.code, 0) << result.err;
    for (const char* part :
         {"network.build.rope_base (transformer)", "network.build.channels (convolutional)",
          "network.build.most_links (random)", "Whether a hidden layer as wide"})
        EXPECT_THAT(result.out, HasSubstr(part));
    EXPECT_THAT(run({"explain", "network.build.norm"}).out, HasSubstr("of type dense_stack"));
}

}  // namespace
}  // namespace cambrian::launch

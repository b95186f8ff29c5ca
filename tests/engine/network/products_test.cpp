#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/network/observe/summary.hpp"
#include "cambrian/tests/support/layer_samples.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian {
namespace {

std::int64_t products_in(std::string_view json, std::int64_t in, std::int64_t out) {
    return products(Network(test::blueprint_of(json, in, out)));
}

TEST(Products, AreThoseOfMatricesAndKernels) {
    EXPECT_EQ(products_in(R"({"layers": [{"type": "dense", "out": 6}, {"type": "dense"}]})", 5, 3),
              5 * 6 + 6 * 3);
    // A kernel of 2 · 2 · 2 at each of 3 · 3 · 2 places of the output; then all of these.
    EXPECT_EQ(products_in(R"({"input": [2, 4, 3], "layers": [
                  {"type": "conv2d", "out_channels": 3, "kernel": 2}, {"type": "dense"}]})",
                          24, 2),
              18 * 8 + 18 * 2);
    // One step: what enters, and what is carried.
    EXPECT_EQ(products_in(R"({"layers": [{"type": "gru", "hidden": 4}, {"type": "dense"}]})", 5, 2),
              12 * 5 + 12 * 4 + 4 * 2);
    // Rows of a table are looked up, norms multiply no matrices.
    EXPECT_EQ(products_in(R"({"layers": [{"type": "rms_norm"}, {"type": "dense"}]})", 5, 2), 10);
    EXPECT_EQ(products_in(R"({"layers": [{"type": "sequential", "layers": [
                  {"type": "dense", "out": 4}, {"type": "dense", "out": 3}]}, {"type": "dense"}]})",
                          5, 2),
              20 + 12 + 6);
}

TEST(Products, OfContainersThatReadIdsAreCounted) {
    EXPECT_EQ(products_in(R"({"layers": [{"type": "parallel", "combine": "grid_scatter",
                  "branches": [{"type": "dense", "out": 4}, {"type": "sequential", "layers": [
                      {"type": "embedding", "vocabulary": 2, "features": 3}]}]},
                  {"type": "dense"}]})",
                          2, 1),
              2 * 4 + (4 + 2 * 3));
    EXPECT_EQ(products_in(R"({"layers": [{"type": "residual", "layers": [
                  {"type": "embedding", "vocabulary": 2, "features": 1}]}, {"type": "dense"}]})",
                          3, 2),
              3 * 2);
}

TEST(Products, DoNotCountWhatIsDisabledButWhatLinksProject) {
    const char* network = R"({"layers": [{"type": "dense", "out": 4}, {"type": "dense", "out": 4,
        "enabled": false}, {"type": "dense"}], "links": [{"from": "input", "to": "head"}]})";
    EXPECT_EQ(products_in(network, 5, 2), 5 * 4 + 4 * 2 + 5 * 4);
    // A link between equal widths has a gain for each value, and no matrix.
    const char* gained = R"({"layers": [{"type": "dense", "out": 5}, {"type": "dense"}],
        "links": [{"from": "input", "to": "head"}]})";
    EXPECT_EQ(products_in(gained, 5, 2), 5 * 5 + 5 * 2);
}

TEST(Products, OfNeuronsAreTheirLiveConnections) {
    Neurons layer{.in = 2, .out = 1, .neurons = {{}, {}, {}}, .connections = {}};
    layer.connections = {{.source = 0, .target = 0},
                         {.source = 1, .target = 1},
                         {.source = 3, .target = 0},
                         {.source = 1, .target = 0, .delay = 0, .enabled = false},
                         {.source = 0, .target = 2}};  // Into a neuron that no output depends on.
    EXPECT_EQ(products(AnyLayer(layer), Shape{2}), 3);
    // Once for each vector of a row, also within other layers.
    EXPECT_EQ(products(AnyLayer(layer), Shape{5, 2}), 15);
    EXPECT_EQ(products_in(R"({"input": [4, 3], "layers": [{"type": "sequential", "layers": [
                  {"type": "neurons", "in": 3, "out": 2}]}, {"type": "dense"}]})",
                          12, 1),
              4 * 6 + 8);
}

TEST(Products, FormatsChangeNone) {
    EXPECT_EQ(products_in(R"({"dtype": "int4", "activation_dtype": "int8", "layers": [
                  {"type": "dense", "out": 6}, {"type": "dense"}]})",
                          5, 3),
              48);
}

TEST(Products, CanBeCountedOfEveryLayer) {
    // Whatever has a matrix or a kernel multiplies with it; a table is looked at.
    for (const test::LayerSample& sample : test::layer_samples()) {
        const bool multiplies =
            std::ranges::any_of(sample.layer.parameters(), [](const ParameterSpec& parameter) {
                return parameter.encoded() && parameter.name.find("table") == std::string::npos;
            });
        EXPECT_GE(products(sample.layer, sample.row), multiplies ? 1 : 0) << sample.name;
    }
}

}  // namespace
}  // namespace cambrian

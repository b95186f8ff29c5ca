#include "cambrian/engine/network/observe/summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian {
namespace {

/// An image through a container with a buffer, a disabled slot, a state, and links of both kinds.
Network sample() {
    return Network(test::blueprint_of(R"({"input": [2, 4, 3], "grid": {"cols": 2,
        "layers_per_cell": 3}, "layers": [
        {"type": "sequential", "layers": [
            {"type": "conv2d", "out_channels": 3, "kernel": 2, "activation": "relu"},
            {"type": "batch_norm"}]},
        {"type": "parallel", "combine": "filter", "at": [0, 0, 1, 0], "branches": [
            {"type": "dense", "out": 4, "activation": "tanh"},
            {"type": "gru", "hidden": 4}], "gate": {"type": "dense"}},
        {"type": "rms_norm", "at": [0, 0, 1, 2], "enabled": false},
        {"type": "dense"}],
        "links": [{"source": "input", "target": "head"},
                  {"source": 5, "target": 5, "kind": "backward"}]})",
                                      24, 2));
}

TEST(Summary, CountsWhatLayersSayOfThemselves) {
    const NetworkSummary report = summary(sample());
    ASSERT_EQ(report.layers.size(), 4U);

    const LayerSummary& images = report.layers[0];
    EXPECT_EQ(images.place, "slot 0 [0 0 0 0]");
    EXPECT_EQ(images.input, (Shape{2, 4, 3}));
    EXPECT_EQ(images.output, (Shape{3, 3, 2}));
    EXPECT_EQ(images.counts, (ElementCounts{3 * 2 * 2 * 2 + 3 + 2 * 3, 2 * 3, 0}));
    EXPECT_EQ(images.counts.bytes(), 4 * (33 + 6));
    ASSERT_EQ(images.inner.size(), 2U);
    EXPECT_EQ(images.inner[0].place, "layers.0");
    EXPECT_EQ(images.inner[0].activations, std::vector{Activation::relu});
    EXPECT_EQ(images.inner[1].input, (Shape{3, 3, 2}));
    EXPECT_EQ(images.inner[1].counts, (ElementCounts{6, 6, 0}));

    const LayerSummary& branches = report.layers[1];
    EXPECT_EQ(branches.place, "slot 3 [0 0 1 0]");
    ASSERT_EQ(branches.inner.size(), 3U);
    EXPECT_EQ(branches.inner[1].place, "branches.1");
    EXPECT_EQ(branches.inner[1].counts, (ElementCounts{3 * 4 * 18 + 3 * 4 * 4 + 6 * 4, 0, 4}));
    EXPECT_EQ(branches.inner[2].place, "gate");
    EXPECT_EQ(branches.inner[2].input, (Shape{3, 3, 2}));
    EXPECT_EQ(branches.inner[2].output, (Shape{2}));
    EXPECT_EQ(branches.counts.state, 4);

    EXPECT_FALSE(report.layers[2].enabled);
    EXPECT_EQ(report.layers[2].counts, (ElementCounts{4, 0, 4}));  // it hears itself
    EXPECT_EQ(report.layers[3].place, "head");
    EXPECT_EQ(report.links[0].counts.parameters, 4 * 24);
    EXPECT_EQ(report.links[1].counts.parameters, 4);
}

TEST(Summary, AddsUpToTheWholeNetwork) {
    for (std::uint64_t number = 0; number < 100; ++number) {
        RandomStream rng(random_key(5, "telemetry"), number);
        const Network network(draw_network(rng, {}, {.input_features = 12, .output_features = 3}));
        const NetworkSummary report = summary(network);
        std::int64_t state = 0;
        for (const StateSpec& spec : network.state()) state += spec.shape.elements();
        EXPECT_EQ(report.total.parameters + report.total.buffers, network.weight_count());
        EXPECT_EQ(report.total.state, state);
        std::int64_t activations = 0;
        for (const LayerSummary& layer : report.layers) {
            activations += static_cast<std::int64_t>(layer.activations.size());
            ElementCounts inner;
            for (const LayerSummary& each : layer.inner) inner += each.counts;
            if (layer.inner.empty()) continue;
            EXPECT_EQ(inner.parameters, layer.counts.parameters) << number;
            EXPECT_EQ(inner.buffers, layer.counts.buffers) << number;
        }
        EXPECT_EQ(activations, network.activation_count());
    }
}

TEST(Summary, FormatsOfWeightsAreThoseOfLayersThatHaveAny) {
    const auto report = summary(Network(test::blueprint_of(R"({"dtype": "int8", "layers": [
        {"type": "dense", "out": 4}, {"type": "dense", "out": 4, "tied": "slot.0.weight"},
        {"type": "rms_norm", "activation_dtype": "bf16"}, {"type": "dense"}]})",
                                                           4, 2)));
    EXPECT_EQ(report.layers[0].formats, (LayerFormats{.weights = Dtype::int8}));
    EXPECT_EQ(report.layers[1].formats, LayerFormats{});
    EXPECT_EQ(report.layers[2].formats, (LayerFormats{.activations = Dtype::bfloat16}));
    EXPECT_EQ(report.layers[3].formats, (LayerFormats{.weights = Dtype::int8}));
}

TEST(Summary, IsJsonWithNestedLayersAndTotals) {
    const auto json = to_json(summary(sample()));
    EXPECT_EQ(json["layers"][0]["inner"][1]["type"], "batch_norm");
    EXPECT_EQ(json["layers"][0]["inner"][1]["buffers"], 6);
    EXPECT_EQ(json["layers"][2]["enabled"], false);
    EXPECT_EQ(json["layers"][3]["slot"], "head");
    EXPECT_EQ(json["links"][0]["source"], "input");
    EXPECT_EQ(json["links"][1]["kind"], "backward");
    EXPECT_EQ(json["total"]["bytes"], 4 * sample().weight_count());
}

}  // namespace
}  // namespace cambrian

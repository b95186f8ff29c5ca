#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/support/network_passes.hpp"
#include "cambrian/tests/support/network_run.hpp"

// Networks whose rows are more than vectors, and layers that take whole sequences.
namespace cambrian {
namespace {

using test::blueprint_of;
using test::difference;
using test::run;
using test::run_sequence;
using test::run_steps;
using test::some_rows;
using test::some_weights;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::string_view images = R"({"input": [1, 4, 4], "layers": [
    {"type": "conv2d", "out_channels": 2, "padding": 1, "activation": "tanh"},
    {"type": "batch_norm"},
    {"type": "max_pool2d"},
    {"type": "dense", "out": 3, "activation": "silu"},
    {"type": "dense"}]})";

TEST(NetworkShapes, AnImagePassesThroughToAVector) {
    const Network network(blueprint_of(images, 16, 2));
    EXPECT_EQ(network.shape_before(0), (Shape{1, 4, 4}));
    EXPECT_EQ(network.shape_after(0), (Shape{2, 4, 4}));
    EXPECT_EQ(network.shape_after(2), (Shape{2, 2, 2}));
    EXPECT_EQ(network.shape_after(3), (Shape{3}));
    EXPECT_EQ(network.shape_after(4), (Shape{2}));
    const Tensor x = some_rows({2, 3, 16});
    EXPECT_EQ(run(network, some_weights(network), x).shape, (Shape{2, 3, 2}));
}

TEST(NetworkShapes, TheInputIsWrittenAndRead) {
    const Blueprint blueprint = blueprint_of(images, 16, 2);
    EXPECT_EQ(to_json(blueprint)["input"], nlohmann::json::parse("[1, 4, 4]"));
    EXPECT_EQ(test::through_archive(blueprint), blueprint);
    Blueprint vector = blueprint_of(R"({"layers": [{"type": "dense"}]})", 16, 2);
    const Hash128 key = Network(vector).structure_key();
    vector.input_shape = {2, 8};
    EXPECT_NE(Network(vector).structure_key(), key);
}

TEST(NetworkShapes, AnInputOfOtherElementsIsRefused) {
    EXPECT_THAT([] { static_cast<void>(blueprint_of(images, 15, 2)); },
                ThrowsMessage<ShapeError>(HasSubstr("sees its input as [.., 1, 4, 4]")));
    for (const char* input : {"[]", "[1, 1, 1, 1, 16]", "[0, 16]", "16", "[\"16\"]"})
        EXPECT_THAT(
            [&] {
                static_cast<void>(blueprint_of("{\"input\": " + std::string(input) + "}", 16, 2));
            },
            ThrowsMessage<ConfigError>(HasSubstr("network.input")))
            << input;
    EXPECT_THAT(
        [] {
            static_cast<void>(blueprint_of(R"({"layers": [
                    {"type": "conv2d", "out_channels": 2}, {"type": "dense"}]})",
                                           16, 2));
        },
        ThrowsMessage<ShapeError>(HasSubstr("slot 0 at [0, 0, 0, 0] (conv2d)")));
}

TEST(NetworkShapes, LinksJoinRowsOfAnyShapeByTheirElements) {
    Blueprint blueprint = blueprint_of(images, 16, 2);
    blueprint.links = {{.source = input_port, .target = 3},
                       {.source = 0, .target = 1},
                       {.source = 0, .target = blueprint.grid.slots()},
                       {.source = 1, .target = 1, .kind = LinkKind::backward},
                       {.source = 3, .target = 2, .kind = LinkKind::backward}};
    const Network network(blueprint);
    const auto shape = [&](std::size_t link) {
        return network.weights()[network.weights().size() - 5 + link].parameter.shape;
    };
    EXPECT_EQ(shape(0), (Shape{8, 16}));
    EXPECT_EQ(shape(1), Shape{32});
    EXPECT_EQ(shape(2), (Shape{3, 32}));
    EXPECT_EQ(shape(4), (Shape{32, 3}));
    ASSERT_EQ(network.state().size(), 2U);
    EXPECT_EQ(network.state()[0].shape, Shape{32});
    std::vector<float> weights = some_weights(network);
    const Tensor x = some_rows({2, 4, 16});
    EXPECT_LT(difference(run_sequence(network, weights, x), run_steps(network, weights, x)), 1e-12);
    const Tensor with_links = run_sequence(network, weights, x);
    std::fill(weights.end() - (8 * 16 + 32 + 3 * 32 + 32 + 32 * 3), weights.end(), 0.0F);
    EXPECT_GT(difference(with_links, run_sequence(network, weights, x)), 1e-3);
}

TEST(NetworkShapes, ADisabledSlotPassesTheElementsOn) {
    Blueprint blueprint = blueprint_of(R"({"input": [2, 3], "layers": [
        {"type": "dense", "out": 6}, {"type": "dense"}]})",
                                       6, 2);
    const Network enabled(blueprint);
    EXPECT_TRUE(enabled.can_disable(0));
    blueprint.slots[0]->enabled = false;
    const Network disabled(blueprint);
    const std::vector<float> weights = some_weights(disabled);
    const Network head(blueprint_of(R"({"layers": [{"type": "dense"}]})", 6, 2));
    const std::vector<float> head_weights(weights.begin() + 42, weights.end());
    const Tensor x = some_rows({5, 6});
    EXPECT_EQ(run(disabled, weights, x), run(head, head_weights, x));
}

constexpr std::string_view transformer = R"({"layers": [
    {"type": "residual", "layers": [{"type": "rms_norm"},
        {"type": "multi_head_attention", "heads": 2, "rope_base": 100, "window": 3}]},
    {"type": "residual", "layers": [{"type": "rms_norm"}, {"type": "swiglu"}]},
    {"type": "mamba", "state": 2},
    {"type": "lstm", "hidden": 3},
    {"type": "dense"}]})";

TEST(NetworkShapes, WholeSequencesGiveWhatStepsGive) {
    const Network network(blueprint_of(transformer, 4, 2));
    ASSERT_TRUE(network.stateful());
    std::vector<float> weights = some_weights(network);
    for (float& weight : weights) weight *= 0.5F;
    const Tensor x = some_rows({2, 7, 4});
    EXPECT_LT(difference(run_sequence(network, weights, x), run_steps(network, weights, x)), 1e-9);
}

TEST(NetworkShapes, WhatTheBytecodeDoesNotKnowIsAGraph) {
    EXPECT_TRUE(BytecodeWriter::can_write(blueprint_of(R"({"layers": [{"type": "rnn", "hidden": 3},
        {"type": "sequential", "layers": [{"type": "rms_norm"}, {"type": "softmax"}]},
        {"type": "dense"}]})",
                                                       4, 2)));
    for (const char* layer :
         {R"({"type": "lstm", "hidden": 3})", R"({"type": "softmax", "variant": "sparse"})",
          R"({"type": "softmax", "temperature": 2})",
          R"({"type": "sequential", "layers": [{"type": "swiglu"}]})",
          R"({"type": "residual", "layers": [{"type": "kmeans", "clusters": 4}]})"})
        EXPECT_FALSE(BytecodeWriter::can_write(
            blueprint_of("{\"layers\": [" + std::string(layer) + R"(, {"type": "dense"}]})", 4, 2)))
            << layer;
    EXPECT_FALSE(BytecodeWriter::can_write(blueprint_of(R"({"input": [2, 2]})", 4, 2)));
}

TEST(NetworkShapes, ATrainingPassReachesEveryLayer) {
    const Network network(blueprint_of(R"({"input": [2, 3], "layers": [
        {"type": "batch_norm"}, {"type": "dropout"}, {"type": "rnn", "hidden": 3},
        {"type": "dense"}]})",
                                       6, 2));
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 4, 6});
    TrainingPass pass(graph.constant(Tensor(ValueType::integer, {2}, {1, 2})),
                      constant(graph, 3, ValueType::integer));
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, {network.weight_count()}),
        .activations = constant(graph, 0, ValueType::integer),
        .enabled = graph.input("enabled", ValueType::boolean, {network.slot_count()}),
        .training = &pass};
    NetworkOperands shaped = operands;
    shaped.activations = reshape(operands.activations, {1});
    EXPECT_EQ(network.sequence(x, shaped).shape(), (Shape{2, 4, 2}));
    ASSERT_EQ(pass.updates().size(), 2U);
    EXPECT_EQ(pass.updates()[0].value.shape(), Shape{2});
}

}  // namespace
}  // namespace cambrian

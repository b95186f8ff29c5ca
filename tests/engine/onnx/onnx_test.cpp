#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/io/protobuf.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/onnx/translation.hpp"
#include "cambrian/tests/support/layer_samples.hpp"

// What the models compute is compared with `cambrian infer` by tests/onnx.
namespace cambrian::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> operations(const GraphMessage& graph) {
    std::vector<std::string> names;
    for (const NodeMessage& node : graph.nodes) names.push_back(node.operation);
    return names;
}

/// The nodes of a graph whose first input is a row [1, 3] of the batch.
GraphMessage written_graph(const Graph& graph) {
    Builder builder;
    const std::string rows = builder.input(
        {.name = "rows", .type = ElementType::real32, .axes = {std::string(batch_axis), 1, 3}});
    std::vector<Place> inputs{Place::of_value(rows, true)};
    for (std::size_t i = 1; i < graph.inputs().size(); ++i) {
        Tensor weights(ValueType::real, graph.value(graph.inputs()[i]).shape);
        std::iota(weights.elements.begin(), weights.elements.end(), 0.0);
        inputs.push_back(Place::of_constant(std::move(weights), "weights"));
    }
    for (const std::string& output : translate(builder, graph, std::move(inputs)))
        builder.output(builder.free_name("y"), {.name = output + ".y", .axes = {}});
    return builder.finish("test");
}

TEST(OnnxProtobuf, WritesWhatTheFormatSays) {
    ProtobufWriter out;
    out.integer(1, 150).bytes(2, "testing").integer(3, -1).text(4, "");
    out.integers(5, std::vector<std::int64_t>{3, 270, 86942});
    // Examples of https://protobuf.dev/programming-guides/encoding.
    EXPECT_EQ(out.content(), std::string("\x08\x96\x01"
                                         "\x12\x07testing"
                                         "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                         "\x2a\x06\x03\x8e\x02\x9e\xa7\x05"));
}

/// A row through a layer and a head, a step of them where they have a state.
Graph layer_graph(const test::LayerSample& sample) {
    const auto extents = sample.row.extents();
    const nlohmann::json layers{nlohmann::json(to_json(sample.layer)),
                                {{"type", "dense"}, {"out", 1}}};
    const Network network(
        blueprint_from_json({{"input", std::vector<std::int64_t>(extents.begin(), extents.end())},
                             {"layers", layers}}));
    Graph graph;
    const auto operand = [&](const char* name, ValueType type, std::int64_t count) {
        return graph.input(name, type, Shape{std::max<std::int64_t>(1, count)});
    };
    const NetworkOperands operands{
        .weights = operand("weights", ValueType::real, network.weight_count()),
        .activations = operand("activations", ValueType::integer, network.activation_count()),
        .enabled = operand("enabled", ValueType::boolean, network.slot_count())};
    const Var row = graph.input("row", ValueType::real, {1, network.input_features()});
    for (const Var value : network.step(row, network.initial_state(graph, 1), operands).state)
        graph.output(value);
    return graph;
}

TEST(OnnxOps, EveryLayerIsOfOpsThatHaveNodes) {
    for (const test::LayerSample& sample : test::layer_samples()) {
        const RefusedOp refused = refused_op(lower(layer_graph(sample), has_nodes));
        EXPECT_EQ(refused.op, nullptr) << sample.name << " computes " << refused.op->name;
    }
}

TEST(OnnxOps, WhatIsBitsOrDrawnIsRefused) {
    for (const Op op : {Op::random, Op::encode, Op::decode, Op::unpack, Op::interpret}) {
        EXPECT_FALSE(has_nodes(op)) << name(op);
        EXPECT_EQ(op_info(op).lowering, nullptr) << name(op);
    }
}

TEST(OnnxOps, ARefusedOpIsFoundWithTheSlotThatItIsOf) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 3});
    const Var first = exp(x);
    graph.capture("slot.0", first);
    const Var second = decode(encode(first, NumberFormat::f16), NumberFormat::f16, 3) + 1.0;
    graph.capture("slot.2", second);
    graph.capture("head", tanh(second));
    graph.output(second);
    const RefusedOp refused = refused_op(graph);
    ASSERT_NE(refused.op, nullptr);
    EXPECT_EQ(refused.op->name, "encode");
    EXPECT_EQ(refused.capture, "slot.2");
}

TEST(OnnxTranslation, AnglesAreLimitedButThoseOfInfinities) {
    for (const auto& [function, operation] : {std::pair(&sin, "Sin"), std::pair(&cos, "Cos")}) {
        Graph graph;
        graph.output(function(graph.input("x", ValueType::real, {1, 3}), {}));
        const GraphMessage message = written_graph(graph);
        ASSERT_THAT(operations(message), ElementsAre("Clip", "Sub", operation, "Sub", "Identity"));
        const NodeMessage& none = message.nodes[1];
        EXPECT_THAT(none.inputs, ElementsAre("rows", "rows")) << "x - x is NaN for infinities";
        EXPECT_THAT(message.nodes[3].inputs,
                    ElementsAre(message.nodes[2].outputs.at(0), none.outputs.at(0)));
    }
}

TEST(OnnxTranslation, ProductsOfConstantsAreTurnedWhenTheyAreWritten) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 3});
    const Var weights = graph.input("weights", ValueType::real, {6});
    graph.output(matmul(x, reshape(weights, {2, 3}), false, true));
    const GraphMessage message = written_graph(graph);
    EXPECT_THAT(operations(message), ElementsAre("MatMul", "Identity"));
    ASSERT_EQ(message.initializers.size(), 1U);
    EXPECT_THAT(message.initializers[0].extents, ElementsAre(3, 2));
}

TEST(OnnxTranslation, AnOutputThatNoRowReachesHasTheBatch) {
    Graph graph;
    static_cast<void>(graph.input("x", ValueType::real, {1, 3}));
    graph.output(graph.constant(Tensor(ValueType::real, {1, 2})));
    const GraphMessage message = written_graph(graph);
    EXPECT_THAT(operations(message), ElementsAre("Shape", "Concat", "Expand", "Identity"));
}

TEST(OnnxTranslation, ValuesOfLowerRankBroadcastAfterTheBatch) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 3});
    graph.output(reduce_sum(reduce_sum(x, -1), -1) + x);
    EXPECT_THAT(operations(written_graph(graph)),
                ElementsAre("ReduceSum", "ReduceSum", "Unsqueeze", "Add", "Identity"));
}

TEST(OnnxTranslation, LoopsOfOneStepAreTheirBody) {
    const auto loop = [](std::int64_t length) {
        Graph body;
        const Var carry = body.input("carry", ValueType::real, {1, 3});
        const Var element = body.input("element", ValueType::real, {1, 3});
        body.output(carry + element);
        body.output(carry * element);
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {1, 3});
        const Var start = graph.constant(Tensor(ValueType::real, {1, 3}));
        const Var steps = broadcast(reshape(x, {1, 1, 3}), {length, 1, 3});
        const ScanResult result = scan(std::move(body), std::array{start}, std::array{steps},
                                       std::span<const Var>(), {.length = length});
        graph.output(result.carries[0]);
        graph.output(result.stacked[0]);
        return written_graph(vmap(graph, std::vector<std::size_t>{0}));
    };
    EXPECT_THAT(operations(loop(1)), testing::Not(testing::Contains("Scan")));
    const GraphMessage message = loop(4);
    const auto found =
        std::ranges::find(message.nodes, std::string("Scan"), &NodeMessage::operation);
    ASSERT_NE(found, message.nodes.end());
    EXPECT_EQ(found->outputs.size(), 2U);
    // The carry begins as a constant and has the batch after the first step.
    EXPECT_THAT(operations(message), testing::Contains("Expand").Times(2));
}

TEST(OnnxModel, NamesAndNumbersAreInTheBytes) {
    Builder builder;
    const std::string rows = builder.input({.name = "rows", .axes = {std::string("batch"), 3}});
    const std::string scaled = builder.add("Mul", {rows, builder.scalar(2.0)});
    builder.output(scaled, {.name = "outputs", .axes = {std::string("batch"), 3}});
    const std::string bytes =
        encode({.graph = builder.finish("network"), .documentation = "", .metadata = {{"a", "b"}}});
    for (const char* text : {"rows", "outputs", "Mul", "cambrian", "batch", "network"})
        EXPECT_THAT(bytes, HasSubstr(text));
    // The version of the format, then the producer.
    EXPECT_THAT(bytes, testing::StartsWith("\x08\x08\x12\x08"
                                           "cambrian"));
    EXPECT_THAT(bytes, testing::EndsWith("\x72\x06\x0a\x01"
                                         "a\x12\x01"
                                         "b"));
}

}  // namespace
}  // namespace cambrian::onnx

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian::fuse_formats_test {
namespace {

using test::first_difference;

constexpr NumberFormat f16 = NumberFormat::f16;
constexpr NumberFormat bf16 = NumberFormat::bf16;

bool halves(NumberFormat format) {
    return format == f16;
}
bool none(NumberFormat) {
    return false;
}

std::size_t count(const Graph& graph, Op op) {
    std::size_t total = 0;
    for (const Node& node : graph.nodes()) {
        total += node.op == op ? 1 : 0;
        if (node.op == Op::scan) total += count(*std::get<ScanAttribute>(node.attributes).body, op);
    }
    return total;
}

const MatmulEpilogueAttribute& only_linear(const Graph& graph) {
    const auto found = std::ranges::find(graph.nodes(), Op::matmul_epilogue, &Node::op);
    return std::get<MatmulEpilogueAttribute>(found->attributes);
}

/// Codes of finite numbers, reals, codes of activations.
Tensor random_tensor(const ValueInfo& info, std::int64_t population, std::uint64_t seed) {
    std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
    if (info.per_individual) extents.insert(extents.begin(), population);
    Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
    RandomStream stream(random_key(seed, "fuse formats"), 0);
    for (double& element : tensor.elements) {
        const std::uint32_t word =
            row(f16).encode(stream.normal()) | row(f16).encode(stream.normal()) << 16U;
        element = info.type == ValueType::real ? static_cast<double>(stream.normal())
                  : info.shape.rank() == 0     ? static_cast<double>(stream.index(7))
                                           : static_cast<double>(static_cast<std::int32_t>(word));
    }
    return tensor;
}

void expect_same_results(const Graph& graph, const Graph& other) {
    verify(other);
    constexpr std::int64_t population = 3;
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs())
        inputs.push_back(random_tensor(graph.value(id), population, inputs.size()));
    const auto reference = make_reference_backend(Precision::f32);
    const auto strict = make_cpu_backend({.math = Math::strict});
    for (Backend* backend : {reference.get(), strict.get()}) {
        const auto expected = evaluate(*backend, graph, population, inputs);
        const auto actual = evaluate(*backend, other, population, inputs);
        ASSERT_EQ(actual.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(other.value(other.outputs()[i]), graph.value(graph.outputs()[i]));
            EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1)
                << "output " << i;
        }
    }
}

/// The pass changes no bit and no mark, nor does its way back; returns the graph it made.
Graph checked_fusion(const Graph& graph) {
    Graph fused = fuse_formats(fuse_matmul_epilogue(graph), halves);
    expect_same_results(graph, fused);
    const Graph split = split_formats(fused, none);
    EXPECT_TRUE(std::ranges::none_of(split.nodes(), [](const Node& node) {
        return node.op == Op::matmul_epilogue &&
               std::get<MatmulEpilogueAttribute>(node.attributes).codes;
    }));
    expect_same_results(graph, split);
    EXPECT_EQ(split_formats(fused, halves).nodes().size(), fused.nodes().size());
    return eliminate_dead_code(fused);
}

struct Layer {
    explicit Layer(Graph& graph, NumberFormat format = f16)
        : x(decode(graph.input("x", ValueType::integer, {5, words_of(format, 7)}), format, 7)),
          weights(decode(graph.input("w", ValueType::integer, {4, words_of(format, 7)}, true),
                         format, 7)),
          bias(graph.input("bias", ValueType::real, {4}, true)),
          code(graph.input("code", ValueType::integer, {}, true)) {}
    [[nodiscard]] Var product() const { return matmul(x, weights, false, true); }
    [[nodiscard]] Var layer() const { return activate(product() + bias, code); }
    Var x, weights, bias, code;
};

TEST(FuseFormats, TakesTheCodesOfBothOperands) {
    Graph graph;
    graph.output(Layer(graph).product());

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::decode) + count(fused, Op::matmul), 0U);
    EXPECT_EQ(
        only_linear(fused),
        (MatmulEpilogueAttribute{{false, true}, false, false, ProductCodes{f16, 7, 7, false}}));
}

TEST(FuseFormats, KeepsTheEpilogueAndEncodesBehindIt) {
    Graph graph;
    graph.output(encode(Layer(graph).layer(), f16));

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::encode), 0U);
    EXPECT_EQ(only_linear(fused),
              (MatmulEpilogueAttribute{{false, true}, true, true, ProductCodes{f16, 7, 7, true}}));
}

TEST(FuseFormats, HandsCodesFromLayerToLayer) {
    Graph graph;
    const Layer first(graph);
    const Var second =
        decode(graph.input("second", ValueType::integer, {3, words_of(f16, 4)}, true), f16, 4);
    const Var hidden = decode(encode(first.layer(), f16), f16, 4);
    graph.output(matmul(hidden, second, false, true));

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::decode) + count(fused, Op::encode) + count(fused, Op::matmul), 0U);
    EXPECT_EQ(count(fused, Op::matmul_epilogue), 2U);
}

TEST(FuseFormats, LeavesWhatOthersReadOfAResult) {
    Graph graph;
    const Layer layer(graph);
    const Var y = layer.layer();
    graph.output(encode(y, f16));
    graph.output(y);
    graph.output(layer.weights);
    graph.output(encode(layer.product(), bf16));

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::encode), 2U);
    EXPECT_EQ(count(fused, Op::decode), 1U) << "the weights as an output";
    EXPECT_EQ(count(fused, Op::matmul_epilogue), 2U);
}

TEST(FuseFormats, LeavesOtherOperands) {
    Graph graph;
    const Layer layer(graph);
    const Layer brain(graph, bf16);
    graph.output(brain.product());
    graph.output(matmul(layer.x, brain.weights, false, true));
    graph.output(matmul(-layer.x, layer.weights, false, true));

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::matmul_epilogue), 0U);
    EXPECT_EQ(count(fused, Op::matmul), 3U);
}

TEST(FuseFormats, ReachesIntoScans) {
    Graph body;
    const Var carry = body.input("carry", ValueType::integer, {5, 2});
    const Var weights = body.input("weights", ValueType::integer, {4, 2}, true);
    body.output(encode(matmul(decode(carry, f16, 4), decode(weights, f16, 4), false, true), f16));
    body.set_batch_axes({true, true});
    Graph graph;
    const std::array operands{graph.input("carry", ValueType::integer, {5, 2}, true),
                              graph.input("weights", ValueType::integer, {4, 2}, true)};
    ScanAttribute scan{std::make_shared<const Graph>(body), 3, 1, 0};
    graph.output(graph.add(Op::scan, operands, scan));

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::matmul_epilogue), 1U);
    EXPECT_EQ(count(fused, Op::decode) + count(fused, Op::encode), 0U);
}

}  // namespace
}  // namespace cambrian::fuse_formats_test

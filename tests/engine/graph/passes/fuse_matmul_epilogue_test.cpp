#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian::fuse_matmul_epilogue_test {
namespace {

using test::first_difference;
using test::RandomGraph;

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

Tensor random_tensor(const ValueInfo& info, std::int64_t population, std::uint64_t seed) {
    std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
    if (info.per_individual) extents.insert(extents.begin(), population);
    Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
    RandomStream stream(random_key(seed, "fuse linear"), 0);
    for (double& element : tensor.elements)
        element = info.type == ValueType::real ? static_cast<double>(stream.normal())
                                               : static_cast<double>(stream.index(7));
    return tensor;
}

void expect_same_results(Backend& backend, const Graph& graph, const Graph& fused) {
    verify(fused);
    constexpr std::int64_t population = 3;
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs())
        inputs.push_back(random_tensor(graph.value(id), population, inputs.size()));
    const auto expected = evaluate(backend, graph, population, inputs);
    const auto actual = evaluate(backend, fused, population, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(fused.value(fused.outputs()[i]), graph.value(graph.outputs()[i]));
        EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1) << "output " << i;
    }
}

/// The pass changes no bit and no mark; returns the graph it made.
Graph checked_fusion(const Graph& graph) {
    Graph fused = fuse_matmul_epilogue(graph);
    const auto reference = make_reference_backend(Precision::f32);
    expect_same_results(*reference, graph, fused);
    const auto strict = make_cpu_backend({.math = Math::strict});
    expect_same_results(*strict, graph, fused);
    return fused;
}

struct LayerInputs {
    explicit LayerInputs(Graph& graph, bool shared_product = false)
        : x(graph.input("x", ValueType::real, {5, 7})),
          weights(graph.input("weights", ValueType::real, {4, 7}, !shared_product)),
          bias(graph.input("bias", ValueType::real, {4}, true)),
          code(graph.input("code", ValueType::integer, {}, true)) {}
    [[nodiscard]] Var product() const { return matmul(x, weights, false, true); }
    Var x, weights, bias, code;
};

TEST(FuseMatmulEpilogue, JoinsProductBiasAndActivation) {
    Graph graph;
    const LayerInputs in(graph);
    graph.output(activate(in.product() + in.bias, in.code));

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::matmul_epilogue), 1U);
    EXPECT_EQ(count(fused, Op::matmul) + count(fused, Op::add) + count(fused, Op::activate), 0U);
    EXPECT_EQ(only_linear(fused), (MatmulEpilogueAttribute{{false, true}, true, true}));
}

TEST(FuseMatmulEpilogue, TakesTheBiasOnEitherSide) {
    Graph graph;
    const LayerInputs in(graph);
    graph.output(in.bias + in.product());

    EXPECT_EQ(only_linear(checked_fusion(graph)),
              (MatmulEpilogueAttribute{{false, true}, true, false}));
}

TEST(FuseMatmulEpilogue, JoinsAnActivationWithoutBias) {
    Graph graph;
    const LayerInputs in(graph);
    graph.output(activate(in.product(), in.code));

    EXPECT_EQ(only_linear(checked_fusion(graph)),
              (MatmulEpilogueAttribute{{false, true}, false, true}));
}

TEST(FuseMatmulEpilogue, JoinsWhatFollowsAPackedProduct) {
    constexpr PackedAttribute packed{.dtype = Dtype::uint4, .length = 7};
    Graph graph;
    const LayerInputs in(graph);
    const std::array parts{
        graph.input("words", ValueType::integer, {4, packed_words(packed)}),
        graph.input("scales", ValueType::real, {4, scales_of_row(packed)}),
        graph.input("zero points", ValueType::integer, {4, zero_point_words(packed)})};
    graph.output(activate(matmul(in.x, unpack(parts, packed), false, true) + in.bias, in.code));

    // The bias is of an individual, the product of all: it is not repeated.
    EXPECT_EQ(count(checked_fusion(fuse_packed(graph)), Op::matmul_epilogue), 0U);
    const Graph own = vmap(graph, std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6});
    const Graph fused = checked_fusion(fuse_packed(own));

    MatmulEpilogueAttribute expected{{false, true}, true, true};
    expected.packed = packed;
    EXPECT_EQ(count(fused, Op::packed_matmul) + count(fused, Op::activate), 0U);
    EXPECT_EQ(only_linear(fused), expected);
}

TEST(FuseMatmulEpilogue, FusesEveryLayerOfANetwork) {
    Graph graph;
    const LayerInputs in(graph);
    const Var second = graph.input("second", ValueType::real, {4, 3}, true);
    const Var bias = graph.input("bias", ValueType::real, {3});
    const Var hidden = activate(in.product() + in.bias, in.code);
    graph.output(matmul(hidden, second) + bias);
    graph.output(hidden);

    EXPECT_EQ(count(checked_fusion(graph), Op::matmul_epilogue), 2U);
}

TEST(FuseMatmulEpilogue, LeavesIntermediateValuesThatOthersRead) {
    Graph graph;
    const LayerInputs in(graph);
    const Var product = in.product();
    graph.output(product + in.bias);
    graph.output(tanh(product));
    const Var sum = in.product() + in.bias;
    graph.output(activate(sum, in.code));
    graph.output(sum);
    const Var output = in.product();
    graph.output(output);
    graph.output(activate(output, in.code));

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::matmul_epilogue), 1U) << "the product and bias of `sum`";
    EXPECT_EQ(count(fused, Op::activate), 2U);
    EXPECT_EQ(count(fused, Op::matmul), 2U);
}

TEST(FuseMatmulEpilogue, LeavesSumsThatAreNoBias) {
    Graph graph;
    const LayerInputs in(graph);
    const Var row = graph.input("row", ValueType::real, {1, 4});
    const Var column = graph.input("column", ValueType::real, {5, 1});
    const Var scalar = graph.input("scalar", ValueType::real, {1});
    for (const Var other : {row, column, scalar, in.product()}) graph.output(in.product() + other);
    graph.output(in.product() - in.bias);

    EXPECT_EQ(count(checked_fusion(graph), Op::matmul_epilogue), 0U);
}

TEST(FuseMatmulEpilogue, DoesNotRepeatASharedProductForEveryIndividual) {
    Graph graph;
    const LayerInputs in(graph, true);
    const Var shared = graph.input("shared", ValueType::real, {4});
    graph.output(in.product() + in.bias);
    graph.output(activate(in.product() + shared, in.code));

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::matmul_epilogue), 1U);
    EXPECT_EQ(count(fused, Op::activate), 1U);
    EXPECT_FALSE(only_linear(fused).activation);
}

TEST(FuseMatmulEpilogue, KeepsABroadcastBatch) {
    Graph graph;
    const Var a = graph.input("a", ValueType::real, {2, 1, 3, 5});
    const Var b = graph.input("b", ValueType::real, {4, 5, 2}, true);
    const Var bias = graph.input("bias", ValueType::real, {2}, true);
    graph.output(matmul(a, b) + bias);

    EXPECT_EQ(count(checked_fusion(graph), Op::matmul_epilogue), 1U);
}

TEST(FuseMatmulEpilogue, WorksInBodiesOfScans) {
    Graph body;
    const Var state = body.input("state", ValueType::real, {1, 4});
    const Var weights = body.input("weights", ValueType::real, {4, 4});
    const Var bias = body.input("bias", ValueType::real, {4});
    const Var code = body.input("code", ValueType::integer, {});
    body.output(activate(matmul(state, weights) + bias, code));
    Graph graph;
    const std::vector<Var> carries{graph.input("state", ValueType::real, {1, 4})};
    const std::vector<Var> invariants{graph.input("weights", ValueType::real, {4, 4}, true),
                                      graph.input("bias", ValueType::real, {4}, true),
                                      graph.input("code", ValueType::integer, {})};
    graph.output(scan(std::move(body), carries, {}, invariants, {.length = 6}).carries[0]);

    const Graph fused = checked_fusion(graph);

    EXPECT_EQ(count(fused, Op::matmul_epilogue), 1U);
    EXPECT_EQ(count(fused, Op::matmul), 0U);
}

TEST(FuseMatmulEpilogue, ChangesNoResultOfRandomGraphs) {
    const auto backend = make_reference_backend(Precision::f32);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const RandomGraph random(seed, 40);
        const Graph fused = fuse_matmul_epilogue(random.graph);
        verify(fused);
        const auto inputs = random.inputs(2);
        const auto expected = evaluate(*backend, random.graph, 2, inputs);
        const auto actual = evaluate(*backend, fused, 2, inputs);
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1)
                << "seed " << seed;
    }
}

}  // namespace
}  // namespace cambrian::fuse_matmul_epilogue_test

#include "cambrian/engine/graph/passes/passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian::passes_test {
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

const ScanAttribute& only_scan(const Graph& graph) {
    const auto found = std::ranges::find(graph.nodes(), Op::scan, &Node::op);
    return std::get<ScanAttribute>(found->attributes);
}

TEST(Vmap, GivesABatchAxisToWhatDependsOnItAndNothingElse) {
    Graph graph;
    const Var weights = graph.input("weights", ValueType::real, {3});
    const Var data = graph.input("data", ValueType::real, {3});
    graph.output(weights * data);
    graph.output(data + 1.0);

    const Graph marked = vmap(graph, std::array{std::size_t{0}});

    EXPECT_TRUE(marked.value(marked.outputs()[0]).per_individual);
    EXPECT_FALSE(marked.value(marked.outputs()[1]).per_individual);
    EXPECT_FALSE(marked.value(data.id).per_individual);
    EXPECT_FALSE(graph.value(graph.outputs()[0]).per_individual) << "the source is unchanged";
    verify(marked);
}

/// A scan with a carry that is used, one that only itself reads, and two stacked results.
Graph two_groups() {
    Graph body;
    const Var a = body.input("a", ValueType::real, {});
    const Var b = body.input("b", ValueType::real, {});
    const Var x = body.input("x", ValueType::real, {});
    const Var y = body.input("y", ValueType::real, {});
    const Var code = body.input("code", ValueType::integer, {});
    body.output(activate(a + x, code));
    body.output(b * y);
    body.output(a);
    body.output(b);

    Graph graph;
    std::vector<Var> inputs;
    for (const char* input : {"a", "b"}) inputs.push_back(graph.input(input, ValueType::real, {}));
    for (const char* input : {"x", "y"}) inputs.push_back(graph.input(input, ValueType::real, {4}));
    inputs.push_back(graph.input("code", ValueType::integer, {}));
    const std::span<const Var> all(inputs);
    const ScanResult result =
        scan(std::move(body), all.first(2), all.subspan(2, 2), all.subspan(4), {.length = 4});
    graph.output(result.carries[0]);
    graph.output(result.stacked[0]);
    return graph;
}

TEST(DeadCode, RemovesUnusedCarriesAndSequencesOfScans) {
    const Graph graph = eliminate_dead_code(two_groups());
    verify(graph);

    EXPECT_EQ(graph.inputs().size(), 5U) << "inputs of the graph stay";
    const ScanAttribute& scan = only_scan(graph);
    EXPECT_EQ(scan.carries, 1);
    EXPECT_EQ(scan.sequences, 1);
    EXPECT_EQ(scan.body->inputs().size(), 3U);
    EXPECT_EQ(scan.body->outputs().size(), 2U);
    EXPECT_EQ(count(graph, Op::mul), 0U);
}

TEST(DeadCode, KeepsTheCarryThatMayStopTheLoop) {
    Graph body;
    const Var value = body.input("value", ValueType::real, {});
    const Var alive = body.input("alive", ValueType::boolean, {});
    body.output(select(alive, value * 0.5, value));
    body.output(alive);
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {});
    const Var flag = graph.input("flag", ValueType::boolean, {});
    graph.output(
        scan(std::move(body), std::array{start, flag}, {}, {}, {.length = 9, .alive_carry = 1})
            .carries[0]);

    const ScanAttribute scan = only_scan(eliminate_dead_code(graph));

    EXPECT_EQ(scan.carries, 2);
    EXPECT_EQ(scan.alive_carry, 1);
}

TEST(DeadCode, RemovesGradientsNobodyAskedFor) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 3});
    const Var w = graph.input("w", ValueType::real, {4, 3});
    const std::vector<Var> gradients =
        gradient(sum_all(tanh(matmul(x, w, false, true))), std::array{x, w});
    graph.output(gradients[1]);

    EXPECT_EQ(count(graph, Op::matmul), 3U);
    EXPECT_EQ(count(eliminate_dead_code(graph), Op::matmul), 2U);
}

TEST(DeadCode, ChangesNoResult) {
    const auto backend = make_reference_backend(Precision::f32);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const RandomGraph random(seed);
        const Graph pruned = eliminate_dead_code(random.graph);
        verify(pruned);
        EXPECT_LE(pruned.nodes().size(), random.graph.nodes().size());
        const auto inputs = random.inputs(2);
        const auto expected = evaluate(*backend, random.graph, 2, inputs);
        const auto actual = evaluate(*backend, pruned, 2, inputs);
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1)
                << "seed " << seed;
    }
}

TEST(Lower, ReplacesFusedOpsWithoutAKernelInBodiesToo) {
    const Graph graph = vmap(two_groups(), std::array{std::size_t{4}});
    ASSERT_EQ(count(graph, Op::activate), 1U);

    const Graph lowered = lower(graph, [](Op) { return false; });

    verify(lowered);
    EXPECT_EQ(count(lowered, Op::activate), 0U);
    EXPECT_TRUE(lowered.value(lowered.outputs()[0]).per_individual);
    EXPECT_EQ(lowered.value(lowered.outputs()[1]), graph.value(graph.outputs()[1]));
    EXPECT_EQ(count(lower(graph, [](Op op) { return op == Op::activate; }), Op::activate), 1U);
}

}  // namespace
}  // namespace cambrian::passes_test

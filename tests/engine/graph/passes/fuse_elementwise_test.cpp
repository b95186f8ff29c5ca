#include <gtest/gtest.h>

#include <algorithm>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian::fuse_elementwise_test {
namespace {

using test::first_difference;
using test::RandomGraph;

constexpr FusionRules elementwise_only{};
constexpr FusionRules with_reductions{.reductions = true};

std::size_t count(const Graph& graph, Op op) {
    return static_cast<std::size_t>(std::ranges::count(graph.nodes(), op, &Node::op));
}

/// Nodes that are neither inputs nor constants.
std::size_t operations(const Graph& graph) {
    return graph.nodes().size() - count(graph, Op::input) - count(graph, Op::constant);
}

const Graph& only_body(const Graph& graph) {
    EXPECT_EQ(count(graph, Op::fused), 1U) << dump(graph);
    const auto found = std::ranges::find(graph.nodes(), Op::fused, &Node::op);
    return *std::get<FusedAttribute>(found->attributes).body;
}

TEST(FuseElementwise, JoinsNodesWithTheirOnlyUser) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 5}, true);
    const Var bias = graph.input("bias", ValueType::real, {5});
    graph.output(tanh(x * 2.0 + bias) * 0.5);

    const Graph fused = fuse_elementwise(graph, elementwise_only);

    verify(fused);
    EXPECT_EQ(operations(fused), 1U) << dump(fused);
    EXPECT_EQ(count(fused, Op::constant), 0U) << "numbers live in the body";
    EXPECT_EQ(operations(only_body(fused)), 4U);
    EXPECT_EQ(only_body(fused).inputs().size(), 2U);
    EXPECT_EQ(fused.value(fused.outputs()[0]), graph.value(graph.outputs()[0]));
}

TEST(FuseElementwise, LeavesSingleNodesAndAliases) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    graph.output(x + 1.0);
    graph.output(tanh(stop_gradient(x)));
    EXPECT_EQ(count(fuse_elementwise(graph, with_reductions), Op::fused), 0U);
}

TEST(FuseElementwise, StoresWhatIsReadTwice) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    const Var shared = exp(x * 2.0);
    graph.output(sin(shared) + 1.0);
    graph.output(cos(shared) + 2.0);
    const Graph fused = fuse_elementwise(graph, elementwise_only);
    EXPECT_EQ(operations(fused), 3U) << dump(fused);
    EXPECT_EQ(count(fused, Op::fused), 3U);
}

TEST(FuseElementwise, HoldsAValueThatOnlyItsOwnNodesRead) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    const Var slope = sigmoid(x);
    graph.output(slope * (1.0 - slope));
    EXPECT_EQ(operations(fuse_elementwise(graph, elementwise_only)), 1U);
}

TEST(FuseElementwise, KeepsOutputsAsTheyAre) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    const Var middle = exp(x * 2.0);
    graph.output(middle);
    graph.output(tanh(middle) + 1.0);
    const Graph fused = fuse_elementwise(graph, elementwise_only);
    EXPECT_EQ(count(fused, Op::fused), 2U) << dump(fused);
}

TEST(FuseElementwise, SharedValuesStayShared) {
    Graph graph;
    const Var mine = graph.input("mine", ValueType::real, {4}, true);
    const Var ours = graph.input("ours", ValueType::real, {4});
    graph.output(mine * exp(sin(ours)));
    const Graph fused = fuse_elementwise(graph, with_reductions);
    verify(fused);
    EXPECT_EQ(operations(only_body(fused)), 2U) << dump(fused);
    EXPECT_FALSE(only_body(fused).value(only_body(fused).outputs()[0]).per_individual);
}

TEST(FuseElementwise, SmallerValuesAreNotComputedForEveryRow) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {100, 4});
    const Var gain = graph.input("gain", ValueType::real, {4});
    graph.output(x * exp(sin(gain)));
    const Graph fused = fuse_elementwise(graph, with_reductions);
    EXPECT_EQ(operations(fused), 2U) << dump(fused);
}

TEST(FuseElementwise, RespectsTheRules) {
    Graph graph;
    Var sum = graph.input("x", ValueType::real, {4});
    for (int i = 0; i < 40; ++i) sum = sum + graph.input("y", ValueType::real, {4});
    graph.output(sum);
    const Graph fused = fuse_elementwise(graph, {.max_nodes = 3, .max_operands = 6});
    for (const Node& node : fused.nodes()) {
        if (node.op != Op::fused) continue;
        EXPECT_LE(node.operand_count, 4U);
        EXPECT_LE(operations(*std::get<FusedAttribute>(node.attributes).body), 3U);
    }
    const Graph narrow = fuse_elementwise(graph, {.max_operands = 3});
    for (const Node& node : narrow.nodes()) EXPECT_LE(node.operand_count, 3U);
    EXPECT_EQ(operations(narrow), 20U);
}

TEST(FuseElementwise, TakesSoftmaxAndNormsWhole) {
    const auto fused_operations = [](auto build) {
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {3, 7}, true);
        graph.output(build(graph, x));
        const Graph fused = fuse_elementwise(graph, with_reductions);
        verify(fused);
        EXPECT_EQ(fused.value(fused.outputs()[0]), graph.value(graph.outputs()[0]));
        EXPECT_LE(only_body(fused).inputs().size(), 3U);
        return operations(fused);
    };
    EXPECT_EQ(fused_operations([](Graph&, Var x) { return softmax(x, -1); }), 1U);
    EXPECT_EQ(fused_operations([](Graph&, Var x) { return log_softmax(x, -1); }), 1U);
    EXPECT_EQ(fused_operations([](Graph& graph, Var x) {
                  const Var gain = graph.input("gain", ValueType::real, {7}, true);
                  return x * rsqrt(reduce_mean(square(x), -1, true) + 1e-6) * gain;
              }),
              1U);
    EXPECT_EQ(fused_operations([](Graph& graph, Var x) {
                  const Var gain = graph.input("gain", ValueType::real, {7});
                  const Var centred = x - reduce_mean(x, -1, true);
                  const Var variance = reduce_mean(square(centred), -1, true);
                  return centred * rsqrt(variance + 1e-5) * gain;
              }),
              1U);
    EXPECT_EQ(fused_operations([](Graph& graph, Var x) {
                  const Var goals = graph.input("goals", ValueType::integer, {3, 1});
                  const Var right = equal(goals, iota(graph, 7));
                  const Var zero = constant(graph, 0.0);
                  return reduce_sum(select(right, -log_softmax(x, -1), zero), -1);
              }),
              4U)
        << "iota, the shared comparison, the chain and a reshape without its axis";
}

TEST(FuseElementwise, WithoutReductionsOnlyTheirSurroundings) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 7});
    graph.output(softmax(x, -1));
    EXPECT_EQ(operations(graph), 7U);
    EXPECT_EQ(operations(fuse_elementwise(graph, elementwise_only)), 6U) << "x - max and its exp";
}

TEST(FuseElementwise, LeavesLongRowsToLargerReductions) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 100});
    graph.output(reduce_sum(square(x), -1, true) * 2.0);
    FusionRules rules = with_reductions;
    EXPECT_EQ(operations(fuse_elementwise(graph, rules)), 1U);
    rules.longest_row = 99;
    EXPECT_EQ(operations(fuse_elementwise(graph, rules)), 3U);
}

TEST(FuseElementwise, LeavesSmallValuesAsTheyAre) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4, 25});
    graph.output(reduce_sum(square(x), -1, true) * 2.0);
    FusionRules rules = with_reductions;
    rules.min_elements = 100;
    EXPECT_TRUE(may_hold_fusion_groups(graph, rules));
    EXPECT_EQ(operations(fuse_elementwise(graph, rules)), 1U) << "the rows have 100 elements";
    rules.min_elements = 101;
    EXPECT_FALSE(may_hold_fusion_groups(graph, rules));
    EXPECT_EQ(operations(fuse_elementwise(graph, rules)), 3U);
}

TEST(FuseElementwise, RowsOfOneChainAreEquallyLong) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 5});
    const Var y = graph.input("y", ValueType::real, {3, 7});
    graph.output(reduce_sum(square(x), -1, true) + reduce_sum(square(y), -1, true));
    const Graph fused = fuse_elementwise(graph, with_reductions);
    ASSERT_EQ(count(fused, Op::fused), 2U) << dump(fused);
    for (const Node& node : fused.nodes()) {
        if (node.op != Op::fused) continue;
        const Graph& body = *std::get<FusedAttribute>(node.attributes).body;
        EXPECT_EQ(count(body, Op::reduce_sum), 1U) << dump(fused);
    }
}

TEST(FuseElementwise, FusesBodiesOfScans) {
    Graph body;
    const Var carry = body.input("carry", ValueType::real, {3});
    const Var step = body.input("step", ValueType::real, {3});
    body.output(tanh(carry * 0.5 + step));
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {3}, true);
    const Var steps = graph.input("steps", ValueType::real, {4, 3});
    graph.output(
        scan(std::move(body), std::array{start}, std::array{steps}, {}, {.length = 4}).carries[0]);
    const Graph fused = fuse_elementwise(graph, elementwise_only);
    verify(fused);
    const auto found = std::ranges::find(fused.nodes(), Op::scan, &Node::op);
    EXPECT_EQ(operations(only_body(*std::get<ScanAttribute>(found->attributes).body)), 3U);
}

TEST(FuseElementwise, ChangesNoBit) {
    const auto backend = make_cpu_backend({.threads = 1});
    std::size_t groups = 0;
    std::size_t reductions = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const RandomGraph random(seed, 40);
        const auto inputs = random.inputs(2);
        const auto expected = evaluate(*backend, random.graph, 2, inputs);
        for (const FusionRules& rules :
             {elementwise_only, with_reductions, FusionRules{true, 5, 2, 9}}) {
            const Graph fused = fuse_elementwise(random.graph, rules);
            verify(fused);
            for (const Node& node : fused.nodes()) {
                if (node.op != Op::fused) continue;
                const Graph& body = *std::get<FusedAttribute>(node.attributes).body;
                verify(body);
                ++groups;
                reductions += count(body, Op::reduce_sum) + count(body, Op::reduce_max);
                EXPECT_LE(node.operand_count, rules.max_operands);
            }
            for (std::size_t i = 0; i < expected.size(); ++i)
                EXPECT_EQ(fused.value(fused.outputs()[i]),
                          random.graph.value(random.graph.outputs()[i]));
            const auto actual = evaluate(*backend, fused, 2, inputs);
            for (std::size_t i = 0; i < expected.size(); ++i)
                EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1)
                    << "seed " << seed << " output " << i;
        }
    }
    EXPECT_GT(groups, 1000U);
    EXPECT_GT(reductions, 50U);
}

}  // namespace
}  // namespace cambrian::fuse_elementwise_test

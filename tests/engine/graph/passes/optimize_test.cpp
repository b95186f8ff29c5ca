#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/backend/update_support.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian::optimize_test {
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

/// Nodes that would run: no inputs, no constants.
std::size_t work(const Graph& graph) {
    return static_cast<std::size_t>(std::ranges::count_if(graph.nodes(), [](const Node& node) {
        return node.op != Op::input && node.op != Op::constant;
    }));
}

const ScanAttribute& only_scan(const Graph& graph) {
    return std::get<ScanAttribute>(
        std::ranges::find(graph.nodes(), Op::scan, &Node::op)->attributes);
}

Graph folded(const Graph& graph) {
    Graph result = eliminate_dead_code(fold_constants(graph, evaluate_node));
    verify(result);
    return result;
}

Graph merged(const Graph& graph) {
    Graph result = eliminate_dead_code(eliminate_common_subexpressions(graph));
    verify(result);
    return result;
}

/// A graph of one real input [2, 3] for each individual and the output that `build` makes of it.
template <class Build>
Graph of_input(const Build& build) {
    Graph graph;
    graph.output(build(graph.input("x", ValueType::real, {2, 3}, true)));
    return graph;
}

/// Every output has the same bits as the source's, on the reference.
void expect_same_bits(const Graph& source, const Graph& changed, std::span<const Tensor> inputs,
                      std::int64_t population) {
    const auto backend = make_reference_backend(Precision::f32);
    const auto expected = evaluate(*backend, source, population, inputs);
    const auto actual = evaluate(*backend, changed, population, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1) << "output " << i;
        EXPECT_EQ(changed.value(changed.outputs()[i]), source.value(source.outputs()[i]));
    }
}

TEST(FoldConstants, ComputesWhatIsKnown) {
    const Graph graph = folded(of_input([](Var x) {
        const Var table = cast(iota(*x.graph, 3), ValueType::real) * 0.5 + 1.0;
        return x * exp(table);
    }));
    EXPECT_EQ(work(graph), 1U) << dump(graph);
    const Node& table = graph.producer(graph.operands(graph.nodes().back())[1]);
    const auto& elements = std::get<ConstantAttribute>(table.attributes).value->elements;
    ASSERT_EQ(elements.size(), 3U);
    EXPECT_NEAR(elements[2], std::exp(2.0), 1e-6);
}

TEST(FoldConstants, KeepsEqualElementsAsOneNumber) {
    const Graph graph = folded(of_input([](Var x) {
        const Var ones = broadcast(constant(*x.graph, 1.0), {4000});
        return x + slice(ones + ones, 0, 0, 3);
    }));
    EXPECT_EQ(work(graph), 1U) << dump(graph);
    for (const Node& node : graph.nodes())
        if (node.op == Op::constant) {
            EXPECT_EQ(graph.value(ValueId{node.first_result}).shape.elements(), 1);
        }
}

TEST(FoldConstants, LeavesLargeResultsToTheRun) {
    Graph graph;
    const Var many = cast(iota(graph, 5000), ValueType::real);
    graph.output(many * many);
    EXPECT_EQ(work(folded(graph)), 3U);
}

TEST(FoldConstants, LeavesDataErrorsToTheRun) {
    Graph graph;
    const Var table = graph.constant(Tensor(ValueType::real, {2}, {1.0, 2.0}));
    graph.output(gather(table, graph.constant(Tensor(ValueType::integer, {1}, {7.0}))));
    const Graph result = folded(graph);
    EXPECT_EQ(count(result, Op::gather), 1U);
    const auto backend = make_reference_backend(Precision::f32);
    EXPECT_THROW((void)evaluate(*backend, result, 1, {}), InputError);
}

TEST(FoldConstants, LeavesSumsToTheBackend) {
    Graph graph;
    const Var table = graph.constant(Tensor(ValueType::real, {2}, {1.0, 2.0}));
    graph.output(sum_all(table));
    EXPECT_EQ(count(folded(graph), Op::reduce_sum), 1U) << "fast math may choose the order";
}

TEST(FoldConstants, RemovesWhatChangesNoBit) {
    const auto nothing_left = [](auto build) { return work(folded(of_input(build))) == 0; };
    EXPECT_TRUE(nothing_left([](Var x) { return x * 1.0; }));
    EXPECT_TRUE(nothing_left([](Var x) { return 1.0 * x; }));
    EXPECT_TRUE(nothing_left([](Var x) { return x - 0.0; }));
    EXPECT_TRUE(nothing_left([](Var x) { return x + -0.0; }));
    EXPECT_TRUE(nothing_left([](Var x) { return -(-x); }));
    EXPECT_TRUE(nothing_left([](Var x) { return min(x, x); }));
    EXPECT_TRUE(nothing_left([](Var x) { return cast(x, ValueType::real); }));
    EXPECT_TRUE(nothing_left([](Var x) { return reshape(reshape(x, {6}), {2, 3}); }));
    EXPECT_TRUE(nothing_left([](Var x) { return transpose(transpose(x)); }));
    EXPECT_TRUE(nothing_left([](Var x) { return broadcast(x, {2, 3}); }));
    EXPECT_TRUE(nothing_left([](Var x) { return slice(x, 1, 0, 3); }));
    EXPECT_TRUE(nothing_left([](Var x) { return pad(x, 0, 0, 0); }));
    EXPECT_TRUE(nothing_left([](Var x) { return concat(std::array{x}, 1); }));
    EXPECT_TRUE(
        nothing_left([](Var x) { return select(less(constant(*x.graph, 1.0), 2.0), x, x * 2.0); }));
}

TEST(FoldConstants, KeepsWhatChangesABit) {
    const auto one_left = [](auto build) { return work(folded(of_input(build))) == 1; };
    EXPECT_TRUE(one_left([](Var x) { return x + 0.0; })) << "-0 + 0 is 0";
    EXPECT_TRUE(one_left([](Var x) { return x - (-0.0); })) << "-0 - -0 is 0";
    EXPECT_TRUE(one_left([](Var x) { return x * 0.0; })) << "infinity times 0 is no number";
    EXPECT_TRUE(one_left([](Var x) { return x / 1.0; })) << "a quotient flushes its operands";
    EXPECT_TRUE(one_left([](Var x) { return slice(x, 1, 0, 2); }));
}

TEST(FoldConstants, JoinsMovements) {
    const auto one_left = [](auto build) { return work(folded(of_input(build))) == 1; };
    EXPECT_TRUE(one_left([](Var x) { return reshape(reshape(x, {6}), {3, 2}); }));
    EXPECT_TRUE(one_left([](Var x) { return slice(slice(x, 1, 1, 2), 1, 1, 1); }));
    EXPECT_TRUE(one_left([](Var x) { return broadcast(broadcast(x, {1, 2, 3}), {4, 2, 3}); }));
    EXPECT_TRUE(one_left([](Var x) { return x * broadcast(constant(*x.graph, 3.0), {2, 3}); }));
    EXPECT_TRUE(one_left([](Var x) {
        const Var many = broadcast(constant(*x.graph, 3.0), {3, 5000});
        return x * slice(reshape(many, {5000, 3}), 0, 7, 2);
    }));
}

TEST(FoldConstants, KeepsTheMarkOfWhatItReplaces) {
    Graph graph;
    const Var own = graph.input("own", ValueType::real, {3}, true);
    const Var shared = graph.input("shared", ValueType::real, {3});
    graph.output(select(less(constant(graph, 3.0), 2.0), own, shared));
    const Graph result = folded(graph);
    EXPECT_TRUE(result.value(result.outputs()[0]).per_individual)
        << "the caller binds one for each individual";
}

TEST(FoldConstants, KeepsSubnormalsInfinitiesAndSigns) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {6});
    graph.output(x * 1.0 - 0.0);
    graph.output(x + -0.0);
    graph.output(-(-x));
    const std::vector<Tensor> inputs{
        Tensor(ValueType::real, {6},
               {-0.0, 0.0, 0x1p-149, -0x1p-140, std::numeric_limits<double>::infinity(), -1.5})};
    expect_same_bits(graph, folded(graph), inputs, 1);
}

TEST(CommonSubexpressions, AreComputedOnce) {
    const Graph graph = merged(of_input(
        [](Var x) { return exp(x * 2.0) + exp(x * 2.0) + slice(x, 0, 0, 1) * slice(x, 0, 1, 1); }));
    EXPECT_EQ(count(graph, Op::exp), 1U);
    EXPECT_EQ(count(graph, Op::slice), 2U) << "other parts are other values";
    EXPECT_EQ(count(graph, Op::constant), 1U);
}

TEST(CommonSubexpressions, ConstantsAreComparedByTheirBits) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    graph.output(x * 0.0);
    graph.output(x * -0.0);
    graph.output(x * graph.constant(Tensor(ValueType::real, {1}, {0.0})));
    EXPECT_EQ(count(merged(graph), Op::constant), 3U);
}

TEST(CommonSubexpressions, EqualDrawsAreOneAndOtherKeysAreNot) {
    Graph graph;
    const Var ids = graph.input("ids", ValueType::integer, {4});
    const auto draws = [&](double low, std::int64_t number) {
        const Var key = graph.constant(Tensor(ValueType::integer, {2}, {low, 5.0}));
        return random(key, ids, number);
    };
    for (const Var value : {draws(1, 3), draws(1, 3), draws(2, 3), draws(1, 2)})
        graph.output(value);
    EXPECT_EQ(count(merged(graph), Op::random), 3U);
}

TEST(CommonSubexpressions, ReachesIntoScansAndComparesThem) {
    const auto body = [](double factor) {
        Graph step;
        const Var a = step.input("a", ValueType::real, {});
        step.output(tanh(a * factor) + tanh(a * factor));
        return step;
    };
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    for (const double factor : {2.0, 2.0, 3.0})
        graph.output(scan(body(factor), std::array{x}, {}, {}, {.length = 4}).carries[0]);
    const Graph result = merged(graph);
    EXPECT_EQ(count(result, Op::scan), 2U);
    EXPECT_EQ(count(result, Op::tanh), 2U);
}

/// y = tanh(c + x_t W), with W = w * w and a gather by an invariant index, for 5 steps.
Graph loop_with_invariants(bool may_stop) {
    Graph body;
    const Var c = body.input("c", ValueType::real, {2, 3});
    Var alive;
    if (may_stop) alive = body.input("alive", ValueType::boolean, {});
    const Var w = body.input("w", ValueType::real, {3, 3});
    const Var index = body.input("index", ValueType::integer, {2});
    const Var moved = tanh(matmul(c, w * w) + gather(w, index) * broadcast(sum_all(w), {2, 3}));
    body.output(may_stop ? select(alive, moved, c) : moved);
    if (may_stop) body.output(alive);
    Graph graph;
    std::vector<Var> carries{graph.input("c", ValueType::real, {2, 3}, true)};
    if (may_stop) carries.push_back(graph.input("alive", ValueType::boolean, {}, true));
    const std::vector<Var> invariants{graph.input("w", ValueType::real, {3, 3}, true),
                                      graph.input("index", ValueType::integer, {2})};
    graph.output(scan(std::move(body), carries, {}, invariants,
                      {.length = 5, .alive_carry = may_stop ? 1 : -1})
                     .carries[0]);
    return graph;
}

TEST(HoistInvariants, MovesWhatEveryStepWouldRepeat) {
    const Graph graph = loop_with_invariants(false);
    const Graph hoisted = eliminate_dead_code(hoist_invariants(graph));
    verify(hoisted);
    const Graph& body = *only_scan(hoisted).body;
    EXPECT_EQ(count(body, Op::mul), 0U) << dump(hoisted);
    EXPECT_EQ(count(body, Op::gather), 0U);
    EXPECT_EQ(count(body, Op::matmul), 1U);
    const std::vector<Tensor> inputs{
        Tensor(ValueType::real, {1, 2, 3}, {0.1, -0.2, 0.3, 0.5, 0.7, -1.1}),
        Tensor(ValueType::real, {1, 3, 3}, {0.3, 0.1, 0.2, -0.5, 0.9, 0.4, 0.6, -0.7, 0.8}),
        Tensor(ValueType::integer, {2}, {2.0, 0.0})};
    expect_same_bits(graph, hoisted, inputs, 1);
}

TEST(HoistInvariants, LeavesDataErrorsInLoopsThatMayTakeNoStep) {
    const Graph hoisted = hoist_invariants(loop_with_invariants(true));
    verify(hoisted);
    EXPECT_EQ(count(*only_scan(hoisted).body, Op::gather), 1U);
    EXPECT_EQ(count(hoisted, Op::gather), 1U);
}

/// A loop that may stop around one that looks up rows 0, 1 and 2 of a table of two.
Graph lookups_in_a_loop_that_may_stop() {
    Graph steps;
    const Var row = steps.input("row", ValueType::integer, {1});
    const Var sum = steps.input("sum", ValueType::real, {1});
    const Var rows = steps.input("table", ValueType::real, {2});
    steps.output(row + 1);
    steps.output(sum + gather(rows, row));
    Graph body;
    const Var alive = body.input("alive", ValueType::boolean, {});
    const Var total = body.input("total", ValueType::real, {1});
    const Var first = body.input("row", ValueType::integer, {1});
    const Var zero = body.input("zero", ValueType::real, {1});
    const Var table = body.input("table", ValueType::real, {2});
    const ScanResult found =
        scan(std::move(steps), std::array{first, zero}, {}, std::array{table}, {.length = 3});
    body.output(alive);
    body.output(select(alive, total + found.carries[1], total));
    Graph graph;
    const std::vector<Var> carries{graph.input("alive", ValueType::boolean, {}, true),
                                   graph.input("total", ValueType::real, {1})};
    const std::vector<Var> invariants{graph.input("row", ValueType::integer, {1}),
                                      graph.input("zero", ValueType::real, {1}),
                                      graph.input("table", ValueType::real, {2})};
    graph.output(
        scan(std::move(body), carries, {}, invariants, {.length = 2, .alive_carry = 0}).carries[1]);
    return graph;
}

TEST(HoistInvariants, LeavesLoopsWithDataErrorsInLoopsThatMayTakeNoStep) {
    const Graph graph = lookups_in_a_loop_that_may_stop();
    const auto inputs = [](double alive) {
        return std::vector<Tensor>{Tensor(ValueType::boolean, {1}, {alive}),
                                   Tensor(ValueType::real, {1}, {5}),
                                   Tensor(ValueType::integer, {1}), Tensor(ValueType::real, {1}),
                                   Tensor(ValueType::real, {2})};
    };
    for (const auto& backend : {make_reference_backend(Precision::f32), make_cpu_backend({})}) {
        EXPECT_EQ(evaluate(*backend, graph, 1, inputs(0.0))[0].elements, std::vector<double>{5.0});
        EXPECT_THROW((void)evaluate(*backend, graph, 1, inputs(1.0)), InputError);
    }
}

TEST(HoistInvariants, LeavesViewsInTheBody) {
    Graph body;
    const Var c = body.input("c", ValueType::real, {4, 3});
    const Var row = body.input("row", ValueType::real, {9});
    body.output(c + broadcast(slice(row, 0, 3, 3), {4, 3}));
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {4, 3});
    const Var rows = graph.input("rows", ValueType::real, {9});
    graph.output(
        scan(std::move(body), std::array{start}, {}, std::array{rows}, {.length = 3}).carries[0]);
    const ScanAttribute scan = only_scan(hoist_invariants(graph));
    EXPECT_EQ(scan.body->inputs().size(), 2U);
    EXPECT_EQ(count(*scan.body, Op::broadcast), 1U);
}

TEST(HoistInvariants, LeavesNestedLoopsStepByStep) {
    Graph inner;
    const Var a = inner.input("a", ValueType::real, {});
    const Var w = inner.input("w", ValueType::real, {});
    inner.output(a * exp(w));
    Graph outer;
    const Var b = outer.input("b", ValueType::real, {});
    const Var v = outer.input("v", ValueType::real, {});
    outer.output(
        scan(std::move(inner), std::array{b}, {}, std::array{v}, {.length = 3}).carries[0]);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    const Var y = graph.input("y", ValueType::real, {});
    graph.output(
        scan(std::move(outer), std::array{x}, {}, std::array{y}, {.length = 2}).carries[0]);
    const Graph hoisted = eliminate_dead_code(hoist_invariants(graph));
    verify(hoisted);
    EXPECT_EQ(count(hoisted, Op::exp), 1U);
    EXPECT_EQ(count(*only_scan(hoisted).body, Op::exp), 0U) << "out of both loops";
}

TEST(Optimize, ChangesNoBitOfRandomGraphs) {
    const auto none = [](Op) { return false; };
    const auto all = [](Op) { return true; };
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const RandomGraph random(seed);
        const auto inputs = random.inputs(2);
        expect_same_bits(random.graph,
                         optimize(random.graph, {.has_kernel = none, .evaluate = evaluate_node}),
                         inputs, 2);
        expect_same_bits(random.graph,
                         optimize(random.graph, {.has_kernel = all,
                                                 .evaluate = evaluate_node,
                                                 .fuse_matmul_epilogue = true,
                                                 .groups = FusionRules{}}),
                         inputs, 2);
        const Graph once = optimize(random.graph, {.has_kernel = none, .evaluate = evaluate_node});
        EXPECT_LE(work(optimize(once, {.has_kernel = none, .evaluate = evaluate_node})),
                  work(once));
    }
}

TEST(Optimize, KeepsWhatTheCallerBinds) {
    OptimizeOptions options;
    options.has_kernel = [](Op) { return false; };
    options.evaluate = evaluate_node;
    options.fuse_matmul_epilogue = true;
    options.groups = FusionRules{.reductions = true};
    options.max_bytes_per_individual = 64;
    const auto infos = [](const Graph& graph, std::span<const ValueId> ids) {
        std::vector<ValueInfo> result;
        for (const ValueId id : ids) result.push_back(graph.value(id));
        return result;
    };
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        RandomGraph random(seed);
        test::declare_updates(random.graph);
        const Graph result = optimize(random.graph, options);
        EXPECT_EQ(infos(result, result.inputs()), infos(random.graph, random.graph.inputs()));
        EXPECT_EQ(infos(result, result.outputs()), infos(random.graph, random.graph.outputs()));
        EXPECT_TRUE(std::ranges::equal(result.updates(), random.graph.updates()));
    }
}

TEST(Optimize, SharesTheWorkOfAGradientWithItsForwardPass) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4, 3});
    const Var w = graph.input("w", ValueType::real, {3, 3});
    const Var y = sigmoid(matmul(x, w));
    graph.output(sum_all(y));
    graph.output(gradient(sum_all(sigmoid(matmul(x, w))), std::array{w})[0]);
    EXPECT_EQ(count(graph, Op::sigmoid), 2U);
    const Graph result =
        optimize(graph, {.has_kernel = [](Op) { return true; }, .evaluate = evaluate_node});
    EXPECT_EQ(count(result, Op::sigmoid), 1U);
    EXPECT_EQ(count(result, Op::matmul), 2U);
}

}  // namespace
}  // namespace cambrian::optimize_test

#include <gtest/gtest.h>

#include <algorithm>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian::schedule_test {
namespace {

using test::first_difference;
using test::RandomGraph;

void expect_same_bits(const Graph& source, const Graph& changed, std::span<const Tensor> inputs,
                      std::int64_t population) {
    const auto backend = make_reference_backend(Precision::f32);
    const auto expected = evaluate(*backend, source, population, inputs);
    const auto actual = evaluate(*backend, changed, population, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1) << "output " << i;
}

/// Eight products of the input, all computed before any of them is summed up.
Graph wide_then_narrow() {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {100}, true);
    std::vector<Var> products;
    for (int i = 0; i < 8; ++i) products.push_back(exp(x * (1.0 + i)));
    Var total = sum_all(products[0]);
    for (int i = 1; i < 8; ++i) total = total + sum_all(products[static_cast<std::size_t>(i)]);
    graph.output(total);
    return graph;
}

TEST(Schedule, ComputesAValueWhenItIsRead) {
    const Graph graph = wide_then_narrow();
    const Graph scheduled = schedule(graph);
    verify(scheduled);
    EXPECT_GE(plan(graph).per_individual_elements, 800);
    EXPECT_LE(plan(scheduled).per_individual_elements, 210) << dump(scheduled);
}

TEST(Schedule, KeepsTheOrderOfInputsAndOutputs) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3}, true);
    const Var y = exp(x);
    const Var z = graph.input("z", ValueType::real, {4}, true);
    graph.output(z * 2.0);
    graph.output(y);
    const Graph scheduled = schedule(graph);
    EXPECT_EQ(scheduled.input_name(0), "x");
    EXPECT_EQ(scheduled.input_name(1), "z");
    EXPECT_EQ(scheduled.value(scheduled.outputs()[0]).shape, Shape{4});
}

TEST(Schedule, NeverNeedsMoreAndChangesNoBit) {
    std::int64_t before = 0;
    std::int64_t after = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const RandomGraph random(seed);
        const Graph scheduled = schedule(random.graph);
        verify(scheduled);
        const Plan old_plan = plan(random.graph);
        const Plan new_plan = plan(scheduled);
        EXPECT_LE(new_plan.per_individual_elements, old_plan.per_individual_elements);
        EXPECT_LE(new_plan.shared_elements, old_plan.shared_elements);
        before += old_plan.per_individual_elements;
        after += new_plan.per_individual_elements;
        expect_same_bits(random.graph, scheduled, random.inputs(2), 2);
        EXPECT_EQ(dump(schedule(random.graph)), dump(scheduled)) << "the same every time";
    }
    EXPECT_LT(after, before);
}

/// A deep network whose activations wait for the way back.
Graph deep_gradient() {
    Graph graph;
    Var x = graph.input("x", ValueType::real, {200}, true);
    std::vector<Var> scales;
    const Var start = x;
    for (int i = 0; i < 6; ++i) {
        scales.push_back(graph.input("s" + std::to_string(i), ValueType::real, {}, true));
        x = x * scales.back() + 0.5;
    }
    const Var y = sum_all(x * x);
    graph.output(gradient(y, std::array{start, scales[0], scales[3]})[1]);
    graph.output(y);
    return graph;
}

TEST(Rematerialize, LowersThePeakAndChangesNoBit) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {300}, true);
    const Var kept = tanh(x * 2.0);
    Var middle = exp(x);
    for (int i = 0; i < 3; ++i) middle = sin(middle) + exp(middle) * middle;
    graph.output(sum_all(kept * sum_all(middle)));
    const std::int64_t peak = plan(graph).per_individual_elements * 4;
    const Graph lower = rematerialize(graph, 100);
    verify(lower);
    EXPECT_LE(plan(lower).per_individual_elements * 4, peak - 300 * 4) << dump(lower);
    std::vector<Tensor> inputs{Tensor(ValueType::real, Shape{2, 300})};
    for (std::size_t i = 0; i < 600; ++i) inputs[0].elements[i] = 0.01 * static_cast<double>(i) - 2;
    expect_same_bits(graph, lower, inputs, 2);
}

TEST(Rematerialize, LeavesGraphsBelowTheBudgetAsTheyAre) {
    const Graph graph = deep_gradient();
    EXPECT_EQ(dump(rematerialize(graph, 1 << 20)), dump(graph));
}

TEST(Rematerialize, NeverRaisesThePeakOfRandomGraphs) {
    std::int64_t lowered = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const RandomGraph random(seed);
        const Graph graph = optimize(
            random.graph, {.has_kernel = [](Op) { return true; }, .evaluate = evaluate_node});
        const Graph changed = rematerialize(graph, 16);
        verify(changed);
        const std::int64_t before = plan(graph).per_individual_elements;
        const std::int64_t after = plan(changed).per_individual_elements;
        EXPECT_LE(after, before);
        lowered += after < before ? 1 : 0;
        expect_same_bits(random.graph, changed, random.inputs(2), 2);
    }
    EXPECT_GT(lowered, 2);
}

TEST(Rematerialize, ServesALateReaderThroughAView) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {20, 30}, true);
    const Var kept = tanh(x);
    const Var view = reshape(kept, {30, 20});
    Var middle = exp(x);
    for (int i = 0; i < 3; ++i) middle = sin(middle) + exp(middle) * middle;
    graph.output(sum_all(matmul(view, middle)));
    const Graph lower = rematerialize(graph, 100);
    EXPECT_LT(plan(lower).per_individual_elements, plan(graph).per_individual_elements);
    std::vector<Tensor> inputs{Tensor(ValueType::real, Shape{1, 20, 30})};
    for (std::size_t i = 0; i < 600; ++i)
        inputs[0].elements[i] = 0.003 * static_cast<double>(i) - 1;
    expect_same_bits(graph, lower, inputs, 1);
}

}  // namespace
}  // namespace cambrian::schedule_test

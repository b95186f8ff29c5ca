#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/graph/scan_support.hpp"

namespace cambrian {
namespace {

/// One step of a recurrent net: state [2], code (integer, counts up), input row [2], weights [2,
/// 2].
struct Step {
    Var state;
    Var code;
    Var stacked;
};
Step step(Var state, Var code, Var row, Var weights) {
    const Var moved = tanh(reshape(matmul(reshape(state, {1, 2}), weights), {2}) + row);
    return {moved + 0.1 * cast(code, ValueType::real), code + 1.0, moved * row};
}

/// The loss of all steps as a scan, or step by step with gradients stopped as truncate says.
struct Recurrence {
    Graph graph;
    std::vector<Var> wanted;  ///< State, sequence, weights.
    Var loss;

    void finish(Var state, Var code, Var stacked) {
        loss = sum_all(state * state) + sum_all(stacked) * 0.3 +
               0.01 * cast(code, ValueType::real) * sum_all(state);
        graph.output(loss);
        for (const Var value : gradient(loss, wanted)) graph.output(value);
    }
    std::vector<Var> inputs(std::int64_t length) {
        wanted = {graph.input("state", ValueType::real, {2}),
                  graph.input("rows", ValueType::real, {length, 2}),
                  graph.input("weights", ValueType::real, {2, 2})};
        return wanted;
    }
};

void as_scan(Recurrence& built, std::int64_t length, bool reverse, GradientSteps steps) {
    const std::vector<Var> in = built.inputs(length);
    Graph body;
    const Var state = body.input("state", ValueType::real, {2});
    const Var code = body.input("code", ValueType::integer, {});
    const Var row = body.input("row", ValueType::real, {2});
    const Var weights = body.input("weights", ValueType::real, {2, 2});
    const Step next = step(state, code, row, weights);
    for (const Var value : {next.state, next.code, next.stacked}) body.output(value);
    const Var zero = constant(built.graph, 0.0, ValueType::integer);
    const ScanResult result =
        scan(std::move(body), std::array{in[0], zero}, std::array{in[1]}, std::array{in[2]},
             {.length = length, .reverse = reverse, .gradient = steps});
    built.finish(result.carries[0], result.carries[1], result.stacked[0]);
}

void unrolled(Recurrence& built, std::int64_t length, bool reverse, std::int64_t truncate) {
    const std::vector<Var> in = built.inputs(length);
    Step now{in[0], constant(built.graph, 0.0, ValueType::integer), {}};
    std::vector<Var> stacked(static_cast<std::size_t>(length));
    for (std::int64_t t = 0; t < length; ++t) {
        const std::int64_t position = reverse ? length - 1 - t : t;
        if (truncate > 0 && t > 0 && t % truncate == 0) now.state = stop_gradient(now.state);
        const Var row = reshape(slice(in[1], 0, position, 1), {2});
        now = step(now.state, now.code, row, in[2]);
        stacked[static_cast<std::size_t>(position)] = now.stacked;
    }
    built.finish(now.state, now.code, stack(stacked));
}

std::vector<Tensor> values(std::int64_t length) {
    std::vector<Tensor> inputs{Tensor(ValueType::real, Shape{2}, {0.4, -0.3}),
                               Tensor(ValueType::real, Shape{length, 2}),
                               Tensor(ValueType::real, Shape{2, 2}, {0.7, -0.4, 0.9, 0.2})};
    for (std::size_t i = 0; i < inputs[1].elements.size(); ++i)
        inputs[1].elements[i] = std::sin(1.7 * static_cast<double>(i));
    return inputs;
}

std::vector<Tensor> evaluated(const Graph& graph, std::int64_t length) {
    verify(graph);
    return evaluate(*make_reference_backend(Precision::f64), graph, 1, values(length));
}

void expect_equal(const Graph& actual, const Graph& expected, std::int64_t length,
                  double tolerance) {
    const auto a = evaluated(actual, length);
    const auto b = evaluated(expected, length);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t e = 0; e < a[i].elements.size(); ++e)
            EXPECT_NEAR(a[i].elements[e], b[i].elements[e], tolerance)
                << "output " << i << " at " << e;
}

struct Case {
    std::int64_t length;
    std::int64_t truncate;
    std::int64_t checkpoint;
};

class ScanGradientSteps : public testing::TestWithParam<Case> {};

TEST_P(ScanGradientSteps, EqualTheUnrolledGraph) {
    const auto [length, truncate, checkpoint] = GetParam();
    for (const bool reverse : {false, true}) {
        SCOPED_TRACE(reverse ? "from the last step" : "from the first step");
        Recurrence whole;
        as_scan(whole, length, reverse, {.truncate = truncate, .checkpoint_every = checkpoint});
        Recurrence flat;
        unrolled(flat, length, reverse, truncate);
        expect_equal(whole.graph, flat.graph, length, 1e-12);
        expect_equal(optimize(whole.graph,
                              {.has_kernel = [](Op) { return true; }, .evaluate = evaluate_node}),
                     flat.graph, length, 1e-6);  // Folding rounds to f32.
    }
}

INSTANTIATE_TEST_SUITE_P(Lengths, ScanGradientSteps,
                         testing::Values(Case{7, 0, 0}, Case{7, 3, 0}, Case{6, 3, 0}, Case{7, 1, 0},
                                         Case{7, 7, 0}, Case{7, 9, 0}, Case{7, 0, 3}, Case{6, 0, 3},
                                         Case{7, 0, 1}, Case{7, 0, 6}, Case{7, 0, 7},
                                         Case{7, 0, 100}, Case{9, 2, 3}, Case{9, 3, 2},
                                         Case{12, 5, 4}, Case{1, 1, 1}));

TEST(ScanGradientSteps, CutGradientsDifferFromWholeOnes) {
    Recurrence cut;
    as_scan(cut, 8, false, {.truncate = 2});
    Recurrence whole;
    as_scan(whole, 8, false, {});
    const auto a = evaluated(cut.graph, 8);
    const auto b = evaluated(whole.graph, 8);
    EXPECT_EQ(a[0].elements, b[0].elements) << "the values are the same";
    EXPECT_GT(std::abs(a[1].elements[0] - b[1].elements[0]), 1e-6);
}

TEST(ScanGradientSteps, CheckpointsKeepFewerCarries) {
    const auto words = [](std::int64_t every) {
        Graph body;
        const Var carry = body.input("carry", ValueType::real, {50});
        const Var factor = body.input("factor", ValueType::real, {50});
        body.output(tanh(carry * factor));
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {50});
        const Var w = graph.input("w", ValueType::real, {50});
        const ScanResult result = scan(std::move(body), std::array{x}, {}, std::array{w},
                                       {.length = 400, .gradient = {.checkpoint_every = every}});
        graph.output(gradient(sum_all(result.carries[0]), std::array{w})[0]);
        const Graph passed =
            optimize(graph, {.has_kernel = [](Op) { return true; }, .evaluate = evaluate_node});
        std::int64_t total = plan(passed).shared_elements;
        for (const Node& node : passed.nodes())
            if (node.op == Op::scan)
                total += plan(*std::get<ScanAttribute>(node.attributes).body).shared_elements;
        return total;
    };
    EXPECT_GE(words(0), 400 * 50);
    EXPECT_LE(words(20), 3 * 20 * 50) << "20 carries, and 20 of the segment that is computed anew";
}

TEST(ScanGradientSteps, OperandsMayDependOnEachOther) {
    const auto gradient_of = [](GradientSteps steps) {
        Graph body;
        const Var carry = body.input("carry", ValueType::real, {});
        const Var factor = body.input("factor", ValueType::real, {});
        body.output(tanh(carry * factor));
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {});
        const ScanResult result = scan(std::move(body), std::array{x}, {}, std::array{exp(x)},
                                       {.length = 5, .gradient = steps});
        graph.output(gradient(result.carries[0], std::array{x})[0]);
        const std::array inputs{Tensor::scalar(0.3)};
        return evaluate(*make_reference_backend(Precision::f64), graph, 1, inputs)[0].elements[0];
    };
    EXPECT_NEAR(gradient_of({.checkpoint_every = 2}), gradient_of({}), 1e-12);
}

TEST(ScanGradientSteps, WalksBeyondTheEndOfAnIndividualWithoutItsErrors) {
    const auto gradient_of = [](GradientSteps steps) {
        Graph body;
        const Var alive = body.input("alive", ValueType::boolean, {});
        const Var left = body.input("left", ValueType::integer, {});
        const Var carry = body.input("carry", ValueType::real, {});
        const Var factor = body.input("factor", ValueType::real, {});
        const Var quotient = cast(constant(body, 6.0, ValueType::integer) / left, ValueType::real);
        const Var next = left - cast(alive, ValueType::integer);
        body.output(less(0.0, next));
        body.output(next);
        body.output(select(alive, carry * factor * quotient, carry));
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {});
        const Var two = constant(graph, 2.0, ValueType::integer);
        const ScanResult result =
            scan(std::move(body), std::array{less(0.0, two), two, x}, {}, std::array{x},
                 {.length = 5, .alive_carry = 0, .gradient = steps});
        graph.output(gradient(result.carries[2], std::array{x})[0]);
        const std::array inputs{Tensor::scalar(0.5)};
        return evaluate(*make_reference_backend(Precision::f64), graph, 1, inputs)[0].elements[0];
    };
    // x (3 x) (6 x), twice, then the end.
    EXPECT_NEAR(gradient_of({}), 54.0 * 0.25, 1e-12);
    EXPECT_NEAR(gradient_of({.checkpoint_every = 2}), 54.0 * 0.25, 1e-12);
}

TEST(ScanGradientSteps, KeepCarriesThatPassThroughShared) {
    const std::vector<double> starts{0.3, -0.7, 0.5};
    const std::vector<double> counts{2, 5, 7};
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {3}, starts),
                                     Tensor(ValueType::integer, {3}, counts), Tensor::scalar(1.2)};
    const auto run = [](const Graph& graph, std::int64_t population, std::span<const Tensor> in) {
        return evaluate(*make_reference_backend(Precision::f64), graph, population, in);
    };
    const auto plain =
        run(vmap(test::shared_gain({}), std::array<std::size_t, 2>{0, 1}), 3, inputs);
    for (const GradientSteps steps :
         {GradientSteps{.checkpoint_every = 2}, GradientSteps{.truncate = 3},
          GradientSteps{.truncate = 3, .checkpoint_every = 2}}) {
        SCOPED_TRACE("truncate " + std::to_string(steps.truncate));
        const Graph whole = vmap(test::shared_gain(steps), std::array<std::size_t, 2>{0, 1});
        const Graph optimized =
            optimize(whole, {.has_kernel = [](Op) { return true; }, .evaluate = evaluate_node});
        const auto results = run(whole, 3, inputs);
        const auto again = run(optimized, 3, inputs);
        for (std::size_t i = 0; i < 3; ++i) {
            const std::array alone{Tensor::scalar(starts[i]),
                                   Tensor(ValueType::integer, {}, {counts[i]}), inputs[2]};
            const auto expected = run(test::shared_gain(steps), 1, alone);
            for (std::size_t output = 0; output < 3; ++output) {
                EXPECT_NEAR(results[output].elements[i], expected[output].elements[0], 1e-12);
                EXPECT_NEAR(again[output].elements[i], expected[output].elements[0], 1e-6);
                if (steps.truncate == 0 || output == 0) {
                    EXPECT_NEAR(results[output].elements[i], plain[output].elements[i], 1e-12);
                }
            }
        }
        const auto cpu = make_cpu_backend({.math = Math::strict});
        const auto single = evaluate(*cpu, whole, 3, inputs);
        for (std::size_t output = 0; output < 3; ++output)
            for (std::size_t i = 0; i < 3; ++i)
                EXPECT_NEAR(single[output].elements[i], results[output].elements[i], 1e-5);
    }
}

TEST(ScanGradientSteps, NegativeNumbersAreRefused) {
    Graph body;
    const Var carry = body.input("carry", ValueType::real, {});
    body.output(carry * 2.0);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    EXPECT_THROW(
        (void)scan(body, std::array{x}, {}, {}, {.length = 5, .gradient = {.truncate = -1}}),
        ShapeError);
    EXPECT_THROW((void)scan(body, std::array{x}, {}, {},
                            {.length = 5, .gradient = {.checkpoint_every = -2}}),
                 ShapeError);
}

}  // namespace
}  // namespace cambrian

#include "cambrian/engine/graph/gradient/gradient.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/graph/scan_support.hpp"
#include "cambrian/tests/engine/train/training_support.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Sums and doubles of a row, step by step: `twice` is 2 s of each step, inside the body.
Graph running_sum(int alive_carry = -1) {
    Graph body;
    std::vector<Var> carries;
    if (alive_carry >= 0) carries.push_back(body.input("alive", ValueType::boolean, {}));
    const Var sum = body.input("sum", ValueType::real, {2});
    const Var row = body.input("row", ValueType::real, {2});
    Var next = sum + row;
    body.capture("twice", next * 2.0);
    if (alive_carry >= 0) {
        next = select(carries[0], next, sum);
        body.output(logical_and(carries[0], less(sum_all(next), 8.0)));
    }
    body.output(next);
    Graph graph;
    const Var rows = graph.input("rows", ValueType::real, {3, 2}, true);
    std::vector<Var> start;
    if (alive_carry >= 0) start.push_back(constant(graph, 1.0, ValueType::boolean));
    start.push_back(graph.constant(Tensor(ValueType::real, {2})));
    const ScanResult result = scan(std::move(body), start, std::array{rows}, {},
                                   {.length = 3, .alive_carry = alive_carry});
    graph.capture("last", result.carries.back());
    graph.output(sum_all(result.carries.back()));
    return graph;
}

TEST(Capture, NamesAreThoseOfTheGraphAndOfItsBodies) {
    EXPECT_THAT(capture_names(running_sum()), ElementsAre("twice", "last"));
    EXPECT_TRUE(capture_names(Graph{}).empty());
}

TEST(Capture, ANameIsGivenOnce) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    graph.capture("x", x);
    EXPECT_THAT([&] { graph.capture("x", x + 1.0); },
                ThrowsMessage<ShapeError>(HasSubstr("another value has it")));
    EXPECT_THROW(graph.capture("", x), ShapeError);
    Graph scanned = running_sum();
    scanned.capture("twice", {&scanned, scanned.inputs()[0]});
    EXPECT_THAT([&] { (void)capture_names(scanned); },
                ThrowsMessage<ShapeError>(HasSubstr("captured as 'twice'")));
}

TEST(Capture, SaysWhichNameIsMeant) {
    EXPECT_THAT([] { (void)with_captures(running_sum(), std::vector<std::string>{"twise"}); },
                ThrowsMessage<ShapeError>(HasSubstr("did you mean 'twice'?")));
}

TEST(Capture, ANameMayBeAskedForTwice) {
    const Graph seen = with_captures(running_sum(), std::vector<std::string>{"last", "last"});
    ASSERT_EQ(seen.outputs().size(), 3U);
    EXPECT_EQ(seen.outputs()[1], seen.outputs()[2]);
}

TEST(Capture, ANameAloneChangesNothing) {
    Graph plain;
    Graph named;
    for (Graph* graph : {&plain, &named}) {
        const Var x = graph->input("x", ValueType::real, {5}, true);
        const Var inner = exp(x * 2.0);
        if (graph == &named) {
            graph->capture("inner", inner);
            graph->capture("unused", sin(x));
            graph->output(sum_all(inner + 1.0));
            capture_gradients({graph, graph->outputs()[0]}, std::vector<std::string>{"inner"});
        } else {
            graph->output(sum_all(inner + 1.0));
        }
    }
    OptimizeOptions options;
    options.has_kernel = [](Op) { return true; };
    options.evaluate = evaluate_node;
    options.groups = FusionRules{.reductions = true};
    EXPECT_EQ(dump(optimize(named, options)), dump(optimize(plain, options)));
}

TEST(Capture, AValueOfABodyIsTheStackOverSteps) {
    const Tensor rows(ValueType::real, {2, 3, 2}, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60});
    const std::vector<double> twice{2, 4, 8, 12, 18, 24, 20, 40, 80, 120, 180, 240};
    for (const int alive_carry : {-1, 0}) {
        const Graph graph = running_sum(alive_carry);
        const Graph seen = with_captures(graph, std::vector<std::string>{"twice", "last"});
        verify(seen);
        ASSERT_EQ(seen.outputs().size(), 3U);
        EXPECT_EQ(seen.value(seen.outputs()[1]).shape, (Shape{3, 2}));
        const auto cpu = make_cpu_backend({.math = Math::strict});
        const auto reference = make_reference_backend(Precision::f32);
        const auto plain = evaluate(*cpu, graph, 2, std::array{rows});
        for (Backend* backend : {cpu.get(), reference.get()}) {
            const auto results = evaluate(*backend, seen, 2, std::array{rows});
            EXPECT_EQ(results[0].elements, plain[0].elements);
            if (alive_carry < 0) {
                EXPECT_EQ(results[1].elements, twice);
            }
            EXPECT_EQ(results[2].shape, (Shape{2, 2}));
        }
        // The individuals whose sums are large stop, and their sums stay as they are.
        if (alive_carry >= 0) {
            EXPECT_THAT(plain[0].elements, ElementsAre(10, 30));
        }
    }
}

TEST(Capture, StepsBehindTheEndFailForNobody) {
    const std::vector<Tensor> inputs{Tensor(ValueType::integer, {3}, {0, 2, 4}),
                                     Tensor(ValueType::integer, {4}, {10, 20, 30, 40})};
    for (const bool inside : {false, true}) {
        const Graph graph = test::walk_off_the_grid(inside);
        const Graph seen = with_captures(graph, std::vector<std::string>{"found"});
        verify(seen);
        const auto cpu = make_cpu_backend({.math = Math::strict});
        const auto reference = make_reference_backend(Precision::f32);
        for (Backend* backend : {cpu.get(), reference.get()}) {
            const auto plain = evaluate(*backend, graph, 3, inputs);
            EXPECT_THAT(plain[0].elements, ElementsAre(100 + 25, 70 + 18, 0));
            const auto results = evaluate(*backend, seen, 3, inputs);
            EXPECT_EQ(results[0].elements, plain[0].elements);
            const std::span<const double> found(results[1].elements);
            EXPECT_THAT(found.first(4), ElementsAre(10, 20, 30, 40));
            EXPECT_THAT(found.subspan(inside ? 14 : 7, 2), ElementsAre(30, 40));
            // Somebody who is alive fails as ever.
            std::vector<Tensor> outside = inputs;
            outside[0].elements[1] = -1;
            EXPECT_THROW((void)evaluate(*backend, seen, 3, outside), InputError);
        }
    }
}

TEST(Capture, AValueOfABodyInABodyIsStackedTwice) {
    Graph inner;
    const Var a = inner.input("a", ValueType::real, {});
    inner.capture("deep", a * 10.0);
    inner.output(a + 1.0);
    Graph middle;
    const Var b = middle.input("b", ValueType::real, {});
    middle.output(scan(std::move(inner), std::array{b}, {}, {}, {.length = 3}).carries[0]);
    Graph graph;
    const Var c = graph.input("c", ValueType::real, {});
    graph.output(scan(std::move(middle), std::array{c}, {}, {}, {.length = 2}).carries[0]);
    const auto cpu = make_cpu_backend({});
    const auto results = evaluate(*cpu, with_captures(graph, capture_names(graph)), 1,
                                  std::array{Tensor::scalar(1)});
    EXPECT_EQ(results[1].shape, (Shape{2, 3}));
    EXPECT_THAT(results[1].elements, ElementsAre(10, 20, 30, 40, 50, 60));
}

TEST(Capture, SegmentsOfAGradientDoNotNameValuesAgain) {
    Graph body;
    const Var sum = body.input("sum", ValueType::real, {});
    const Var w = body.input("w", ValueType::real, {});
    const Var next = tanh(sum * w);
    body.capture("next", next);
    body.output(next);
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {});
    const Var weight = graph.input("weight", ValueType::real, {});
    const Var loss = scan(std::move(body), std::array{start}, {}, std::array{weight},
                          {.length = 7, .gradient = {.checkpoint_every = 3}})
                         .carries[0];
    graph.output(loss);
    capture_gradients(loss, std::vector<std::string>{"weight"});
    EXPECT_THAT(capture_names(graph), ElementsAre("next", "weight.gradient"));
    const auto oracle = make_reference_backend(Precision::f64);
    const auto at = [&](double value) {
        const std::array inputs{Tensor::scalar(0.5), Tensor::scalar(value)};
        return evaluate(*oracle, with_captures(graph, capture_names(graph)), 1, inputs);
    };
    const auto results = at(0.9);
    EXPECT_EQ(results[1].shape, Shape{7});
    EXPECT_EQ(results[1].elements[6], results[0].elements[0]);
    const double slope = (at(0.9 + 1e-6)[0].elements[0] - at(0.9 - 1e-6)[0].elements[0]) / 2e-6;
    EXPECT_NEAR(results[2].elements[0], slope, 1e-8);
}

TEST(Capture, GradientsAreOfRealValuesThatHaveNames) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    static_cast<void>(graph.input("count", ValueType::integer, {}));
    const auto ask = [&](const std::string& name) {
        return [x, name] { capture_gradients(x * x, std::vector<std::string>{name}); };
    };
    EXPECT_THAT(ask("count"), ThrowsMessage<ShapeError>(HasSubstr("it is integer")));
    EXPECT_THAT(ask("y"), ThrowsMessage<ShapeError>(HasSubstr("no value is named 'y'")));
}

TEST(Captures, OfATrainingStepAndItsGradientsAreThoseOfTheOracle) {
    const auto oracle = make_reference_backend(Precision::f32);
    for (const std::int64_t population : {1, 4}) {
        const auto cpu = make_cpu_backend({.threads = 2, .math = Math::strict});
        test::Training training(*cpu, population, Sgd{});
        const std::vector<std::string> names = capture_names(training.training());
        EXPECT_THAT(names,
                    ElementsAre("hidden", "loss", "hidden.gradient", "w1.gradient", "w0.gradient"));
        const Graph observed = with_captures(training.training(), names);
        for (int step = 1; step <= 3; ++step) {
            std::vector<Tensor> inputs;
            for (std::size_t i = 0; i < training.training().inputs().size(); ++i)
                inputs.push_back(training.buffers().read(training.training().input_name(i)));
            const auto expected = evaluate(*oracle, observed, population, inputs);
            const auto actual = evaluate(*cpu, observed, population, inputs);
            ASSERT_EQ(actual.size(), 3 + names.size());
            for (std::size_t i = 0; i < actual.size(); ++i) {
                EXPECT_EQ(actual[i].elements, expected[i].elements) << "output " << i;
                EXPECT_EQ(actual[i].shape[0], population);
            }
            training.step();
        }
    }
}

}  // namespace
}  // namespace cambrian

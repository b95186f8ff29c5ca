#include "cambrian/engine/graph/gradient/gradient.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian {
namespace {

using testing::ElementsAre;

std::vector<double> run(const Graph& graph, std::initializer_list<Tensor> inputs,
                        std::size_t output = 0) {
    const auto backend = make_reference_backend(Precision::f64);
    return evaluate(*backend, graph, 1, std::vector<Tensor>(inputs))[output].elements;
}

Tensor row(std::vector<double> values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return {ValueType::real, shape, std::move(values)};
}

TEST(Gradient, TiesOfMinAndMaxGoToTheSecondOperand) {
    Graph graph;
    const Var a = graph.input("a", ValueType::real, {3});
    const Var b = graph.input("b", ValueType::real, {3});
    for (const Var g : gradient(sum_all(max(a, b)), std::array{a, b})) graph.output(g);
    for (const Var g : gradient(sum_all(min(a, b)), std::array{a, b})) graph.output(g);
    const auto inputs = {row({1, 2, 3}), row({2, 2, 2})};

    EXPECT_THAT(run(graph, inputs, 0), ElementsAre(0, 0, 1));
    EXPECT_THAT(run(graph, inputs, 1), ElementsAre(1, 1, 0));
    EXPECT_THAT(run(graph, inputs, 2), ElementsAre(1, 0, 0));
    EXPECT_THAT(run(graph, inputs, 3), ElementsAre(0, 1, 1));
}

TEST(Gradient, KinksHaveTheDocumentedSlope) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3});
    graph.output(gradient(sum_all(abs(x)), std::array{x})[0]);
    graph.output(gradient(sum_all(activate(x, Activation::relu)), std::array{x})[0]);
    graph.output(gradient(reduce_max(x, 0), std::array{x})[0]);

    EXPECT_THAT(run(graph, {row({-1, 0, 2})}, 0), ElementsAre(-1, 0, 1));
    EXPECT_THAT(run(graph, {row({-1, 0, 2})}, 1), ElementsAre(0, 0, 1));
    EXPECT_THAT(run(graph, {row({4, 7, 7})}, 2), ElementsAre(0, 1, 0)) << "the first maximum";
}

TEST(Gradient, IsZeroWhereNothingFlows) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2});
    const Var unrelated = graph.input("unrelated", ValueType::real, {3});
    const Var loss = sum_all(stop_gradient(x) * floor(x) + sign(x));
    for (const Var g : gradient(loss, std::array{x, unrelated})) graph.output(g);

    EXPECT_THAT(run(graph, {row({1.5, 2.5}), row({1, 2, 3})}, 0), ElementsAre(0, 0));
    EXPECT_THAT(run(graph, {row({1.5, 2.5}), row({1, 2, 3})}, 1), ElementsAre(0, 0, 0));
}

TEST(Gradient, OfAChoiceIgnoresWhatWasNotChosen) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2});
    const Var safe = select(less(0.0, x), log(x), x * 3.0);
    graph.output(gradient(sum_all(safe), std::array{x})[0]);

    EXPECT_THAT(run(graph, {row({2, -1})}), ElementsAre(0.5, 3));
}

TEST(Gradient, AddsUpOverAllUses) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    const Var y = x * x + x;
    graph.output(gradient(y * y, std::array{x})[0]);

    EXPECT_THAT(run(graph, {Tensor::scalar(3.0)}), ElementsAre(2.0 * 12.0 * 7.0));
}

TEST(Gradient, WithRespectToAnIntermediateValue) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    const Var y = exp(x);
    const std::vector<Var> g = gradient(square(y), std::array{y, x});
    for (const Var value : g) graph.output(value);

    EXPECT_NEAR(run(graph, {Tensor::scalar(1.0)}, 0)[0], 2.0 * std::exp(1.0), 1e-14);
    EXPECT_NEAR(run(graph, {Tensor::scalar(1.0)}, 1)[0], 2.0 * std::exp(2.0), 1e-13);
}

TEST(Gradient, OfAGradientIsTheSecondDerivative) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    const Var first = gradient(tanh(x) * x, std::array{x})[0];
    graph.output(gradient(first, std::array{x})[0]);
    const double t = std::tanh(0.7);

    EXPECT_NEAR(run(graph, {Tensor::scalar(0.7)})[0],
                2.0 * (1 - t * t) - 2.0 * 0.7 * t * (1 - t * t), 1e-14);
}

TEST(Gradient, OfASharedWeightIsOneContraction) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {5, 7, 3});
    const Var w = graph.input("w", ValueType::real, {4, 3});
    const Var g = gradient(sum_all(matmul(x, w, false, true)), std::array{w})[0];

    EXPECT_EQ(graph.producer(g.id).op, Op::matmul);
    EXPECT_EQ(g.shape(), (Shape{4, 3}));
}

TEST(Gradient, RejectsAnUpstreamOfAnotherShape) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2});

    EXPECT_THROW((void)gradient(x, constant(graph, 1.0), std::array{x}), ShapeError);
    EXPECT_THROW((void)gradient(x, std::array{x}), ShapeError)
        << "only a rank-0 value needs no upstream";
    EXPECT_THROW((void)gradient(less(x, 0.0), x, std::array{x}), ShapeError);
}

TEST(Gradient, OfEveryActivationMatchesItsPlainFunction) {
    for (std::size_t code = 0; code < activation_names.size(); ++code) {
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {5});
        const Var own = graph.input("code", ValueType::integer, {});
        graph.output(gradient(sum_all(activate(x, own, ActivationSet::any)), std::array{x})[0]);
        graph.output(
            gradient(sum_all(activate(x, static_cast<Activation>(code))), std::array{x})[0]);
        const auto inputs = {row({-2, -0.5, 0, 0.5, 2}),
                             Tensor::scalar(static_cast<double>(code), ValueType::integer)};

        EXPECT_EQ(run(graph, inputs, 0), run(graph, inputs, 1)) << activation_names[code];
    }
}

}  // namespace
}  // namespace cambrian

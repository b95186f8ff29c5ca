#include "cambrian/engine/graph/gradient/gradient.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
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

TEST(Gradient, OfAnAngleBeyondTheLimitIsZeroAsTheFunctionIsConstant) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3});
    graph.output(sin(x));
    graph.output(gradient(sum_all(sin(x)), std::array{x})[0]);
    graph.output(gradient(sum_all(cos(x)), std::array{x})[0]);
    const auto input = row({-30000, 1.5, 8200});

    EXPECT_THAT(run(graph, {input}, 0),
                ElementsAre(std::sin(-8192.0), std::sin(1.5), std::sin(8192.0)));
    EXPECT_THAT(run(graph, {input}, 1), ElementsAre(0, std::cos(1.5), 0));
    EXPECT_THAT(run(graph, {input}, 2), ElementsAre(0, -std::sin(1.5), 0));
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

/// A gradient of ones, and first 2^24, each for the first of some rows: 2^24 + 1 is 2^24 in f32.
std::vector<double> gradient_of_one_row(std::int64_t rows, std::int64_t added) {
    Tensor factors(ValueType::real, {added, 1},
                   std::vector<double>(static_cast<std::size_t>(added), 1.0));
    factors.elements[0] = 0x1p24;
    Graph graph;
    const Var table = graph.input("table", ValueType::real, {rows, 1});
    const Var indices = graph.input("indices", ValueType::integer, {added});
    const Var given = graph.input("given", ValueType::real, factors.shape);
    graph.output(gradient(sum_all(gather(table, indices) * given), std::array{table})[0]);
    const std::array inputs{Tensor(ValueType::real, {rows, 1}), Tensor(ValueType::integer, {added}),
                            factors};
    return evaluate(*make_reference_backend(Precision::f32), graph, 1, inputs)[0].elements;
}

TEST(Gradient, OfARowThatIsTakenOftenCountsWhatIsSmallBesideTheSum) {
    EXPECT_THAT(gradient_of_one_row(2, 4096), ElementsAre(0x1p24 + 63 * 64, 0));
    EXPECT_EQ(gradient_of_one_row(1024, 4096)[0], 0x1p24 + 3 * 1024);
}

TEST(Gradient, OfManyRowsIsThatOfEachWhateverTheShape) {
    for (const std::int64_t rows : {1, 3, 700})
        for (const std::int64_t taken : {1024, 1025, 3001}) {
            SCOPED_TRACE(rows * 10000 + taken);
            Tensor indices(ValueType::integer, {taken, 1});
            Tensor factors(ValueType::real, {taken, 1, 2});
            std::vector<double> expected(static_cast<std::size_t>(2 * rows));
            for (std::size_t i = 0; i < indices.elements.size(); ++i) {
                const std::size_t row = i * i % static_cast<std::size_t>(rows);
                indices.elements[i] = static_cast<double>(row);
                for (std::size_t k = 0; k < 2; ++k)
                    expected[2 * row + k] += factors.elements[2 * i + k] =
                        static_cast<double>((3 * i + k) % 11) - 4.0;
            }
            Graph graph;
            const Var table = graph.input("table", ValueType::real, {rows, 2});
            const Var at = graph.input("at", ValueType::integer, indices.shape);
            const Var given = graph.input("given", ValueType::real, factors.shape);
            graph.output(gradient(sum_all(gather(table, at) * given), std::array{table})[0]);
            const std::array inputs{Tensor(ValueType::real, {rows, 2}), indices, factors};
            for (const Math math : {Math::fast, Math::strict})
                EXPECT_EQ(evaluate(*make_cpu_backend({.math = math}), graph, 1, inputs)[0].elements,
                          expected);
        }
}

TEST(Gradient, OfARowThatIsNotThereIsAnError) {
    Graph graph;
    const Var table = graph.input("table", ValueType::real, {2, 1});
    const Var at = graph.input("at", ValueType::integer, {4096});
    graph.output(gradient(sum_all(gather(table, at)), std::array{table})[0]);
    Tensor indices(ValueType::integer, {4096});
    indices.elements[0] = 2.0;  // The first row of the second part of them.
    const std::array inputs{Tensor(ValueType::real, {2, 1}), indices};
    EXPECT_THROW(evaluate(*make_cpu_backend({}), graph, 1, inputs), InputError);
}

TEST(Gradient, OfWhatIsRepeatedBetweenAxesCountsWhatIsSmallBesideTheSum) {
    // Of a bias of channels: over images as over positions.
    Tensor factors(ValueType::real, {1, 1, 4096}, std::vector<double>(4096, 1.0));
    factors.elements[0] = 0x1p24;
    Graph graph;
    const Var given = graph.input("given", ValueType::real, factors.shape);
    const Var bias = graph.input("bias", ValueType::real, {1, 1});
    const Var conv_bias = graph.input("conv bias", ValueType::real, {1});
    graph.output(gradient(sum_all((given + bias) * given), std::array{bias})[0]);
    const Var weights = constant(graph, 0.0);
    const Var filtered = conv(given, broadcast(weights, {1, 1, 1}), conv_bias);
    graph.output(gradient(sum_all(filtered * given), std::array{conv_bias})[0]);
    const std::array inputs{factors, Tensor(ValueType::real, {1, 1}), Tensor(ValueType::real, {1})};
    for (const Tensor& found : evaluate(*make_reference_backend(Precision::f32), graph, 1, inputs))
        EXPECT_EQ(found.elements[0], 0x1p24 + 63 * 64);
}

}  // namespace
}  // namespace cambrian

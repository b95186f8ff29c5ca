#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/reference/reference.hpp"

// Layers that do something else while training.
namespace cambrian {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// x and the parameters of a layer as inputs, a training pass with a constant key.
struct Training {
    Training(const AnyLayer& layer, const Shape& shape, const Shape& row, std::int32_t id) {
        x = graph.input("x", ValueType::real, shape);
        for (const ParameterSpec& spec : layer.parameters())
            parameters.push_back(graph.input(spec.name, ValueType::real, spec.shape));
        const Var key = graph.constant(Tensor(ValueType::integer, {2}, {5, 6}));
        pass.emplace(key, constant(graph, id, ValueType::integer));
        operands = {.parameters = parameters, .activations = {}, .row = row, .training = &*pass};
    }

    Graph graph;
    Var x;
    std::vector<Var> parameters;
    std::optional<TrainingPass> pass;
    LayerOperands operands;
};

Tensor normals(const Shape& shape) {
    Tensor tensor(ValueType::real, shape);
    RandomStream stream(random_key(2, "normals"), 0);
    for (double& element : tensor.elements) element = static_cast<double>(stream.normal());
    return tensor;
}

Tensor output(const AnyLayer& layer, const Tensor& x, std::int32_t id) {
    Training training(layer, x.shape, {x.shape[-1]}, id);
    training.graph.output(layer.build(training.x, training.operands));
    return evaluate(*make_cpu_backend({}), training.graph, 1, std::array{x}).front();
}

TEST(DropoutLayer, DropsItsShareAndKeepsTheMean) {
    const Dropout layer{.rate = 0.25F};
    const Tensor ones(ValueType::real, {40, 100}, std::vector<double>(4000, 1.0));
    const Tensor y = output(layer, ones, 7);
    const auto dropped = std::ranges::count(y.elements, 0.0);
    EXPECT_NEAR(static_cast<double>(dropped) / 4000.0, 0.25, 0.03);
    for (const double element : y.elements)
        EXPECT_TRUE(element == 0.0 || std::abs(element - 1.0 / 0.75) < 1e-6);
    EXPECT_EQ(output(layer, ones, 7), y);
    EXPECT_NE(output(layer, ones, 8), y);
}

TEST(DropoutLayer, TwoOfOnePassDropDifferentElements) {
    Sequential chain;
    chain.layers.emplace_back(Dropout{.rate = 0.5F});
    chain.layers.emplace_back(Dropout{.rate = 0.5F});
    const Tensor ones(ValueType::real, {40, 100}, std::vector<double>(4000, 1.0));
    const auto kept = 4000 - std::ranges::count(output(chain, ones, 1).elements, 0.0);
    EXPECT_NEAR(static_cast<double>(kept) / 4000.0, 0.25, 0.03);
}

TEST(DropoutLayer, IsTheIdentityInInference) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 3});
    const Var y = AnyLayer(Dropout{}).build(x, {.parameters = {}, .activations = {}, .row = {3}});
    EXPECT_EQ(y.id, x.id);
}

TEST(DropoutLayer, DropsOtherElementsInEveryStepOfALoop) {
    Sequential chain;
    chain.layers.emplace_back(Dropout{.rate = 0.5F});
    chain.layers.emplace_back(Rnn{{.in = 20, .hidden = 20}});
    const AnyLayer layer(chain);
    Training training(layer, {3, 4, 20}, {20}, 1);
    training.graph.output(scan_layer(layer, training.x, training.operands));
    Tensor identity(ValueType::real, {20, 20});
    for (std::size_t i = 0; i < 20; ++i) identity.elements[21 * i] = 1.0;
    // Without recurrence the outputs are tanh of what dropout leaves of ones.
    const std::vector<Tensor> values{Tensor(ValueType::real, {3, 4, 20}, std::vector(240, 1.0)),
                                     identity, Tensor(ValueType::real, {20, 20}),
                                     Tensor(ValueType::real, {20})};
    const auto y = evaluate(*make_cpu_backend({}), training.graph, 1, values).front();
    EXPECT_NEAR(static_cast<double>(std::ranges::count(y.elements, 0.0)) / 240.0, 0.5, 0.1);
    const auto step = [&](std::size_t row, std::size_t time) {
        const auto begin = y.elements.begin() + static_cast<std::ptrdiff_t>((row * 4 + time) * 20);
        return std::vector<double>(begin, begin + 20);
    };
    for (std::size_t time = 1; time < 4; ++time) EXPECT_NE(step(0, time), step(0, 0)) << time;
    EXPECT_NE(step(1, 0), step(0, 0));
}

struct Statistics {
    double mean = 0.0;
    double variance = 0.0;
};
Statistics statistics(const std::vector<double>& values) {
    Statistics result;
    for (const double value : values) result.mean += value / static_cast<double>(values.size());
    for (const double value : values)
        result.variance += (value - result.mean) * (value - result.mean);
    result.variance /= static_cast<double>(values.size());
    return result;
}

TEST(BatchNormLayer, TakesTheStatisticsOfTheBatchAndMovesTheRunningOnes) {
    const AnyLayer layer(BatchNorm{.features = 2, .momentum = 0.25F});
    Training training(layer, {3, 2, 4}, {2, 4}, 1);
    training.graph.output(layer.build(training.x, training.operands));
    ASSERT_EQ(training.pass->updates().size(), 2U);
    EXPECT_EQ(training.pass->updates()[0].buffer.id, training.parameters[2].id);
    EXPECT_EQ(training.pass->updates()[1].buffer.id, training.parameters[3].id);
    for (const BufferUpdate& update : training.pass->updates()) training.graph.output(update.value);
    const Tensor x = normals({3, 2, 4});
    const std::vector<Tensor> values{
        x, Tensor(ValueType::real, {2}, {1, 1}), Tensor(ValueType::real, {2}, {0, 0}),
        Tensor(ValueType::real, {2}, {2, 2}), Tensor(ValueType::real, {2}, {3, 3})};
    const auto results =
        evaluate(*make_reference_backend(Precision::f64), training.graph, 1, values);
    for (std::size_t feature = 0; feature < 2; ++feature) {
        std::vector<double> before;
        std::vector<double> after;
        for (std::size_t e = 0; e < 24; ++e)
            if (e / 4 % 2 == feature) {
                before.push_back(x.elements[e]);
                after.push_back(results[0].elements[e]);
            }
        const Statistics batch = statistics(before);
        EXPECT_NEAR(statistics(after).mean, 0.0, 1e-12);
        EXPECT_NEAR(statistics(after).variance, 1.0, 1e-4);
        EXPECT_NEAR(results[1].elements[feature], 0.75 * 2 + 0.25 * batch.mean, 1e-12);
        EXPECT_NEAR(results[2].elements[feature], 0.75 * 3 + 0.25 * batch.variance * 12 / 11,
                    1e-12);
    }
}

TEST(BatchNormLayer, GradientOfTrainingMatchesFiniteDifference) {
    const AnyLayer layer(BatchNorm{.features = 2});
    Training forward(layer, {4, 2}, {2}, 1);
    const Tensor weights = normals({4, 2});
    const auto loss_of = [&](Training& training) {
        const Var y = layer.build(training.x, training.operands);
        return sum_all(y * y * training.graph.constant(weights));
    };
    forward.graph.output(loss_of(forward));
    Training backward(layer, {4, 2}, {2}, 1);
    backward.graph.output(gradient(loss_of(backward), std::array{backward.x})[0]);
    Tensor x = normals({4, 2});
    for (double& element : x.elements) element = element * 2 + 1;
    const auto backend = make_reference_backend(Precision::f64);
    const auto run = [&](const Graph& graph) {
        return evaluate(*backend, graph, 1,
                        std::vector<Tensor>{x, Tensor(ValueType::real, {2}, {1, 2}),
                                            Tensor(ValueType::real, {2}, {0.5, 0}),
                                            Tensor(ValueType::real, {2}, {0, 0}),
                                            Tensor(ValueType::real, {2}, {1, 1})})
            .front()
            .elements;
    };
    const std::vector<double> found = run(backward.graph);
    for (std::size_t e = 0; e < x.elements.size(); ++e) {
        const double value = x.elements[e];
        constexpr double step = 1e-5;
        x.elements[e] = value + step;
        const double above = run(forward.graph)[0];
        x.elements[e] = value - step;
        const double below = run(forward.graph)[0];
        x.elements[e] = value;
        EXPECT_NEAR(found[e], (above - below) / (2 * step), 1e-6);
    }
}

TEST(BatchNormLayer, IsNotTrainedOnOneValueOfAFeature) {
    const AnyLayer layer(BatchNorm{.features = 3});
    Training single(layer, {1, 3}, {3}, 1);
    EXPECT_THAT([&] { static_cast<void>(layer.build(single.x, single.operands)); },
                ThrowsMessage<ShapeError>(HasSubstr("cannot be trained on [1, 3]")));
    Training sequence(layer, {1, 2, 3}, {3}, 1);
    EXPECT_EQ(layer.build(sequence.x, sequence.operands).shape(), (Shape{1, 2, 3}));
}

TEST(BatchNormLayer, IsNotTrainedInsideALoop) {
    Sequential chain;
    chain.layers.emplace_back(BatchNorm{.features = 3});
    chain.layers.emplace_back(Rnn{{.in = 3, .hidden = 3}});
    const AnyLayer layer(chain);
    Training inside(layer, {2, 4, 3}, {3}, 1);
    EXPECT_THAT([&] { static_cast<void>(scan_layer(layer, inside.x, inside.operands)); },
                ThrowsMessage<ShapeError>(HasSubstr("cannot be trained inside")));
    Training beside(layer, {2, 4, 3}, {3}, 1);
    EXPECT_EQ(layer.sequence(beside.x, beside.operands).shape(), (Shape{2, 4, 3}));
    EXPECT_EQ(beside.pass->updates().size(), 2U);
}

TEST(GumbelSoftmax, SamplesWithTheProbabilitiesOfItsLogits) {
    const Softmax layer{.variant = "gumbel", .features = 3, .hard = true};
    Tensor x(ValueType::real, {4000, 3});
    for (std::size_t i = 0; i < x.elements.size(); ++i)
        x.elements[i] = std::log(std::array{0.2, 0.3, 0.5}[i % 3]);
    const Tensor y = output(layer, x, 3);
    std::array<double, 3> shares{};
    for (std::size_t i = 0; i < y.elements.size(); ++i) {
        EXPECT_TRUE(std::abs(y.elements[i]) < 1e-6 || std::abs(y.elements[i] - 1.0) < 1e-6);
        shares[i % 3] += y.elements[i] / 4000.0;
    }
    EXPECT_NEAR(shares[0], 0.2, 0.03);
    EXPECT_NEAR(shares[1], 0.3, 0.03);
    EXPECT_NEAR(shares[2], 0.5, 0.03);
    EXPECT_NE(output(layer, x, 4), y);
}

TEST(GumbelSoftmax, AHardSampleHasTheGradientOfTheSoftOne) {
    const auto gradient_of = [](bool hard) {
        const AnyLayer layer(Softmax{.variant = "gumbel", .features = 3, .hard = hard});
        Training training(layer, {2, 3}, {3}, 1);
        const Var weights = training.graph.constant(normals({2, 3}));
        const Var loss = sum_all(layer.build(training.x, training.operands) * weights);
        training.graph.output(gradient(loss, std::array{training.x})[0]);
        return evaluate(*make_reference_backend(Precision::f64), training.graph, 1,
                        std::array{normals({2, 3})})
            .front();
    };
    EXPECT_EQ(gradient_of(true), gradient_of(false));
    EXPECT_THAT(gradient_of(true).elements, ::testing::Contains(::testing::Ne(0.0)));
}

}  // namespace
}  // namespace cambrian

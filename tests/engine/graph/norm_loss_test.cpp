#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/graph/value_support.hpp"

// Values by hand, and gradients by the closed forms of the literature.
namespace cambrian::norm_loss_test {
namespace {

using test::expect_near;
using test::run;

TEST(RmsNorm, DividesByTheRootMeanSquare) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 2});
    const Var r = graph.input("r", ValueType::real, {1, 2});
    const Var gain = graph.input("gain", ValueType::real, {2});
    graph.output(rms_norm(x, gain, 0.5));
    const auto [sum, normed] = add_rms_norm(x, r, gain, 0.5);
    graph.output(sum);
    graph.output(normed);
    graph.output(norm_add(x, gain, r, 0.5));
    const auto results =
        run(graph, {Tensor(ValueType::real, {1, 2}, {1, 2}),
                    Tensor(ValueType::real, {1, 2}, {2, 2}), Tensor(ValueType::real, {2}, {1, 3})});
    const double root = std::sqrt(3.0);  // Mean square 2.5, epsilon 0.5.
    expect_near(results[0], {1 / root, 6 / root});
    expect_near(results[1], {3, 4});
    expect_near(results[2], {3 / std::sqrt(13.0), 12 / std::sqrt(13.0)});
    expect_near(results[3], {1 / root + 2, 6 / root + 2});
}

TEST(RmsNorm, GradientsAreTheClosedForms) {
    const std::vector<double> x{1, -2, 0.5};
    const std::vector<double> w{2, 1, -1};
    const std::vector<double> g{0.3, -1, 2};
    Graph graph;
    const Var vx = graph.input("x", ValueType::real, {3});
    const Var vw = graph.input("w", ValueType::real, {3});
    const Var vg = graph.input("g", ValueType::real, {3});
    for (const Var d : gradient(rms_norm(vx, vw, 0.1), vg, std::array{vx, vw})) graph.output(d);
    const auto results =
        run(graph, {Tensor(ValueType::real, {3}, x), Tensor(ValueType::real, {3}, w),
                    Tensor(ValueType::real, {3}, g)});
    // s = (mean x² + eps)^(-1/2), dx = s (w g) - x s³ / D sum(x w g), dw = g x s.
    const double s = 1 / std::sqrt((1 + 4 + 0.25) / 3 + 0.1);
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += x[i] * w[i] * g[i];
    std::vector<double> dx;
    std::vector<double> dw;
    for (std::size_t i = 0; i < 3; ++i) {
        dx.push_back(s * w[i] * g[i] - x[i] * s * s * s / 3 * sum);
        dw.push_back(g[i] * x[i] * s);
    }
    expect_near(results[0], dx);
    expect_near(results[1], dw);
}

TEST(LayerNorm, CentresAndScalesRows) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 4});
    const Var gain = graph.input("gain", ValueType::real, {4});
    const Var bias = graph.input("bias", ValueType::real, {4});
    graph.output(layer_norm(x, gain, bias, 0.75));
    const auto results = run(graph, {Tensor(ValueType::real, {1, 4}, {1, 2, 3, 4}),
                                     Tensor(ValueType::real, {4}, {1, 1, 2, 2}),
                                     Tensor(ValueType::real, {4}, {0, 1, 0, 1})});
    const double root = std::sqrt(2.0);  // Variance 1.25, epsilon 0.75.
    expect_near(results[0], {-1.5 / root, -0.5 / root + 1, 1 / root, 3 / root + 1});
}

TEST(BatchNorm, UsesTheStatisticsItIsGiven) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 2, 1});
    const Var two = graph.constant(Tensor(ValueType::real, {2}, {2, 3}));
    const Var one = graph.constant(Tensor(ValueType::real, {2}, {1, 1}));
    const Statistics running{graph.constant(Tensor(ValueType::real, {2}, {1, -1})),
                             graph.constant(Tensor(ValueType::real, {2}, {4, 16}))};
    graph.output(batch_norm(x, two, one, running, std::array{0, -1}, {.epsilon = 0.0}));
    const auto results = run(graph, {Tensor(ValueType::real, {2, 2, 1}, {1, -1, 3, 7})});
    expect_near(results[0], {1, 1, 3, 7});
}

TEST(BatchNorm, TrainingTakesTheBatchAndMovesTheRunningStatistics) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 2, 2});
    const Var gain = graph.constant(Tensor(ValueType::real, {2}, {1, 2}));
    const Var bias = graph.constant(Tensor(ValueType::real, {2}, {0, 5}));
    const Statistics running{graph.constant(Tensor(ValueType::real, {2}, {10, 0})),
                             graph.constant(Tensor(ValueType::real, {2}, {1, 1}))};
    const auto [output, moved] = batch_norm_training(x, gain, bias, running, std::array{0, 2},
                                                     {.momentum = 0.5, .epsilon = 0.0});
    graph.output(output);
    graph.output(moved.mean);
    graph.output(moved.variance);
    // Shifting a batch changes nothing after its statistics: the gradient of a sum is zero.
    graph.output(gradient(sum_all(output), std::array{x})[0]);
    const auto results = run(graph, {Tensor(ValueType::real, {2, 2, 2}, {1, 1, 0, 4, 3, 3, 4, 0})});
    // Channel 0 holds 1 1 3 3: mean 2, variance 1; channel 1 holds 0 4 4 0: mean 2, variance 4.
    expect_near(results[0], {-1, -1, 3, 7, 1, 1, 7, 3});
    expect_near(results[1], {6, 1});
    expect_near(results[2], {0.5 + 0.5 * 4.0 / 3.0, 0.5 + 0.5 * 16.0 / 3.0});
    expect_near(results[3], std::vector<double>(8, 0.0));
}

/// The loss of logits {0, ln 3} twice for two targets, and its gradient.
std::vector<Tensor> loss(const std::vector<double>& targets, const LossOptions& options) {
    Graph graph;
    const Var logits = graph.input("logits", ValueType::real, {2, 2});
    const Var classes = graph.input("targets", ValueType::integer, {2});
    const Var value = cross_entropy(logits, classes, options);
    graph.output(value);
    graph.output(gradient(sum_all(value), std::array{logits})[0]);
    graph.output(nll(log_softmax(logits), classes, options));
    return run(graph, {Tensor(ValueType::real, {2, 2}, {0, std::log(3.0), 0, std::log(3.0)}),
                       Tensor(ValueType::integer, {2}, targets)});
}

const double loss_of_0 = std::log(4.0);
const double loss_of_1 = std::log(4.0 / 3.0);

TEST(CrossEntropy, IsTheLogSumExpLessTheTargetsLogit) {
    const auto mean = loss({0, 1}, {});
    expect_near(mean[0], {(loss_of_0 + loss_of_1) / 2});
    expect_near(mean[1], {-0.375, 0.375, 0.125, -0.125});
    expect_near(mean[2], mean[0].elements);
    expect_near(loss({0, 1}, {.form = LossForm::sum})[0], {loss_of_0 + loss_of_1});
    expect_near(loss({0, 1}, {.form = LossForm::each})[0], {loss_of_0, loss_of_1});
}

TEST(CrossEntropy, IgnoredTargetsDoNotCount) {
    const auto one = loss({-100, 1}, {.ignored = -100});
    expect_near(one[0], {loss_of_1});
    expect_near(one[1], {0, 0, 0.25, -0.25});
    expect_near(one[2], {loss_of_1});
    const auto none = loss({-1, -1}, {.ignored = -1});
    for (const Tensor& result : none)
        expect_near(result, std::vector<double>(result.elements.size(), 0.0));
    expect_near(loss({0, 7}, {.form = LossForm::each, .ignored = 7})[0], {loss_of_0, 0});
}

/// A loss in f32, and its gradient.
std::vector<Tensor> in_f32(Var (*loss)(Var, Var), ValueType target_type,
                           const std::vector<double>& logits, double target) {
    const auto width = static_cast<std::int64_t>(logits.size());
    Graph graph;
    const Var x = graph.input("logits", ValueType::real, {1, width});
    const Var value = loss(x, graph.input("target", target_type, {1}));
    graph.output(value);
    graph.output(gradient(value, std::array{x})[0]);
    return evaluate(*make_reference_backend(Precision::f32), graph, 1,
                    std::array{Tensor(ValueType::real, {1, width}, logits),
                               Tensor(target_type, {1}, {target})});
}
std::vector<Tensor> cross_entropy_in_f32(const std::vector<double>& logits, double target) {
    return in_f32([](Var x, Var t) { return cross_entropy(x, t); }, ValueType::integer, logits,
                  target);
}
std::vector<Tensor> bce_in_f32(double logit, double target) {
    return in_f32(
        [](Var x, Var t) {
            return bce_with_logits(x, reshape(t, {1, 1}));
        },
        ValueType::real, {logit}, target);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(CrossEntropy, OfLargeLogitsKeepsTheirSmallDifferences) {
    const auto equal = cross_entropy_in_f32({1e7, 1e7}, 0);
    EXPECT_FLOAT_EQ(static_cast<float>(equal[0].elements[0]), std::log(2.0F));
    expect_near(equal[1], {-0.5, 0.5});
    const auto apart = cross_entropy_in_f32({1e7, 1e7 + 2}, 0);
    EXPECT_FLOAT_EQ(static_cast<float>(apart[0].elements[0]), std::log1p(std::exp(2.0F)));
}

TEST(CrossEntropy, OfInfiniteLogits) {
    EXPECT_EQ(cross_entropy_in_f32({-infinity, 0}, 0)[0].elements[0], infinity);
    EXPECT_EQ(cross_entropy_in_f32({-infinity, 0}, 1)[0].elements[0], 0);
    EXPECT_TRUE(std::isnan(cross_entropy_in_f32({-infinity, -infinity}, 0)[0].elements[0]));
    EXPECT_TRUE(std::isnan(cross_entropy_in_f32({infinity, 0}, 0)[0].elements[0]));
}

TEST(BinaryCrossEntropy, OfLargeLogitsIsSmallAndNot0) {
    for (const double target : {0.0, 1.0}) {
        const double sign = target == 1.0 ? 1.0 : -1.0;
        const auto right = bce_in_f32(15.0 * sign, target);
        const double small = std::log1p(std::exp(-15.0));
        EXPECT_NEAR(right[0].elements[0] / small, 1.0, 1e-6);
        EXPECT_NEAR(right[1].elements[0] / (-sign * small), 1.0, 1e-6);
        expect_near(bce_in_f32(-1e7 * sign, target)[0], {1e7});
        expect_near(bce_in_f32(-1e7 * sign, target)[1], {-sign});
    }
    EXPECT_EQ(bce_in_f32(-infinity, 1.0)[0].elements[0], infinity);
}

TEST(BinaryCrossEntropy, ItsSlopeIsTheSigmoidLessTheTarget) {
    for (const double target : {0.0, 0.25, 1.0}) {
        expect_near(bce_in_f32(0.0, target)[1], {0.5 - target});
        for (const double x : {-2.0, 0.5, 3.0})
            EXPECT_NEAR(bce_in_f32(x, target)[1].elements[0], 1 / (1 + std::exp(-x)) - target,
                        1e-6);
    }
}

TEST(CrossEntropy, RefusesTargetsThatAreNoClass) {
    EXPECT_THROW(loss({0, 2}, {}), InputError);
    EXPECT_THROW(loss({0, -100}, {}), InputError);
}

TEST(LogSumExp, HoldsForLargeAndForNoNumbers) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 2});
    graph.output(log_sum_exp(x));
    graph.output(log_sum_exp(x, 0, true));
    const auto results =
        run(graph, {Tensor(ValueType::real, {2, 2}, {1000, 1000, -infinity, -infinity})});
    expect_near(Tensor(ValueType::real, {1}, {results[0].elements[0]}), {1000 + std::log(2.0)});
    EXPECT_EQ(results[0].elements[1], -infinity);
    expect_near(results[1], {1000, 1000});
}

}  // namespace
}  // namespace cambrian::norm_loss_test

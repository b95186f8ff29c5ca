#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/tests/engine/graph/function_support.hpp"

namespace cambrian {
namespace {

using test::expect_gradients;
using test::reals;
using test::value_of;

/// Where each is a formula: far from kinks, and at the kinks of others.
const std::vector<double> smooth{-7.3, -2.4, -0.6, -0.07, 0.05, 0.4, 1.7, 3.4, 7.9};

double formula(Activation activation, double x) {
    const double softplus = std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0);
    switch (activation) {
        case Activation::identity:
            return x;
        case Activation::relu:
            return std::max(x, 0.0);
        case Activation::silu:
            return x / (1.0 + std::exp(-x));
        case Activation::gelu:
            return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
        case Activation::tanh:
            return std::tanh(x);
        case Activation::sigmoid:
            return 1.0 / (1.0 + std::exp(-x));
        case Activation::steep_sigmoid:
            return 1.0 / (1.0 + std::exp(-4.9 * x));
        case Activation::sin:
            return std::sin(x);
        case Activation::cos:
            return std::cos(x);
        case Activation::gauss:
            return std::exp(-x * x);
        case Activation::abs:
            return std::abs(x);
        case Activation::square:
            return x * x;
        case Activation::cube:
            return x * x * x;
        case Activation::elu:
            return x > 0.0 ? x : std::expm1(x);
        case Activation::leaky_relu:
            return x > 0.0 ? x : 0.01 * x;
        case Activation::softplus:
            return softplus;
        case Activation::clamped:
            return std::min(std::max(x, -1.0), 1.0);
        case Activation::hat:
            return std::max(0.0, 1.0 - std::abs(x));
        case Activation::sign:
            return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0);
        case Activation::step:
            return x > 0.0 ? 1.0 : 0.0;
        case Activation::relu6:
            return std::min(std::max(x, 0.0), 6.0);
        case Activation::hard_swish:
            return x * std::min(std::max(x + 3.0, 0.0), 6.0) / 6.0;
        case Activation::mish:
            return x * std::tanh(softplus);
        case Activation::exact_gelu:
            return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    }
    return NAN;
}

test::Function plain(Activation activation) {
    return [activation](std::span<const Var> v) { return activate(v[0], activation); };
}

double slope(Activation activation, double x) {
    Graph graph;
    const Var input = graph.input("x", ValueType::real, {});
    graph.output(gradient(activate(input, activation), std::array{input})[0]);
    const std::array values{Tensor::scalar(x)};
    return evaluate(*make_reference_backend(Precision::f64), graph, 1, values)[0].elements[0];
}

class EveryActivation : public testing::TestWithParam<std::size_t> {
  protected:
    [[nodiscard]] static Activation activation() { return static_cast<Activation>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryActivation,
                         testing::Range(std::size_t{0}, activation_names.size()),
                         [](const auto& param) {
                             return std::string(activation_names[param.param]);
                         });

TEST_P(EveryActivation, HasTheValuesOfItsFormula) {
    const Tensor values = value_of(plain(activation()), {reals(smooth)});
    for (std::size_t i = 0; i < smooth.size(); ++i)
        EXPECT_NEAR(values.elements[i], formula(activation(), smooth[i]), 1e-12) << smooth[i];
    EXPECT_EQ(value_of(plain(activation()), {reals({0.0})}).elements[0] == 0.0,
              info_of(activation()).keeps_zero);
}

TEST_P(EveryActivation, HasTheGradientOfItsValues) {
    expect_gradients(plain(activation()), {reals(smooth)});
}

/// One program for a population whose individuals have each another one.
TEST_P(EveryActivation, IsWhatItsCodeNamesOnTheCpu) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {9});
    const Var code = graph.input("code", ValueType::integer, {}, true);
    graph.output(activate(x, code, ActivationSet::any));
    graph.output(activate(x, code, ActivationSet::common));
    graph.output(activate(x, activation()));
    const auto backend = make_cpu_backend({});
    const double own = static_cast<double>(GetParam());
    const std::vector<Tensor> inputs{reals(smooth),
                                     Tensor(ValueType::integer, {3}, {own, 99, own})};
    const std::vector<Tensor> results = evaluate(*backend, graph, 3, inputs);
    const std::span any(results[0].elements);
    const std::span common(results[1].elements);
    const std::vector<double> rounded(any.begin() + 9, any.begin() + 18);
    const std::vector<double> expected = is_common(activation()) ? results[2].elements : rounded;
    for (std::size_t i = 0; i < smooth.size(); ++i) {
        EXPECT_EQ(any[i], results[2].elements[i]) << smooth[i];
        EXPECT_EQ(any[18 + i], results[2].elements[i]) << smooth[i];
        EXPECT_EQ(any[9 + i], static_cast<double>(static_cast<float>(smooth[i])));
        EXPECT_EQ(common[i], expected[i]) << smooth[i];
    }
}

TEST(Activations, HaveDefinedSlopesAtTheirKinks) {
    EXPECT_EQ(slope(Activation::relu, 0.0), 0.0);
    EXPECT_EQ(slope(Activation::relu6, 0.0), 0.0);
    EXPECT_EQ(slope(Activation::relu6, 6.0), 0.0);
    EXPECT_EQ(slope(Activation::hard_swish, -3.0), 0.0);
    EXPECT_EQ(slope(Activation::hard_swish, 3.0), 1.0);
    EXPECT_EQ(slope(Activation::leaky_relu, 0.0), 0.01);
    EXPECT_EQ(slope(Activation::elu, 0.0), 1.0);
    EXPECT_EQ(slope(Activation::clamped, -1.0), 0.0);
    EXPECT_EQ(slope(Activation::clamped, 1.0), 0.0);
    EXPECT_EQ(slope(Activation::abs, 0.0), 0.0);
    for (const double x : {-1.0, 0.0, 1.0}) EXPECT_EQ(slope(Activation::hat, x), 0.0) << x;
    EXPECT_NEAR(slope(Activation::mish, 0.0), 0.6, 1e-15);
    EXPECT_EQ(slope(Activation::softplus, 0.0), 0.5);
}

}  // namespace
}  // namespace cambrian

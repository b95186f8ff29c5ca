#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/layers/normalisation/softmax_variants.hpp"
#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/reference/reference.hpp"

// Small known values of layers: what they start with, and what distributions they give.
namespace cambrian {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsNan;

std::vector<float> initial(const ParameterSpec& spec) {
    std::vector<float> values(static_cast<std::size_t>(spec.shape.elements()));
    RandomStream stream(random_key(3, "initial"), 0);
    fill_initial(spec, stream, values);
    return values;
}

TEST(InitialValues, OpenTheForgetGate) {
    EXPECT_THAT(initial({.name = "bias", .shape = {8}, .initial = Initial::forget_gate}),
                ElementsAre(0, 0, 1, 1, 0, 0, 0, 0));
}

TEST(InitialValues, GiveDecayRatesOneTwoThree) {
    EXPECT_THAT(initial({.name = "a_log", .shape = {2, 3}, .initial = Initial::log_index}),
                ElementsAre(0, FloatNear(0.6931472F, 1e-6F), FloatNear(1.0986123F, 1e-6F), 0,
                            FloatNear(0.6931472F, 1e-6F), FloatNear(1.0986123F, 1e-6F)));
}

TEST(InitialValues, SpreadTimeStepsEvenlyInTheirLogarithm) {
    const std::vector<float> values =
        initial({.name = "dt_bias", .shape = {2000}, .initial = Initial::time_step});
    double mean = 0.0;
    for (const float value : values) {
        const double step = std::log1p(std::exp(static_cast<double>(value)));
        EXPECT_TRUE(step > 0.00099 && step < 0.101) << step;
        mean += std::log(step) / static_cast<double>(values.size());
    }
    EXPECT_NEAR(mean, 0.5 * (std::log(0.001) + std::log(0.1)), 0.1);
}

TEST(InitialValues, DependOnTheActivationOfAWeight) {
    const ParameterSpec plain{.name = "weight", .shape = {1000}, .fan_in = 12};
    ParameterSpec halved = plain;
    halved.activation = Activation::relu;
    EXPECT_THAT(std::ranges::max(initial(plain)), FloatNear(0.5F, 0.01F));
    EXPECT_THAT(std::ranges::max(initial(halved)), FloatNear(std::sqrt(0.5F), 0.01F));
}

std::vector<double> applied(const Softmax& layer, const std::vector<double>& x,
                            Precision precision = Precision::f64) {
    Graph graph;
    const auto width = static_cast<std::int64_t>(x.size());
    std::vector<Var> parameters;
    for (const ParameterSpec& spec : layer.parameters()) {
        Tensor values(ValueType::real, spec.shape);
        RandomStream stream(random_key(4, spec.name), 0);
        for (double& value : values.elements) value = static_cast<double>(stream.normal());
        parameters.push_back(graph.constant(values));
    }
    const Var input = graph.constant(Tensor(ValueType::real, {1, width}, x));
    graph.output(layer.build(input, {.parameters = parameters, .activations = {}, .row = {width}}));
    return evaluate(*make_reference_backend(precision), graph, 1, {}).front().elements;
}

TEST(SoftmaxVariants, GiveProbabilities) {
    for (Softmax layer : Softmax::examples()) {
        layer.resolve({layer.features});
        std::vector<double> x;
        for (std::int64_t i = 0; i < layer.features; ++i)
            x.push_back(std::sin(3.0 * static_cast<double>(i)));
        const std::vector<double> y = applied(layer, x);
        EXPECT_TRUE(std::ranges::all_of(y, [](double p) { return p >= 0.0; })) << layer.variant;
        const double sums = layer.variant == "grid" ? static_cast<double>(layer.rows) : 1.0;
        EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0), sums, 1e-12) << layer.variant;
    }
    EXPECT_EQ(Softmax::examples().size(), softmax_variants().size());
}

TEST(SoftmaxVariants, EntmaxIsTheKnownDistribution) {
    // Peters, Niculae and Martins, 2019: logits (2, 1, 0.5, -1), alpha 1.5.
    const std::vector<double> y =
        applied({.variant = "entmax", .features = 4, .alpha = 1.5F}, {2, 1, 0.5, -1});
    EXPECT_THAT(y,
                ElementsAre(::testing::DoubleNear(0.815, 5e-4), ::testing::DoubleNear(0.162, 5e-4),
                            ::testing::DoubleNear(0.023, 5e-4), 0.0));
}

TEST(SoftmaxVariants, StayExactFarFromZero) {
    for (Softmax layer :
         {Softmax{.features = 4, .temperature = 0.25F}, Softmax{.variant = "sparse", .features = 4},
          Softmax{.variant = "sparse", .features = 4, .temperature = 0.25F},
          Softmax{.variant = "entmax", .features = 4, .temperature = 0.25F},
          Softmax{.variant = "grid", .features = 4, .temperature = 0.25F, .rows = 2, .cols = 2},
          Softmax{.variant = "gumbel", .features = 4, .temperature = 0.25F},
          Softmax{.variant = "masked",
          .features = 4,
          .temperature = 0.25F,
          .mask = {true, false, true, true}},
          Softmax{.variant = "hierarchical", .features = 4, .temperature = 0.25F, .levels = {4}}}) {
        layer.resolve({4});
        const std::vector<double> expected = applied(layer, {0.25, -0.5, 0.5, 0.125});
        constexpr double far = 1 << 20;
        const std::vector<double> found =
            applied(layer, {far + 0.25, far - 0.5, far + 0.5, far + 0.125}, Precision::f32);
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(found[i], expected[i], 1e-6) << layer.variant << layer.temperature;
    }
}

TEST(SoftmaxVariants, GridsScaleEachRowByItself) {
    Softmax layer{.variant = "grid", .features = 4, .temperature = 0.5F, .rows = 2, .cols = 2};
    const std::vector<double> y = applied(layer, {1, 2, 1e9, 1e9}, Precision::f32);
    EXPECT_NEAR(y[1], 1.0 / (1.0 + std::exp(-2.0)), 1e-6);
    EXPECT_NEAR(y[2], 0.5, 1e-6);
}

double probability_far_from_zero(double offset, Precision precision) {
    Kmeans layer{.clusters = 3, .features = 2, .temperature = 1.0F};
    Graph graph;
    const std::array parameters{graph.constant(
        Tensor(ValueType::real, {3, 2},
               {offset + 1, offset, offset - 0.5, offset + 0.5, offset, offset - 1}))};
    const Var x = graph.constant(Tensor(ValueType::real, {1, 2}, {offset + 0.25, offset + 0.125}));
    graph.output(layer.build(x, {.parameters = parameters, .activations = {}, .row = {2}}));
    return evaluate(*make_reference_backend(precision), graph, 1, {}).front().elements[0];
}

TEST(KmeansLayer, StaysExactFarFromZero) {
    const double expected = probability_far_from_zero(0.0, Precision::f64);
    EXPECT_NEAR(probability_far_from_zero(0.0, Precision::f32), expected, 1e-6);
    EXPECT_NEAR(probability_far_from_zero(1 << 20, Precision::f32), expected, 1e-6);
}

TEST(KmeansLayer, StaysExactBesideAClusterFarAway) {
    for (const std::size_t outlier : {0U, 2U}) {
        std::vector<double> centers{0.1, 0.3, 0.1, 0.3, 0.2, -0.1};
        centers[2 * outlier] = centers[2 * outlier + 1] = 1000.0;
        Graph graph;
        const std::array parameters{graph.constant(Tensor(ValueType::real, {3, 2}, centers))};
        const Var x = graph.constant(Tensor(ValueType::real, {1, 2}, {0.15, 0.12}));
        graph.output(Kmeans{.clusters = 3, .features = 2, .temperature = 0.1F}.build(
            x, {.parameters = parameters, .activations = {}, .row = {2}}));
        const auto exact = evaluate(*make_reference_backend(Precision::f64), graph, 1, {});
        const auto found = evaluate(*make_reference_backend(Precision::f32), graph, 1, {});
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_NEAR(found[0].elements[i], exact[0].elements[i], 1e-6) << outlier << i;
    }
}

TEST(ParallelLayer, LeavesOutBranchesThatAreNotChosen) {
    const Network network(
        blueprint_from_json(nlohmann::json::parse(
                                R"({"layers": [{"type": "parallel", "combine": "filter", "top_k": 1,
                            "branches": [{"type": "dense", "bias": false},
                                         {"type": "dense", "bias": false, "activation": "cube"}],
                            "gate": {"type": "dense", "bias": false}}]})"),
                            1, 1));
    Graph graph;
    const auto constants = [&](ValueType type, const auto& numbers) {
        const std::vector<double> all(numbers.begin(), numbers.end());
        return graph.constant(Tensor(type, {std::ssize(all)}, all));
    };
    const NetworkOperands operands{constants(ValueType::real, std::array{1.0, 1.0, 1.0, -1.0}),
                                   constants(ValueType::integer, network.activation_codes()),
                                   constants(ValueType::boolean, network.enabled_flags())};
    // The gate chooses the first branch; the cube is beyond floats.
    const Var x = graph.constant(Tensor(ValueType::real, {1, 1}, {1e13}));
    const Var y = network.apply(x, operands);
    graph.output(y);
    graph.output(gradient(sum_all(y), std::array{x})[0]);
    const std::vector<Tensor> found =
        evaluate(*make_reference_backend(Precision::f32), graph, 1, {});
    EXPECT_FLOAT_EQ(static_cast<float>(found[0].elements[0]), 1e13F);
    EXPECT_EQ(found[1].elements[0], 1.0);
}

TEST(SoftmaxVariants, EntmaxMeetsItsEnds) {
    const std::vector<double> x{0.3, -0.2, 0.9, 0.1};
    const auto entmax = [&](float alpha) {
        return applied({.variant = "entmax", .features = 4, .alpha = alpha}, x);
    };
    const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
        double largest = 0.0;
        for (std::size_t i = 0; i < a.size(); ++i)
            largest = std::max(largest, std::abs(a[i] - b[i]));
        return largest;
    };
    EXPECT_LT(near(entmax(1.01F), applied({.features = 4}, x)), 5e-3);
    EXPECT_LT(near(entmax(1.99F), applied({.variant = "sparse", .features = 4}, x)), 5e-3);
    EXPECT_EQ(entmax(1.0F), applied({.features = 4}, x));
    EXPECT_EQ(entmax(2.0F), applied({.variant = "sparse", .features = 4}, x));
}

TEST(SoftmaxVariants, RowsThatAreNoNumbersGiveNoDistribution) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Softmax sparse{.variant = "sparse", .features = 3};
    const Softmax entmax{.variant = "entmax", .features = 3, .alpha = 1.5F};
    for (const Softmax& layer : {Softmax{.features = 3}, sparse, entmax}) {
        EXPECT_THAT(applied(layer, {1, infinity, 0}), Contains(IsNan())) << layer.variant;
        EXPECT_THAT(applied(layer, {1, std::nan(""), 0}), Contains(IsNan())) << layer.variant;
        EXPECT_THAT(applied(layer, {-infinity, 2, -infinity}), ElementsAre(0, 1, 0))
            << layer.variant;
    }
}

TEST(SoftmaxVariants, SparsemaxKeepsTies) {
    EXPECT_THAT(applied({.variant = "sparse", .features = 3}, {1, 1, -5}),
                ElementsAre(0.5, 0.5, 0));
    EXPECT_THAT(applied({.variant = "sparse", .features = 2}, {7, 1}), ElementsAre(1, 0));
}

}  // namespace
}  // namespace cambrian

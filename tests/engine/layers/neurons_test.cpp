#include "cambrian/engine/layers/neurons.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/reference/reference.hpp"

// Graphs of single neurons against numbers worked out by hand.
namespace cambrian {
namespace neurons_test {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::ThrowsMessage;
using enum NeuronActivation;
using enum NeuronAggregation;
using Connection = Neurons::Connection;

/// A layer with its parameters, run in f64.
class NeuronRun {
  public:
    NeuronRun(Neurons layer, std::vector<double> parameters)
        : layer_(std::move(layer)), parameters_(std::move(parameters)) {
        layer_.resolve({layer_.in});
        const std::vector<StateSpec> specs = layer_.state();
        if (!specs.empty()) state_.assign(static_cast<std::size_t>(specs[0].shape.elements()), 0.0);
    }

    /// Outputs of the next step.
    std::vector<double> operator()(const std::vector<double>& x) {
        Graph graph;
        std::vector<Var> parameters;
        std::size_t next = 0;
        for (const ParameterSpec& spec : layer_.parameters()) {
            Tensor values(ValueType::real, spec.shape);
            for (double& value : values.elements) value = parameters_.at(next++);
            parameters.push_back(graph.constant(values));
        }
        EXPECT_EQ(next, parameters_.size());
        std::vector<Var> state;
        const auto row = [&](const std::vector<double>& values) {
            return graph.constant(
                Tensor(ValueType::real, {1, static_cast<std::int64_t>(values.size())}, values));
        };
        if (!state_.empty()) state.push_back(row(state_));
        const StepResult result = layer_.step(
            row(x), state, {.parameters = parameters, .activations = {}, .row = {layer_.in}});
        graph.output(result.output);
        for (const Var value : result.state) graph.output(value);
        const std::vector<Tensor> values =
            evaluate(*make_reference_backend(Precision::f64), graph, 1, {});
        if (!state_.empty()) state_ = values.at(1).elements;
        return values.at(0).elements;
    }

  private:
    Neurons layer_;
    std::vector<double> parameters_;
    std::vector<double> state_;
};

double logistic(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

/// One neuron whose weighted inputs are numbers.
double of_numbers(Neurons::Neuron neuron, const std::vector<double>& weights, double bias = 0.0) {
    Neurons layer;
    layer.in = static_cast<std::int64_t>(weights.size());
    layer.out = 1;
    layer.neurons = {neuron};
    for (std::int64_t i = 0; i < layer.in; ++i)
        layer.connections.push_back({.source = i, .target = 0});
    std::vector<double> parameters = weights;
    parameters.push_back(bias);
    return NeuronRun(layer, parameters)(std::vector<double>(weights.size(), 1.0)).at(0);
}

TEST(Neurons, ComputeTheXorOfAHandMadeNetwork) {
    Neurons layer;
    layer.in = 2;
    layer.out = 1;
    layer.neurons = {{.activation = steep_sigmoid}, {.activation = steep_sigmoid}};
    layer.connections = {{.source = 0, .target = 0}, {.source = 1, .target = 0},
                         {.source = 3, .target = 0}, {.source = 0, .target = 1},
                         {.source = 1, .target = 1}, {.source = Neurons::constant, .target = 1}};
    NeuronRun run(layer, {2.0, 2.0, -4.0, 2.0, 2.0, -3.0, -1.0, 0.0});
    const auto expected = [](double a, double b) {
        const double hidden = logistic(4.9 * (2.0 * a + 2.0 * b - 3.0));
        return logistic(4.9 * (2.0 * a + 2.0 * b - 4.0 * hidden - 1.0));
    };
    for (const double a : {0.0, 1.0})
        for (const double b : {0.0, 1.0}) {
            const double y = run({a, b}).at(0);
            EXPECT_NEAR(y, expected(a, b), 1e-12);
            EXPECT_EQ(y > 0.5, a != b) << a << " " << b;
        }
}

TEST(Neurons, ChangePlasticWeightsByTheRuleOfTheirTarget) {
    Neurons layer;
    layer.in = 1;
    layer.out = 1;
    layer.neurons = {{.activation = identity}};
    layer.plastic = true;
    layer.largest_weight = 3.0;
    layer.connections = {{.source = 0, .target = 0, .plastic = true},
                         {.source = Neurons::constant, .target = 0, .plastic = true},
                         {.source = 1, .target = 0, .delay = 1}};
    const double rate = 0.1;
    const double hebbian = 2.0;
    const double presynaptic = -1.0;
    const double postsynaptic = 0.5;
    const double drift = 0.25;
    const std::vector<double> parameters{1.0,     -0.5,        0.25,         0.125, rate,
                                         hebbian, presynaptic, postsynaptic, drift};
    double weight = 1.0;
    double from_one = -0.5;
    double last = 0.0;
    NeuronRun run(layer, parameters);
    for (const double x : {1.0, 0.5, -2.0, 3.0, 3.0, 0.0}) {
        const double y = weight * x + from_one + 0.25 * last + 0.125;
        EXPECT_NEAR(run({x}).at(0), y, 1e-12);
        const auto changed = [&](double before, double source) {
            const double change =
                rate * (hebbian * source * y + presynaptic * source + postsynaptic * y + drift);
            return std::clamp(before + change, -3.0, 3.0);
        };
        weight = changed(weight, x);
        from_one = changed(from_one, 1.0);
        last = y;
    }
    EXPECT_EQ(std::abs(weight), 3.0) << "the limit was met";
    EXPECT_NEAR(NeuronRun(layer, parameters)({1.0}).at(0), 0.625, 1e-12) << "inherited weights";
}

TEST(Neurons, RefusePlasticConnectionsOfALayerThatIsNot) {
    Neurons layer = *Neurons::fitted({2}, {1});
    layer.connections[0].plastic = true;
    EXPECT_THAT(layer.fault(), HasSubstr("plastic"));
    layer.plastic = true;
    EXPECT_TRUE(layer.fault().empty());
    EXPECT_TRUE(layer.stateful());
    EXPECT_EQ(layer.parameters().size(), 7U);
    layer.connections[0].enabled = false;
    EXPECT_FALSE(layer.stateful());
}

TEST(Neurons, LeaveOutWhatCameLaterWhereItIsNotUsed) {
    Neurons layer = *Neurons::fitted({2}, {1});
    const auto bytes = [](const Neurons& of) {
        ArchiveWriter writer;
        writer.write(AnyLayer(of));
        return writer.take();
    };
    const std::string plain = to_json(AnyLayer(layer)).dump();
    const std::size_t size = bytes(layer).size();
    EXPECT_EQ(plain.find("plastic"), std::string::npos);
    EXPECT_EQ(plain.find("largest_weight"), std::string::npos);
    layer.plastic = true;
    layer.connections[1].plastic = true;
    EXPECT_NE(to_json(AnyLayer(layer)).dump().find("plastic"), std::string::npos);
    // The mark after the type, a truth value of the layer and of two connections, a number.
    const std::vector<std::byte> written = bytes(layer);
    EXPECT_EQ(written.size(), size + 1 + 3 + 8);
    ArchiveReader reader(written, "a test");
    AnyLayer back = Neurons::example();
    reader.read(back);
    EXPECT_EQ(std::get<Neurons>(back.variant()), layer);
}

TEST(Neurons, KnowEveryActivation) {
    const std::vector<std::function<double(double)>> functions{
        [](double x) { return x; },
        [](double x) { return std::max(0.0, x); },
        [](double x) { return x * logistic(x); },
        [](double x) {
            return 0.5 * x *
                   (1.0 +
                    std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        },
        [](double x) { return std::tanh(x); },
        logistic,
        [](double x) { return logistic(4.9 * x); },
        [](double x) { return std::sin(x); },
        [](double x) { return std::cos(x); },
        [](double x) { return std::exp(-x * x); },
        [](double x) { return std::abs(x); },
        [](double x) { return x * x; },
        [](double x) { return x * x * x; },
        [](double x) { return x > 0.0 ? x : std::expm1(x); },
        [](double x) { return x > 0.0 ? x : 0.01 * x; },
        [](double x) { return std::log1p(std::exp(x)); },
        [](double x) { return std::clamp(x, -1.0, 1.0); },
        [](double x) { return std::max(0.0, 1.0 - std::abs(x)); },
        [](double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); },
        [](double x) { return x > 0.0 ? 1.0 : 0.0; },
        [](double x) { return std::clamp(x, 0.0, 6.0); },
        [](double x) { return x * std::clamp(x + 3.0, 0.0, 6.0) / 6.0; },
        [](double x) { return x * std::tanh(std::log1p(std::exp(x))); },
        [](double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); },
    };
    ASSERT_EQ(functions.size(), neuron_activation_names.size());
    for (std::size_t code = 0; code < functions.size(); ++code)
        for (const double x : {-2.5, -0.5, 0.0, 0.25, 1.5})
            EXPECT_NEAR(of_numbers({.activation = static_cast<NeuronActivation>(code)}, {x}),
                        functions[code](x), 1e-12)
                << neuron_activation_names[code] << " of " << x;
}

TEST(Neurons, KnowEveryAggregation) {
    const auto all = [](const std::vector<double>& terms) {
        std::vector<double> values;
        for (const NeuronAggregation how : {sum, product, max, min, mean, median, maxabs})
            values.push_back(of_numbers({identity, how}, terms));
        return values;
    };
    EXPECT_THAT(all({3.0}), ElementsAre(3, 3, 3, 3, 3, 3, 3));
    EXPECT_THAT(all({3.0, -4.0, 0.5, 2.0}), ElementsAre(1.5, -12.0, 3.0, -4.0, 0.375, 1.25, -4.0));
    EXPECT_THAT(
        all({2.0, -2.0, 5.0}),
        Pointwise(DoubleNear(1e-12), std::array{5.0, -20.0, 5.0, -2.0, 5.0 / 3.0, 2.0, 5.0}));
    EXPECT_EQ(of_numbers({identity, maxabs}, {2.0, -2.0}), 2.0) << "the first of equals";
    EXPECT_EQ(of_numbers({identity, product}, {3.0, 4.0}, 0.5), 12.5) << "the bias comes after";
}

TEST(Neurons, WithoutInputsHaveTheirBias) {
    Neurons layer;
    layer.in = 2;
    layer.out = 2;
    layer.neurons = {{.activation = identity, .aggregation = product}, {.activation = identity}};
    EXPECT_THAT(NeuronRun(layer, {0.25, -3.0})({1.0, 2.0}), ElementsAre(0.25, -3.0));
    layer.connections = {{.source = 0, .target = 0, .enabled = false}};
    EXPECT_THAT(NeuronRun(layer, {7.0, 0.25, -3.0})({1.0, 2.0}), ElementsAre(0.25, -3.0));
}

TEST(Neurons, ReadValuesOfEarlierSteps) {
    // y = x + 10 y(1 ago) + 100 x(2 ago) + 1000.
    Neurons layer;
    layer.in = 1;
    layer.out = 1;
    layer.neurons = {{.activation = identity}};
    layer.connections = {{.source = 0, .target = 0},
                         {.source = 1, .target = 0, .delay = 1},
                         {.source = 0, .target = 0, .delay = 2},
                         {.source = Neurons::constant, .target = 0, .delay = 1}};
    EXPECT_EQ(AnyLayer(layer).state().at(0).shape, Shape{3});
    NeuronRun run(layer, {1.0, 10.0, 100.0, 1000.0, 0.0});
    EXPECT_THAT(run({1.0}), ElementsAre(1001.0));
    EXPECT_THAT(run({2.0}), ElementsAre(2.0 + 10010.0 + 1000.0));
    EXPECT_THAT(run({3.0}), ElementsAre(3.0 + 110120.0 + 100.0 + 1000.0));
    EXPECT_THAT(run({4.0}), ElementsAre(4.0 + 1112230.0 + 200.0 + 1000.0));
}

TEST(Neurons, ApproachTheirValuesWhereContinuous) {
    // One neuron excites the other; each has a time constant of its own.
    Neurons layer;
    layer.in = 1;
    layer.out = 1;
    layer.neurons = {{.activation = tanh}, {.activation = sigmoid}};
    layer.connections = {{.source = 2, .target = 0},
                         {.source = 0, .target = 1},
                         {.source = 1, .target = 1, .delay = 1}};
    layer.continuous = true;
    layer.time_step = 0.25;
    NeuronRun run(layer, {1.5, 2.0, -1.0, 0.1, -0.2, 0.5, 2.0});
    double output = 0.0;
    double hidden = 0.0;
    for (const double x : {1.0, -0.5, 0.75}) {
        const double before = output;
        hidden += 0.25 / 2.0 * (logistic(2.0 * x - before - 0.2) - hidden);
        output += 0.25 / 0.5 * (std::tanh(1.5 * hidden + 0.1) - before);
        EXPECT_THAT(run({x}), ElementsAre(DoubleNear(output, 1e-12)));
    }
}

TEST(Neurons, RefuseNumbersThatAreZeroInFloats) {
    Neurons layer = *Neurons::fitted({2}, {1});
    for (const double wrong : {0.0, 1e-46, 1e-40, 1e31}) {
        layer.time_step = wrong;
        EXPECT_THAT(layer.fault(), HasSubstr("time_step")) << wrong;
        layer.time_step = 0.1;
        layer.largest_weight = wrong;
        EXPECT_THAT(layer.fault(), HasSubstr("largest_weight")) << wrong;
        layer.largest_weight = 4.0;
    }
    layer.time_step = layer.largest_weight = 1.2e-38;
    EXPECT_TRUE(layer.fault().empty());
}

TEST(Neurons, ThatNoOutputDependsOnCostNothing) {
    const auto nodes = [](const Neurons& layer) {
        AnyLayer any(layer);
        any.resolve({2});
        Graph graph;
        std::vector<Var> parameters;
        for (const ParameterSpec& spec : any.parameters())
            parameters.push_back(graph.input(spec.name, ValueType::real, spec.shape));
        const Var x = graph.input("x", ValueType::real, {4, 2});
        graph.output(
            any.step(x, {}, {.parameters = parameters, .activations = {}, .row = {2}}).output);
        return graph.nodes().size();
    };
    Neurons layer = *Neurons::fitted({2}, {1});
    const std::size_t before = nodes(layer);
    layer.neurons.resize(3);
    layer.connections.push_back({.source = 0, .target = 1});
    layer.connections.push_back({.source = 3, .target = 2});
    layer.connections.push_back({.source = 4, .target = 2, .delay = 3});
    layer.connections.push_back({.source = Neurons::constant, .target = 0, .enabled = false});
    EXPECT_EQ(nodes(layer), before);
    EXPECT_FALSE(AnyLayer(layer).stateful());
}

TEST(Neurons, RefuseWhatIsNoGraph) {
    const auto refusal = [](std::vector<Connection> connections) {
        Neurons layer;
        layer.in = 2;
        layer.out = 1;
        layer.neurons.resize(4);
        layer.connections = std::move(connections);
        return [layer] { Neurons(layer).resolve({2}); };
    };
    EXPECT_THAT(refusal({{.source = 6, .target = 0}}),
                ThrowsMessage<ShapeError>(HasSubstr("connection 0, from source 6 to neuron 0")));
    EXPECT_THAT(refusal({{.source = -2, .target = 0}}),
                ThrowsMessage<ShapeError>(HasSubstr("sources are -1 to 5")));
    EXPECT_THAT(refusal({{.source = 0, .target = 4}}),
                ThrowsMessage<ShapeError>(HasSubstr("neurons 0 to 3")));
    EXPECT_THAT(refusal({{.source = 0, .target = 0, .delay = 5000}}),
                ThrowsMessage<ShapeError>(HasSubstr("delay is 0 to 4096 steps")));
    EXPECT_THAT(refusal({{.source = 3, .target = 0},
                         {.source = 3, .target = 0, .delay = 1},
                         {.source = 3, .target = 0, .enabled = false}}),
                ThrowsMessage<ShapeError>(
                    HasSubstr("two connections from neuron 1 to neuron 0 with a delay of 0")));
    EXPECT_THAT(refusal({{.source = 3, .target = 2},
                         {.source = 5, .target = 1},
                         {.source = 4, .target = 3},
                         {.source = 4, .target = 0}}),
                ThrowsMessage<ShapeError>(HasSubstr("(neuron 2, neuron 3, neuron 1)")));
    EXPECT_THAT(refusal({{.source = 2, .target = 0}}),
                ThrowsMessage<ShapeError>(HasSubstr("(neuron 0)")));
    EXPECT_NO_THROW(refusal({{.source = 2, .target = 0, .enabled = false}})());
    EXPECT_NO_THROW(refusal({{.source = 2, .target = 0, .delay = 1}})());
}

TEST(Neurons, RefuseAStateThatAFewConnectionsMakeHuge) {
    Neurons layer{.in = 4097, .out = 1, .neurons = {}, .connections = {}};
    for (std::int64_t source = 0; source < layer.in; ++source)
        layer.connections.push_back(
            {.source = source, .target = 0, .delay = Neurons::longest_delay});
    EXPECT_THAT([&] { Neurons(layer).resolve({layer.in}); },
                ThrowsMessage<ShapeError>(HasSubstr("its state has 16777216 numbers at most")));
}

}  // namespace neurons_test
}  // namespace cambrian

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/support/layer_bench.hpp"
#include "cambrian/tests/support/layer_samples.hpp"

// What every layer of the list must fulfil.
namespace cambrian::test {
namespace {

class LayerConformance : public ::testing::TestWithParam<LayerSample> {
  protected:
    [[nodiscard]] const AnyLayer& layer() const { return GetParam().layer; }
    /// A stateful layer is described for one leading axis.
    [[nodiscard]] std::vector<std::int64_t> leading() const {
        return layer().stateful() ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{2, 3};
    }
    [[nodiscard]] LayerBench bench(std::vector<std::int64_t> axes) const {
        return {layer(), GetParam().row, std::move(axes)};
    }
};
INSTANTIATE_TEST_SUITE_P(Every, LayerConformance, ::testing::ValuesIn(layer_samples()),
                         [](const auto& sample) { return sample.param.name; });

std::vector<std::unique_ptr<Backend>> single_precision_backends() {
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(make_reference_backend(Precision::f32));
    backends.push_back(make_cpu_backend({.threads = 2, .math = Math::fast}));
    backends.push_back(make_cpu_backend({.threads = 2, .math = Math::strict, .poison = true}));
    return backends;
}

double weighted_sum(const std::vector<Tensor>& outputs) {
    double sum = 0.0;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        for (std::size_t e = 0; e < outputs[o].elements.size(); ++e)
            sum += outputs[o].elements[e] * LayerBench::upstream(o, e);
    }
    return sum;
}

TEST_P(LayerConformance, GradientMatchesFiniteDifference) {
    const LayerBench bench = this->bench(leading());
    const auto reference = make_reference_backend(Precision::f64);
    std::vector<Tensor> values = bench.values();
    const std::vector<Tensor> gradients = evaluate(*reference, bench.gradients(), 1, values);
    ASSERT_EQ(gradients.size(), bench.real_inputs());
    constexpr double step = 1e-5;
    for (std::size_t i = 0; i < bench.real_inputs(); ++i) {
        for (std::size_t e = 0; e < values[i].elements.size(); ++e) {
            const double value = values[i].elements[e];
            values[i].elements[e] = value + step;
            const double above = weighted_sum(evaluate(*reference, bench.graph(), 1, values));
            values[i].elements[e] = value - step;
            const double below = weighted_sum(evaluate(*reference, bench.graph(), 1, values));
            values[i].elements[e] = value;
            const double expected = (above - below) / (2.0 * step);
            EXPECT_NEAR(gradients[i].elements[e], expected,
                        1e-6 * std::max(1.0, std::abs(expected)))
                << bench.graph().input_name(i) << "[" << e << "]";
        }
    }
}

TEST_P(LayerConformance, GivesTheDeclaredShapes) {
    const LayerBench bench = this->bench(leading());
    const Graph& graph = bench.graph();
    const auto shape = [&graph](std::size_t output) {
        return graph.value(graph.outputs()[output]).shape;
    };
    EXPECT_EQ(shape(0), with_leading(leading(), layer().output_shape(GetParam().row)));
    const std::vector<StateSpec> state = layer().state();
    ASSERT_EQ(graph.outputs().size(), 1 + state.size());
    for (std::size_t i = 0; i < state.size(); ++i)
        EXPECT_EQ(shape(1 + i), with_leading(leading(), state[i].shape));
}

TEST_P(LayerConformance, IndividualsAreTheSameBitsAloneAndAmongSeven) {
    const LayerBench bench = this->bench(leading());
    const Graph graph = bench.vmap();
    for (const auto& backend : single_precision_backends()) {
        const std::vector<Tensor> all = evaluate(*backend, graph, 7, bench.values(7));
        for (std::int64_t p = 0; p < 7; ++p) {
            std::vector<Tensor> own = bench.values(7);
            for (std::size_t i = bench.first_own(); i < own.size(); ++i) {
                std::vector<std::int64_t> extents(own[i].shape.extents().begin(),
                                                  own[i].shape.extents().end());
                extents[0] = 1;
                own[i] = Tensor(own[i].type, Shape(std::span<const std::int64_t>(extents)),
                                individual(own[i], p));
            }
            const std::vector<Tensor> alone = evaluate(*backend, graph, 1, own);
            for (std::size_t o = 0; o < alone.size(); ++o)
                EXPECT_EQ(individual(all[o], p), alone[o].elements) << "individual " << p;
        }
    }
}

TEST_P(LayerConformance, ARowDoesNotDependOnOtherRows) {
    const LayerBench bench = this->bench({5});
    const bool embeds = std::holds_alternative<Embedding>(layer().variant());
    for (const auto& backend : single_precision_backends()) {
        std::vector<Tensor> values = bench.values();
        const std::vector<Tensor> before = evaluate(*backend, bench.graph(), 1, values);
        const auto width = values[0].elements.size() / 5;
        for (std::size_t e = 0; e < values[0].elements.size(); ++e) {
            double& value = values[0].elements[e];
            if (e / width != 2) value = embeds ? (value < 2.0 ? 2.5 : 0.5) : 3.0 - value;
        }
        const std::vector<Tensor> after = evaluate(*backend, bench.graph(), 1, values);
        EXPECT_EQ(individual(before[0], 2), individual(after[0], 2));
        EXPECT_NE(individual(before[0], 3), individual(after[0], 3));
    }
}

TEST_P(LayerConformance, LeadingAxesAreAllBatch) {
    const LayerBench rows = bench({6});
    const LayerBench axes = bench({2, 1, 3});
    for (const auto& backend : single_precision_backends()) {
        const auto flat = evaluate(*backend, rows.graph(), 1, rows.values());
        const auto nested = evaluate(*backend, axes.graph(), 1, axes.values());
        EXPECT_EQ(nested[0].shape, with_leading(std::array<std::int64_t, 3>{2, 1, 3},
                                                layer().output_shape(GetParam().row)));
        EXPECT_EQ(flat[0].elements, nested[0].elements);
    }
}

/// x [batch, time, row..] and the parameters of a layer as inputs of a graph.
struct SequenceGraph {
    explicit SequenceGraph(const LayerSample& sample)
        : embeds(std::holds_alternative<Embedding>(sample.layer.variant())) {
        x = graph.input("x", ValueType::real, with_leading(std::array{batch, time}, sample.row));
        for (const ParameterSpec& spec : sample.layer.parameters())
            parameters.push_back(graph.input(spec.name, ValueType::real, spec.shape));
        for (const Activation activation : sample.layer.activations())
            codes.push_back(constant(graph, static_cast<double>(activation), ValueType::integer));
    }
    [[nodiscard]] LayerOperands operands(const Shape& row) const {
        return {.parameters = parameters, .activations = codes, .row = row};
    }
    /// Compares with the outputs of another way to build the same.
    [[nodiscard]] std::vector<double> run(Backend& backend) const {
        std::vector<Tensor> values;
        for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
            const ValueInfo& info = graph.value(graph.inputs()[i]);
            Tensor value(info.type, info.shape);
            RandomStream stream(random_key(i, "sequence"), 0);
            for (double& element : value.elements)
                element = 0.7 * static_cast<double>(stream.normal());
            if (embeds && i == 0)
                for (double& id : value.elements) id = std::min(std::abs(id), 3.0);
            values.push_back(std::move(value));
        }
        return evaluate(backend, graph, 1, values).front().elements;
    }

    static constexpr std::int64_t batch = 2;
    static constexpr std::int64_t time = 6;
    bool embeds;  ///< x holds ids.
    Graph graph;
    Var x;
    std::vector<Var> parameters;
    std::vector<Var> codes;
};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
        EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

TEST_P(LayerConformance, TheSequenceFormIsItsStepsFromZeroState) {
    if (!layer().stateful()) return;
    const Shape& row = GetParam().row;
    SequenceGraph sequence(GetParam());
    const Var output = layer().sequence(sequence.x, sequence.operands(row));
    EXPECT_EQ(output.shape(),
              with_leading(std::array{sequence.batch, sequence.time}, layer().output_shape(row)));
    sequence.graph.output(output);

    SequenceGraph scanned(GetParam());
    scanned.graph.output(scan_layer(layer(), scanned.x, scanned.operands(row)));

    SequenceGraph steps(GetParam());
    std::vector<Var> state;
    for (const StateSpec& spec : layer().state())
        state.push_back(broadcast(constant(steps.graph, 0.0),
                                  with_leading(std::array{steps.batch}, spec.shape)));
    std::vector<Var> outputs;
    for (std::int64_t t = 0; t < steps.time; ++t) {
        const Var x = reshape(slice(steps.x, 1, t, 1), with_leading(std::array{steps.batch}, row));
        StepResult result = layer().step(x, state, steps.operands(row));
        state = std::move(result.state);
        const Shape rows = result.output.shape();
        outputs.push_back(reshape(result.output, {rows[0], 1, rows.elements() / rows[0]}));
    }
    steps.graph.output(concat(outputs, 1));

    const auto exact = make_reference_backend(Precision::f64);
    const std::vector<double> expected = steps.run(*exact);
    expect_near(sequence.run(*exact), expected, 1e-10);
    expect_near(scanned.run(*exact), expected, 1e-10);
    for (const auto& backend : single_precision_backends()) {
        expect_near(sequence.run(*backend), expected, 1e-4);
        expect_near(scanned.run(*backend), expected, 1e-4);
    }
}

TEST_P(LayerConformance, InitialValuesAreFiniteAndOfTheirTable) {
    for (const ParameterSpec& spec : layer().parameters()) {
        std::vector<float> values(static_cast<std::size_t>(spec.shape.elements()));
        RandomStream stream(random_key(1, "initial"), 0);
        fill_initial(spec, stream, values);
        const auto [least, most] = std::ranges::minmax(values);
        EXPECT_TRUE(std::isfinite(least) && std::isfinite(most)) << spec.name;
        if (initial_rule(spec).initial == Initial::weight) {
            EXPECT_GT(spec.fan_in, 0) << spec.name;
            EXPECT_LE(std::max(-least, most), initial_rule(spec).bound) << spec.name;
        }
    }
}

}  // namespace
}  // namespace cambrian::test

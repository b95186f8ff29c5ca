#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/cpu/reference.hpp"
#include "cambrian/engine/layers/width.hpp"
#include "cambrian/tests/support/layer_bench.hpp"

// What every layer of the list must fulfil.
namespace cambrian::test {
namespace {

template <class Variant>
struct AsTypes;
template <class... L>
struct AsTypes<std::variant<L...>> {
    using Types = ::testing::Types<L...>;
};

template <class L>
class LayerConformance : public ::testing::Test {
  protected:
    AnyLayer layer{L::example()};

    /// A stateful layer is described for one leading axis.
    [[nodiscard]] std::vector<std::int64_t> leading() const {
        return layer.stateful() ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{2, 3};
    }
};
TYPED_TEST_SUITE(LayerConformance, AsTypes<AnyLayer::Variant>::Types);

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

TYPED_TEST(LayerConformance, GradientMatchesFiniteDifference) {
    const LayerBench bench(this->layer, this->leading());
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

TYPED_TEST(LayerConformance, GivesTheDeclaredShapes) {
    const LayerBench bench(this->layer, this->leading());
    const Graph& graph = bench.graph();
    const auto shape = [&graph](std::size_t output) {
        return graph.value(graph.outputs()[output]).shape;
    };
    const std::vector<std::int64_t> leading = this->leading();
    EXPECT_EQ(shape(0),
              with_leading(leading, bench.layer().output_shape(example_row(this->layer))));
    const std::vector<StateSpec> state = bench.layer().state();
    ASSERT_EQ(graph.outputs().size(), 1 + state.size());
    for (std::size_t i = 0; i < state.size(); ++i)
        EXPECT_EQ(shape(1 + i), with_leading(leading, state[i].shape));
}

TYPED_TEST(LayerConformance, IndividualsAreTheSameBitsAloneAndAmongSeven) {
    const LayerBench bench(this->layer, this->leading());
    const Graph graph = bench.over_population();
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

TYPED_TEST(LayerConformance, ARowDoesNotDependOnOtherRows) {
    const LayerBench bench(this->layer, {5});
    for (const auto& backend : single_precision_backends()) {
        std::vector<Tensor> values = bench.values();
        const std::vector<Tensor> before = evaluate(*backend, bench.graph(), 1, values);
        const auto width = values[0].elements.size() / 5;
        for (std::size_t e = 0; e < values[0].elements.size(); ++e) {
            if (e / width != 2) values[0].elements[e] = 3.0 - values[0].elements[e];
        }
        const std::vector<Tensor> after = evaluate(*backend, bench.graph(), 1, values);
        EXPECT_EQ(individual(before[0], 2), individual(after[0], 2));
        EXPECT_NE(individual(before[0], 3), individual(after[0], 3));
    }
}

TYPED_TEST(LayerConformance, LeadingAxesAreAllBatch) {
    const LayerBench rows(this->layer, {6});
    const LayerBench axes(this->layer, {2, 1, 3});
    for (const auto& backend : single_precision_backends()) {
        const auto flat = evaluate(*backend, rows.graph(), 1, rows.values());
        const auto nested = evaluate(*backend, axes.graph(), 1, axes.values());
        EXPECT_EQ(nested[0].shape,
                  with_leading(std::array<std::int64_t, 3>{2, 1, 3},
                               axes.layer().output_shape(example_row(this->layer))));
        EXPECT_EQ(flat[0].elements, nested[0].elements);
    }
}

}  // namespace
}  // namespace cambrian::test

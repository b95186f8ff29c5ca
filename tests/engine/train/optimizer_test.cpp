#include "cambrian/engine/train/optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

constexpr double rate = 0.05;
const std::vector<double> start{0.5, -1.0, 2.0};

/// The gradient of step t: of both signs, some tiny.
std::vector<double> gradient_at(int t) {
    return {std::sin(1.7 * t), 1e-3 * std::cos(0.4 * t), t % 3 == 0 ? 0.0 : -2.0 / t};
}

/// A parameter after 20 steps of the graph in f64; `decays` says which elements do, all if empty.
std::vector<double> after_steps(const Optimizer& optimizer,
                                const std::vector<double>& decays = {}) {
    Graph graph;
    const Shape shape{static_cast<std::int64_t>(start.size())};
    const StepScalars scalars{graph.input("rate", ValueType::real, {}),
                              graph.input("step", ValueType::real, {})};
    const Var value = graph.input("value", ValueType::real, shape);
    const Var gradient = graph.input("gradient", ValueType::real, shape);
    std::vector<Var> moments;
    for (std::size_t i = 0; i < moment_count(optimizer); ++i)
        moments.push_back(graph.input("moment", ValueType::real, shape));
    std::optional<Var> shares;
    if (!decays.empty()) shares = graph.constant(Tensor(ValueType::real, shape, decays));
    const UpdatedParameter updated = update(optimizer, scalars, value, gradient, moments, shares);
    graph.output(updated.value);
    for (const Var moment : updated.moments) graph.output(moment);

    const auto backend = make_reference_backend(Precision::f64);
    std::vector<Tensor> state(1 + moments.size(), Tensor(ValueType::real, shape));
    state[0].elements = start;
    for (int t = 1; t <= 20; ++t) {
        std::vector<Tensor> inputs{Tensor::scalar(rate), Tensor::scalar(t), state[0],
                                   Tensor(ValueType::real, shape, gradient_at(t))};
        inputs.insert(inputs.end(), state.begin() + 1, state.end());
        state = evaluate(*backend, graph, 1, inputs);
    }
    return state[0].elements;
}

/// The same by a rule for one element: (parameter, its moments, gradient, step).
using Rule = std::function<void(double&, std::array<double, 2>&, double, int)>;
std::vector<double> by_hand(const Rule& rule) {
    std::vector<double> values = start;
    std::vector<std::array<double, 2>> moments(start.size());
    for (int t = 1; t <= 20; ++t)
        for (std::size_t i = 0; i < values.size(); ++i)
            rule(values[i], moments[i], gradient_at(t)[i], t);
    return values;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
    EXPECT_THAT(actual, Pointwise(DoubleNear(1e-12), expected));
}

TEST(Optimizer, PlainDescentFollowsTheGradient) {
    expect_near(after_steps(Sgd{.weight_decay = 0.1}),
                by_hand([](double& p, auto&, double g, int) { p -= rate * (g + 0.1 * p); }));
}

TEST(Optimizer, MomentumKeepsAndNesterovLooksAhead) {
    expect_near(after_steps(Sgd{.momentum = 0.9}), by_hand([](double& p, auto& m, double g, int) {
                    m[0] = 0.9 * m[0] + g;
                    p -= rate * m[0];
                }));
    expect_near(after_steps(Sgd{.momentum = 0.9, .nesterov = true}),
                by_hand([](double& p, auto& m, double g, int) {
                    m[0] = 0.9 * m[0] + g;
                    p -= rate * (g + 0.9 * m[0]);
                }));
}

Rule adam_rule(double coupled, double decoupled) {
    return [=](double& p, std::array<double, 2>& m, double g, int t) {
        g += coupled * p;
        p *= 1.0 - rate * decoupled;
        m[0] = 0.9 * m[0] + 0.1 * g;
        m[1] = 0.999 * m[1] + 0.001 * g * g;
        const double mean = m[0] / (1.0 - std::pow(0.9, t));
        const double variance = m[1] / (1.0 - std::pow(0.999, t));
        p -= rate * mean / (std::sqrt(variance) + 1e-8);
    };
}

TEST(Optimizer, AdamCorrectsItsBias) {
    expect_near(after_steps(Adam{}), by_hand(adam_rule(0.0, 0.0)));
    expect_near(after_steps(Adam{.weight_decay = 0.2}), by_hand(adam_rule(0.2, 0.0)));
    expect_near(after_steps(Adam{.weight_decay = 0.2, .decoupled = true}),
                by_hand(adam_rule(0.0, 0.2)));
}

TEST(Optimizer, OnlyTheElementsThatDecayAreDecayed) {
    for (const Optimizer& plain : {Optimizer(Sgd{}), Optimizer(Adam{}), Optimizer(RmsProp{})}) {
        Optimizer decaying = plain;
        std::visit([](auto& kind) { kind.weight_decay = 0.2; }, decaying);
        const std::vector<double> some = after_steps(decaying, {1.0, 0.0, 1.0});
        const std::vector<double> all = after_steps(decaying);
        const std::vector<double> none = after_steps(plain);
        EXPECT_THAT(some, ElementsAre(all[0], none[1], all[2])) << name(plain);
        EXPECT_NE(all[1], none[1]) << name(plain);
    }
    const std::vector<double> some =
        after_steps(Adam{.weight_decay = 0.2, .decoupled = true}, {1.0, 0.0, 1.0});
    const std::vector<double> all = by_hand(adam_rule(0.0, 0.2));
    const std::vector<double> none = by_hand(adam_rule(0.0, 0.0));
    expect_near(some, {all[0], none[1], all[2]});
}

TEST(Optimizer, RmsPropDividesByTheRootOfItsAverage) {
    expect_near(after_steps(RmsProp{}), by_hand([](double& p, auto& m, double g, int) {
                    m[0] = 0.99 * m[0] + 0.01 * g * g;
                    p -= rate * g / (std::sqrt(m[0]) + 1e-8);
                }));
}

/// Clipped gradients of [2] and [1], their norm and whether it is finite.
std::vector<Tensor> clipped(Backend& backend, std::vector<double> first, double second,
                            double largest) {
    Graph graph;
    const std::array gradients{graph.input("a", ValueType::real, {2}),
                               graph.input("b", ValueType::real, {})};
    const ClippedGradients result = clip_norm(gradients, largest);
    for (const Var gradient : result.gradients) graph.output(gradient);
    graph.output(result.norm);
    graph.output(result.finite);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {2}, std::move(first)),
                                     Tensor::scalar(second)};
    return evaluate(backend, graph, 1, inputs);
}

std::vector<Tensor> clipped(std::vector<double> first, double second) {
    return clipped(*make_reference_backend(Precision::f64), std::move(first), second, 2.0);
}

TEST(Optimizer, ClippingScalesAllGradientsTogether) {
    const auto large = clipped({3.0, 4.0}, 12.0);
    EXPECT_NEAR(large[2].elements[0], 13.0, 1e-12);
    EXPECT_NEAR(large[0].elements[0], 3.0 * 2.0 / 13.0, 1e-6);
    EXPECT_NEAR(large[0].elements[1], 4.0 * 2.0 / 13.0, 1e-6);
    EXPECT_NEAR(large[1].elements[0], 12.0 * 2.0 / 13.0, 1e-6);

    const auto small = clipped({0.3, 0.4}, 0.0);
    EXPECT_THAT(small[0].elements, ElementsAre(0.3, 0.4)) << "a small norm changes nothing";
}

TEST(Optimizer, TheLargestNormOfFloat32ClipsNothing) {
    const auto cpu = make_cpu_backend({});
    const auto reference = make_reference_backend(Precision::f32);
    for (Backend* backend : {cpu.get(), reference.get()})
        for (const double size : {0.0, 0.25, 0x1p60}) {
            const std::vector<double> gradients{3.0 * size, -4.0 * size};
            EXPECT_EQ(clipped(*backend, gradients, 0.0, largest_norms.max)[0].elements, gradients);
        }
}

TEST(Optimizer, ManySmallGradientsCountBesideALargeOne) {
    constexpr std::int64_t count = (1 << 20) + 5;
    constexpr double small = 1.6e-4;  // Its square is lost beside 1 in f32.
    std::vector<double> values(count, small);
    values.front() = 1.0;
    Graph graph;
    const Var gradients = graph.input("gradients", ValueType::real, {count});
    graph.output(clip_norm(std::array{gradients}, std::nullopt).norm);
    const auto norm = evaluate(*make_cpu_backend({}), graph, 1,
                               std::array{Tensor(ValueType::real, {count}, std::move(values))});
    EXPECT_NEAR(norm[0].elements[0], std::sqrt(1.0 + (count - 1) * small * small), 1e-4);
}

TEST(Optimizer, NoChainOfANormIsLong) {
    const auto rows_of = [](std::int64_t count) {
        Graph graph;
        const Var gradients = graph.input("gradients", ValueType::real, {count});
        graph.output(clip_norm(std::array{gradients}, std::nullopt).norm);
        std::vector<std::int64_t> rows;
        for (const Node& node : graph.nodes())
            if (node.op == Op::reduce_sum)
                rows.push_back(graph.value(graph.operands(node)[0])
                                   .shape[std::get<AxisAttribute>(node.attributes).axis]);
        return rows;
    };
    EXPECT_THAT(rows_of(1024), ElementsAre(1024));
    EXPECT_THAT(rows_of(4096), ElementsAre(64, 64));
    EXPECT_THAT(rows_of(4097), ElementsAre(64, 64, 1));
    EXPECT_THAT(rows_of(std::int64_t{3} * 4096 * 4096), ElementsAre(64, 64, 64, 192));
}

TEST(Optimizer, ANormThatIsNotFiniteIsTold) {
    EXPECT_THAT(clipped({1.0, 2.0}, 3.0)[3].elements, ElementsAre(1));
    EXPECT_THAT(clipped({1.0, std::nan("")}, 3.0)[3].elements, ElementsAre(0));
    EXPECT_THAT(clipped({1.0, HUGE_VAL}, 3.0)[3].elements, ElementsAre(0));
}

}  // namespace
}  // namespace cambrian

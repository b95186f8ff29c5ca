#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/reference/reference.hpp"

// Positions, and norms of queries and keys, against plain loops.
namespace cambrian {
namespace {

using Vector = std::vector<double>;

/// A layer over x [1, time, width], with these parameters.
Vector sequence(AnyLayer layer, const Shape& row, const Vector& x,
                const std::vector<Vector>& parameters) {
    layer.resolve(row);
    Graph graph;
    std::vector<Var> values;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        values.push_back(
            graph.constant(Tensor(ValueType::real, layer.parameters()[i].shape, parameters[i])));
    const auto time = static_cast<std::int64_t>(x.size()) / row[0];
    const Var input = graph.constant(Tensor(ValueType::real, {1, time, row[0]}, x));
    graph.output(layer.sequence(input, {.parameters = values, .activations = {}, .row = row}));
    return evaluate(*make_reference_backend(Precision::f64), graph, 1, {}).front().elements;
}

/// Four numbers a position.
Vector some(std::size_t count, double phase) {
    Vector values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::sin(1.3 * static_cast<double>(i) + phase);
    return values;
}

/// weight [4, 4] times row `t` of x.
Vector product(const Vector& weight, const Vector& x, std::size_t t) {
    Vector y(4, 0.0);
    for (std::size_t o = 0; o < 4; ++o)
        for (std::size_t i = 0; i < 4; ++i) y[o] += weight[4 * o + i] * x[4 * t + i];
    return y;
}

/// Both heads [2] of a row with unit root mean square, times gains, turned by its position.
Vector turned(Vector y, const Vector& gain, double epsilon, double position) {
    for (std::size_t head = 0; head < 4; head += 2) {
        const double square = (y[head] * y[head] + y[head + 1] * y[head + 1]) / 2.0;
        const double a = y[head] / std::sqrt(square + epsilon) * gain[0];
        const double b = y[head + 1] / std::sqrt(square + epsilon) * gain[1];
        y[head] = a * std::cos(position) - b * std::sin(position);
        y[head + 1] = b * std::cos(position) + a * std::sin(position);
    }
    return y;
}

TEST(AttentionNorms, ArePerHeadAndBeforePositions) {
    constexpr std::size_t time = 5;
    const std::vector<Vector> weights{some(16, 0.1), some(16, 0.7), some(16, 1.9), some(16, 2.3)};
    const Vector q_gain{1.5, -0.5};
    const Vector k_gain{0.8, 2.0};
    const Vector x = some(4 * time, 0.4);
    MultiHeadAttention layer{.heads = 2, .rope_base = 10.0F, .bias = false};
    layer.qk_norm = true;
    layer.qk_epsilon = 0.25F;
    std::vector<Vector> parameters = weights;
    parameters.insert(parameters.end(), {q_gain, k_gain});
    const Vector actual = sequence(layer, {4}, x, parameters);

    for (std::size_t t = 0; t < time; ++t) {
        const Vector q = turned(product(weights[0], x, t), q_gain, 0.25, static_cast<double>(t));
        Vector mixed(4, 0.0);
        for (std::size_t head = 0; head < 4; head += 2) {
            double sum = 0.0;
            for (std::size_t s = 0; s <= t; ++s) {
                const Vector k =
                    turned(product(weights[1], x, s), k_gain, 0.25, static_cast<double>(s));
                const Vector v = product(weights[2], x, s);
                const double weight =
                    std::exp((q[head] * k[head] + q[head + 1] * k[head + 1]) / std::sqrt(2.0));
                sum += weight;
                for (std::size_t i = head; i < head + 2; ++i) mixed[i] += weight * v[i];
            }
            mixed[head] /= sum;
            mixed[head + 1] /= sum;
        }
        const Vector expected = product(weights[3], mixed, 0);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(actual[4 * t + i], expected[i], 1e-7);
    }
}

TEST(LearnedPositions, AreAddedStepByStep) {
    const Embedding layer{.vocabulary = 3, .features = 2, .positions = 4};
    const Vector table{1, 2, 3, 4, 5, 6};
    const Vector places{10, 20, 30, 40, 50, 60, 70, 80};
    EXPECT_EQ(sequence(layer, {1}, {2, 0, 2}, {table, places}), (Vector{15, 26, 31, 42, 55, 66}));
    EXPECT_THROW(static_cast<void>(sequence(layer, {1}, {0, 0, 0, 0, 0}, {table, places})),
                 ShapeError);
}

}  // namespace
}  // namespace cambrian

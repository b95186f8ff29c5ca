#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/reference/reference.hpp"

// Functions of real tensors in f64, and their gradients against finite differences.
namespace cambrian::test {

using Function = std::function<Var(std::span<const Var>)>;

[[nodiscard]] inline Graph graph_of(const Function& function, std::span<const Tensor> inputs,
                                    bool with_gradients = false) {
    Graph graph;
    std::vector<Var> operands;
    for (const Tensor& input : inputs)
        operands.push_back(graph.input("x", input.type, input.shape));
    const Var result = function(operands);
    graph.output(result);
    if (!with_gradients) return graph;
    std::vector<Var> reals;
    for (const Var operand : operands)
        if (operand.info().type == ValueType::real) reals.push_back(operand);
    for (const Var g : gradient(sum_all(result * result), reals)) graph.output(g);
    return graph;
}

[[nodiscard]] inline Tensor value_of(const Function& function, std::vector<Tensor> inputs) {
    const auto backend = make_reference_backend(Precision::f64);
    return evaluate(*backend, graph_of(function, inputs), 1, inputs)[0];
}

/// The gradient of the sum of squares of the results with respect to every real input.
inline void expect_gradients(const Function& function, std::vector<Tensor> inputs,
                             double tolerance = 1e-5) {
    const auto backend = make_reference_backend(Precision::f64);
    const auto program = evaluate(*backend, graph_of(function, inputs, true), 1, inputs);
    const auto loss = [&] {
        double sum = 0.0;
        for (const double y : value_of(function, inputs).elements) sum += y * y;
        return sum;
    };
    std::size_t output = 0;
    for (Tensor& input : inputs) {
        if (input.type != ValueType::real) continue;
        const std::vector<double>& actual = program[++output].elements;
        ASSERT_EQ(actual.size(), input.elements.size());
        for (std::size_t i = 0; i < actual.size(); ++i) {
            constexpr double step = 1e-5;
            const double x = input.elements[i];
            input.elements[i] = x + step;
            const double above = loss();
            input.elements[i] = x - step;
            const double below = loss();
            input.elements[i] = x;
            const double expected = (above - below) / (2.0 * step);
            EXPECT_NEAR(actual[i], expected, tolerance * std::max(1.0, std::fabs(expected)))
                << "element " << i << " of input " << output - 1;
        }
    }
}

[[nodiscard]] inline Tensor reals(const Shape& shape, std::vector<double> values) {
    return {ValueType::real, shape, std::move(values)};
}
[[nodiscard]] inline Tensor reals(std::vector<double> values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return {ValueType::real, shape, std::move(values)};
}
[[nodiscard]] inline Tensor integers(std::vector<double> values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return {ValueType::integer, shape, std::move(values)};
}
[[nodiscard]] inline Tensor booleans(std::vector<double> values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return {ValueType::boolean, shape, std::move(values)};
}

}  // namespace cambrian::test

#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/reference/reference.hpp"

// Values worked out by hand, in f64.
namespace cambrian::test {

[[nodiscard]] inline std::vector<Tensor> run(const Graph& graph,
                                             const std::vector<Tensor>& inputs) {
    const auto backend = make_reference_backend(Precision::f64);
    return evaluate(*backend, graph, 1, inputs);
}

inline void expect_near(const Tensor& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.elements.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(actual.elements[i], expected[i], 1e-12) << "element " << i;
}

}  // namespace cambrian::test

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::test {

/// Reals that repeat after 17, from `first` on.
inline std::vector<float> numbers(std::int64_t count, float first = -1.0F) {
    std::vector<float> result(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = first + 0.37F * static_cast<float>(i % 17);
    return result;
}

/// y = tanh(x) * w + x for each individual, x [width] shared.
inline Graph small_graph(std::int64_t width) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {width});
    const Var w = graph.input("w", ValueType::real, {width}, true);
    graph.output(tanh(x) * w + x);
    return graph;
}

/// What small_graph gives on the CPU.
inline std::vector<float> expected_small(const std::vector<float>& x, const std::vector<float>& w) {
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const Shape shape{static_cast<std::int64_t>(x.size())};
    const auto population = static_cast<std::int64_t>(w.size() / x.size());
    const auto result = evaluate(
        *cpu, small_graph(shape[0]), population,
        std::vector{Tensor(ValueType::real, shape, {x.begin(), x.end()}),
                    Tensor(ValueType::real, {population, shape[0]}, {w.begin(), w.end()})});
    return {result[0].elements.begin(), result[0].elements.end()};
}

/// A Vulkan backend and short ways to fill and read its buffers.
class ProgramTest : public testing::Test {
  protected:
    ProgramTest() : backend_(make_vulkan_backend(test_vulkan_options())) {}

    std::unique_ptr<Buffer> buffer(const std::vector<float>& values) {
        auto result = backend_->allocate(ValueType::real, static_cast<std::int64_t>(values.size()));
        backend_->upload(*result, 0, std::span<const float>(values));
        return result;
    }
    std::unique_ptr<Buffer> buffer(const std::vector<std::int32_t>& values) {
        auto result =
            backend_->allocate(ValueType::integer, static_cast<std::int64_t>(values.size()));
        backend_->upload(*result, 0, std::span<const std::int32_t>(values));
        return result;
    }
    std::vector<float> reals(const Buffer& buffer) {
        std::vector<float> values(static_cast<std::size_t>(buffer.elements()));
        backend_->download(buffer, 0, std::span<float>(values));
        return values;
    }
    [[nodiscard]] VulkanStatistics statistics() const { return vulkan_statistics(*backend_); }

    std::unique_ptr<Backend> backend_;
};

}  // namespace cambrian::test

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/gpu/kernels/attention/tile.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::gpu {
namespace {

struct Extents {
    std::int64_t heads;
    std::int64_t key_heads;
    std::int64_t queries;
    std::int64_t keys;
    std::int64_t width;
    std::int64_t value_width;
};

/// Output, log-sum-exp and the gradients of all operands; keys and values are shared.
Graph graph_of(const Extents& e, bool causal, bool with_valid) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {e.heads, e.queries, e.width}, true);
    const Var k = graph.input("k", ValueType::real, {e.key_heads, e.keys, e.width});
    const Var v = graph.input("v", ValueType::real, {e.key_heads, e.keys, e.value_width});
    AttentionOptions options{.causal = causal};
    if (with_valid) options.valid = graph.input("valid", ValueType::integer, {}, true);
    const Attention a = attention(q, k, v, options);
    graph.output(a.output);
    graph.output(a.log_sum_exp);
    for (const Var g : gradient(sum_all(square(a.output)), std::array{q, k, v})) graph.output(g);
    return graph;
}

constexpr std::int64_t population = 2;

std::vector<Tensor> inputs_of(const Graph& graph, const std::vector<double>& valid) {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs()) {
        const ValueInfo& info = graph.value(id);
        std::vector<std::int64_t> extents;
        if (info.per_individual) extents.push_back(population);
        extents.insert(extents.end(), info.shape.extents().begin(), info.shape.extents().end());
        inputs.emplace_back(info.type, Shape(std::span<const std::int64_t>(extents)));
        std::vector<double>& elements = inputs.back().elements;
        if (info.type == ValueType::integer) elements = valid;
        for (std::size_t i = 0; info.type == ValueType::real && i < elements.size(); ++i)
            elements[i] = static_cast<double>(
                static_cast<float>(std::sin(0.7 * static_cast<double>(i * inputs.size() + i))));
    }
    return inputs;
}

void expect_close(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t r = 0; r < expected.size(); ++r)
        for (std::size_t i = 0; i < expected[r].elements.size(); ++i) {
            const double a = actual[r].elements[i];
            const double e = expected[r].elements[i];
            if (a == e) continue;
            ASSERT_NEAR(a, e, 2e-5 * std::max(1.0, std::fabs(e)))
                << "result " << r << " element " << i;
        }
}

void expect_the_lowering(const Extents& e, bool causal, const std::vector<double>& valid = {}) {
    const Shape extents{e.heads, e.key_heads, e.queries, e.keys, e.width, e.value_width};
    SCOPED_TRACE(extents.text());
    const Graph graph = graph_of(e, causal, !valid.empty());
    const std::vector<Tensor> inputs = inputs_of(graph, valid);
    VulkanOptions options = test::test_vulkan_options();
    options.fuse =
        false;  // What stands around the kernels would be another fusion group for every width.
    const auto backend = make_vulkan_backend(options);
    const auto exact = make_reference_backend(Precision::f64);
    expect_close(evaluate(*backend, graph, population, inputs),
                 evaluate(*exact, graph, population, inputs));
}

TEST(VulkanAttention, TilesAndTheirEdgesEqualTheLowering) {
    for (const bool causal : {false, true}) {
        expect_the_lowering({1, 1, 1, 1, 1, 1}, causal);
        expect_the_lowering({2, 2, 65, 65, 64, 64}, causal);
        expect_the_lowering({4, 1, 17, 70, 80, 33}, causal);
        expect_the_lowering({2, 1, 33, 20, 3, 130}, causal);
        expect_the_lowering({1, 1, 40, 130, 260, 300}, causal);
    }
}

TEST(VulkanAttention, EveryIndividualHasItsOwnNumberOfKeys) {
    for (const bool causal : {false, true}) {
        expect_the_lowering({2, 1, 5, 40, 4, 4}, causal, {0, 40});
        expect_the_lowering({2, 1, 5, 40, 4, 4}, causal, {3, 1000});
        expect_the_lowering({2, 1, 5, 40, 4, 4}, causal, {17, -1});
        // One query a head: parts of 32 keys, of which some, or all, are not seen.
        expect_the_lowering({2, 1, 1, 100, 4, 4}, causal, {0, 100});
        expect_the_lowering({2, 1, 1, 100, 4, 4}, causal, {64, 1});
    }
}

TEST(VulkanAttention, WithoutKeysGivesZeros) {
    const Graph graph = graph_of({2, 1, 3, 9, 4, 4}, false, true);
    const auto backend = make_vulkan_backend(test::test_vulkan_options());
    const auto results = evaluate(*backend, graph, population, inputs_of(graph, {0, 0}));
    for (const std::size_t r : {0U, 2U, 3U, 4U})
        EXPECT_EQ(results[r].elements, std::vector<double>(results[r].elements.size(), 0.0));
    for (const double x : results[1].elements)
        EXPECT_EQ(x, -std::numeric_limits<double>::infinity());
}

TEST(VulkanAttention, WhatACacheHoldsLaterDoesNotMatter) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {2, 1, 4});
    const Var cache = graph.input("cache", ValueType::real, {1, 70, 4});
    const Var own = graph.input("own", ValueType::real, {1, 1, 4});
    const Var at = graph.input("position", ValueType::integer, {}, true);
    graph.output(cached_attention(q, {cache, cache}, {own, own}, at, {.window = 20}));
    std::vector<Tensor> inputs = inputs_of(graph, {35, 0});
    const auto backend = make_vulkan_backend(test::test_vulkan_options());
    const auto expected = evaluate(*backend, graph, population, inputs);
    for (std::size_t row = 0; row < 70; ++row)
        if (row < 16 || row >= 35)
            std::fill_n(inputs[1].elements.begin() + static_cast<std::ptrdiff_t>(row * 4), 4,
                        std::nan(""));
    EXPECT_EQ(evaluate(*backend, graph, population, inputs)[0].elements, expected[0].elements);
    for (const double x : expected[0].elements) EXPECT_TRUE(std::isfinite(x));
}

TEST(VulkanAttention, RefusesACacheThatAnInvocationDoesNotGetThrough) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {2, 1, 40});
    const Var cache = graph.input("cache", ValueType::real, {1, 70, 40});
    const Var own = graph.input("own", ValueType::real, {1, 1, 40});
    const Var at = graph.input("position", ValueType::integer, {});
    graph.output(cached_attention(q, {cache, cache}, {own, own}, at));
    VulkanOptions options = test::test_vulkan_options();
    options.max_turns = 100;
    const auto backend = make_vulkan_backend(options);
    EXPECT_THROW(static_cast<void>(backend->compile(graph)), DeviceError);
}

TEST(VulkanAttention, LongWalksGoOnFromWhatTheyStored) {
    // The software device cuts walks of more than about 1600 rows into several dispatches.
    expect_the_lowering({1, 1, 1700, 1700, 2, 2}, true);
    expect_the_lowering({1, 1, 2, 4000, 2, 40}, false);
}

TEST(VulkanAttention, RunsAreTheSameBits) {
    const Graph graph = graph_of({4, 2, 37, 50, 20, 24}, true, false);
    const std::vector<Tensor> inputs = inputs_of(graph, {});
    const auto backend = make_vulkan_backend(test::test_vulkan_options());
    const auto first = evaluate(*backend, graph, population, inputs);
    const auto second = evaluate(*backend, graph, population, inputs);
    for (std::size_t r = 0; r < first.size(); ++r) EXPECT_EQ(first[r].elements, second[r].elements);
}

TEST(VulkanAttention, ACacheIsTheStateOfAScan) {
    constexpr std::int64_t length = 5;
    Graph body;
    const Var cache = body.input("cache", ValueType::real, {2, length, 4});
    const Var position = body.input("position", ValueType::integer, {});
    const Var row = body.input("row", ValueType::real, {2, 1, 4});
    const Var next = append_rows(cache, row, position);
    body.output(next);
    body.output(position + 1.0);
    body.output(attention(row, next, next, {.causal = true, .valid = position + 1.0}).output);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {length, 2, 1, 4}, true);
    const std::array carries{broadcast(constant(graph, 0.0), {2, length, 4}),
                             constant(graph, 0.0, ValueType::integer)};
    const Var steps =
        scan(std::move(body), carries, std::array{x}, {}, {.length = length}).stacked[0];
    graph.output(steps);
    graph.output(gradient(sum_all(square(steps)), std::array{x})[0]);
    const std::vector<Tensor> inputs = inputs_of(graph, {});
    const auto backend = make_vulkan_backend(test::test_vulkan_options());
    const auto exact = make_reference_backend(Precision::f64);
    expect_close(evaluate(*backend, graph, population, inputs),
                 evaluate(*exact, graph, population, inputs));
}

TEST(AttentionTile, FitsEveryDevice) {
    vulkan::DeviceLimits least;
    least.shared_bytes = 16384;  // The limits that Vulkan guarantees.
    least.max_group_threads = 128;
    vulkan::DeviceLimits usual = least;
    usual.shared_bytes = 49152;
    usual.max_group_threads = 1024;
    for (const vulkan::DeviceLimits& limits : {least, usual})
        for (const int sums : {1, 2})
            for (const std::int64_t columns : {1, 32, 33, 64, 128, 256, 1000}) {
                const AttentionTile& tile = choose_attention_tile(columns, sums, limits);
                EXPECT_TRUE(tile.fits(limits)) << columns;
                EXPECT_EQ(tile.rows % 8, 0U);
                EXPECT_EQ(tile.columns % tile.side, 0U);
                // A tile is whole loads of all invocations (shaders/attention/attention.glsl).
                EXPECT_EQ(tile.rows * tile.side / 4 % tile.threads(), 0U);
                EXPECT_EQ(tile.side * tile.side / 4 % tile.threads(), 0U);
            }
    EXPECT_EQ(choose_attention_tile(64, 1, usual).columns, 64U);
    EXPECT_EQ(choose_attention_tile(65, 1, usual).columns, 128U);
}

}  // namespace
}  // namespace cambrian::gpu

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::matmul_test {
namespace {

using test::first_difference;

enum class Shared { none, left, right, both };
constexpr std::array all_sharings{Shared::none, Shared::left, Shared::right, Shared::both};

struct ProductCase {
    Shape left;
    Shape right;
    MatmulAttribute flags;
    Shared shared = Shared::none;
    [[nodiscard]] std::string label() const {
        return left.text() + (flags.transpose_left ? "T" : "") + " x " + right.text() +
               (flags.transpose_right ? "T" : "") + " sharing " +
               std::to_string(static_cast<int>(shared));
    }
};

Shape matrix(std::vector<std::int64_t> batch, std::int64_t rows, std::int64_t columns,
             bool transposed) {
    batch.push_back(transposed ? columns : rows);
    batch.push_back(transposed ? rows : columns);
    return Shape(std::span<const std::int64_t>(batch));
}

ProductCase product_case(std::int64_t m, std::int64_t n, std::int64_t k, std::size_t transposes,
                         Shared shared) {
    const MatmulAttribute flags{(transposes & 1U) != 0, (transposes & 2U) != 0};
    return {matrix({}, m, k, flags.transpose_left), matrix({}, k, n, flags.transpose_right), flags,
            shared};
}

Graph product_graph(const ProductCase& product) {
    Graph graph;
    const bool left = product.shared != Shared::left && product.shared != Shared::both;
    const bool right = product.shared != Shared::right && product.shared != Shared::both;
    const Var a = graph.input("a", ValueType::real, product.left, left);
    const Var b = graph.input("b", ValueType::real, product.right, right);
    graph.output(matmul(a, b, product.flags.transpose_left, product.flags.transpose_right));
    return graph;
}

/// Elements in [-1, 1) and codes in [-1, 6]; an individual has the same ones in any population.
Tensor random_tensor(const ValueInfo& info, std::int64_t population, std::uint64_t seed) {
    std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
    if (info.per_individual) extents.insert(extents.begin(), population);
    Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
    const auto elements = static_cast<std::size_t>(info.shape.elements());
    for (std::size_t p = 0; p * elements < tensor.elements.size(); ++p) {
        RandomStream stream(random_key(seed, "matmul test"), p);
        for (std::size_t i = 0; i < elements; ++i)
            tensor.elements[p * elements + i] =
                info.type == ValueType::real ? static_cast<double>(stream.uniform() * 2.0F - 1.0F)
                                             : static_cast<double>(stream.index(8)) - 1.0;
    }
    return tensor;
}

std::vector<Tensor> random_inputs(const Graph& graph, std::int64_t population) {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs())
        inputs.push_back(random_tensor(graph.value(id), population, inputs.size()));
    return inputs;
}

void expect_bits_of_reference(Backend& backend, const Graph& graph, std::int64_t population,
                              const std::vector<Tensor>& inputs) {
    const auto reference = make_reference_backend(Precision::f32);
    const auto expected = evaluate(*reference, graph, population, inputs);
    const auto actual = evaluate(backend, graph, population, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1) << "output " << i;
}

void expect_bits_of_reference(Backend& backend, const ProductCase& product,
                              std::int64_t population = 3) {
    SCOPED_TRACE(product.label());
    const Graph graph = product_graph(product);
    expect_bits_of_reference(backend, graph, population, random_inputs(graph, population));
}

void expect_near_reference(Backend& backend, const ProductCase& product) {
    SCOPED_TRACE(product.label());
    constexpr std::int64_t population = 3;
    const Graph graph = product_graph(product);
    const auto inputs = random_inputs(graph, population);
    const auto reference = make_reference_backend(Precision::f64);
    const auto expected = evaluate(*reference, graph, population, inputs)[0].elements;
    const auto actual = evaluate(backend, graph, population, inputs)[0].elements;
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i])))
            << "element " << i;
}

/// Every pair of odd extents of m, n and k at least once, each with all transposes, ways to share
/// in turn.
std::vector<ProductCase> odd_products() {
    constexpr std::array<std::int64_t, 5> extents{1, 3, 17, 65, 257};
    std::vector<ProductCase> cases;
    for (std::size_t i = 0; i < extents.size(); ++i)
        for (std::size_t j = 0; j < extents.size(); ++j)
            for (std::size_t transposes = 0; transposes < 4; ++transposes)
                cases.push_back(product_case(extents[i], extents[j],
                                             extents[(i + j) % extents.size()], transposes,
                                             all_sharings[(i + 2 * j + transposes) % 4]));
    return cases;
}

std::vector<ProductCase> batched_products() {
    using Batch = std::vector<std::int64_t>;
    const std::vector<std::pair<Batch, Batch>> batches{
        {{2}, {2}},          {{3}, {}},        {{}, {3}},
        {{2, 1}, {3}},       {{2, 3}, {2, 1}}, {{2, 1, 3, 1}, {4, 1, 2}},
        {{2, 3, 2}, {3, 1}}, {{1, 1}, {1}},    {{2, 3, 2, 2}, {2, 3, 2, 2}}};
    std::vector<ProductCase> cases;
    for (const auto& [left, right] : batches)
        for (std::size_t transposes = 0; transposes < 4; ++transposes) {
            const MatmulAttribute flags{(transposes & 1U) != 0, (transposes & 2U) != 0};
            cases.push_back({matrix(left, 5, 9, flags.transpose_left),
                             matrix(right, 9, 18, flags.transpose_right), flags,
                             all_sharings[(cases.size() + transposes) % 4]});
        }
    return cases;
}

std::unique_ptr<Backend> backend_of(Math math, std::string tile = {}) {
    VulkanOptions options = test::test_vulkan_options(math);
    options.matmul_tile = std::move(tile);
    return make_vulkan_backend(options);
}

TEST(VulkanMatmul, IsTheReferenceInEveryBitUnderStrictMath) {
    const auto backend = backend_of(Math::strict);
    for (const ProductCase& product : odd_products()) expect_bits_of_reference(*backend, product);
}

TEST(VulkanMatmul, BroadcastsBatches) {
    const auto backend = backend_of(Math::strict);
    for (const ProductCase& product : batched_products())
        expect_bits_of_reference(*backend, product);
}

TEST(VulkanMatmul, IsNearTheReferenceUnderFastMath) {
    const auto backend = backend_of(Math::fast);
    for (const ProductCase& product : odd_products()) expect_near_reference(*backend, product);
    for (const ProductCase& product : batched_products()) expect_near_reference(*backend, product);
}

TEST(VulkanMatmul, TakesEmptyExtents) {
    for (const Math math : {Math::strict, Math::fast}) {
        const auto backend = backend_of(math);
        for (std::size_t transposes = 0; transposes < 4; ++transposes)
            for (const Shared shared : all_sharings)
                for (const auto& [m, n, k] :
                     {std::array{3, 5, 0}, {40, 36, 0}, {0, 5, 4}, {5, 0, 4}, {0, 0, 0}})
                    expect_bits_of_reference(*backend, product_case(m, n, k, transposes, shared));
    }
}

/// Tiles that are worth their compilation on the test device: those it chooses and one for few
/// rows, or all on a real one.
std::vector<std::string> tested_tiles() {
    if (test::test_vulkan_device().software()) return {"32x32x8", "4x128x16", "direct"};
    std::vector<std::string> names;
    for (const gpu::MatmulTile& tile : gpu::matmul_tiles()) names.emplace_back(tile.name);
    return names;
}

TEST(VulkanMatmul, HasTheSameBitsWithEveryTileAndLayout) {
    for (const std::string& tile : tested_tiles()) {
        SCOPED_TRACE(tile);
        const auto backend = backend_of(Math::strict, tile);
        // Each pair of layouts is a kernel: every pair with one tile, each layout with the others.
        const std::size_t step = tile == tested_tiles().front() ? 1 : 3;
        for (std::size_t transposes = 0; transposes < 4; transposes += step)
            for (const auto& [m, n, k] : {std::array{20, 36, 44}, {132, 260, 20}, {19, 37, 43}})
                expect_bits_of_reference(*backend, product_case(m, n, k, transposes, Shared::none),
                                         2);
    }
}

TEST(VulkanMatmul, HasTheSameFastBitsWithEveryTile) {
    std::vector<std::vector<double>> results;
    const Graph graph = product_graph(product_case(68, 72, 100, 2, Shared::left));
    for (const std::string& tile : tested_tiles())
        results.push_back(evaluate(*backend_of(Math::fast, tile), graph, 2, random_inputs(graph, 2))
                              .front()
                              .elements);
    for (const auto& result : results) EXPECT_EQ(first_difference(result, results.front()), -1);
}

/// Operand starts that no vector load may use.
TEST(VulkanMatmul, ReadsOperandsThatAreNotAligned) {
    for (const std::string& tile : tested_tiles()) {
        SCOPED_TRACE(tile);
        const auto backend = backend_of(Math::strict, tile);
        Graph graph;
        const Var a = graph.input("a", ValueType::real, {6, 8}, true);
        const Var b = graph.input("b", ValueType::real, {33}, true);
        graph.output(matmul(reshape(slice(reshape(a, {48}), 0, 1, 40), {5, 8}),
                            reshape(slice(b, 0, 1, 32), {8, 4})));
        expect_bits_of_reference(*backend, graph, 3, random_inputs(graph, 3));
    }
}

TEST(VulkanMatmul, KeepsSpecialValues) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const std::array specials{0.0,   -0.0,   inf,   -inf,   std::nan(""), -3e38,
                              1e-40, -1e-40, 1e-30, -1e-30, 1.5,          -2.0};
    const auto backend = backend_of(Math::strict);
    for (const std::int64_t k : {1, 2, 5, 9}) {
        const Graph graph = product_graph(product_case(33, 34, k, 2, Shared::none));
        auto inputs = random_inputs(graph, 2);
        RandomStream stream(random_key(4, "specials"), 0);
        for (Tensor& input : inputs)
            for (double& element : input.elements)
                if (stream.chance(0.4F))
                    element = specials[stream.index(static_cast<std::uint32_t>(specials.size()))];
        expect_bits_of_reference(*backend, graph, 2, inputs);
    }
}

TEST(VulkanMatmul, RunsMoreWorkgroupsThanOneDispatchHas) {
    const auto backend = backend_of(Math::strict, "32x32x8");
    expect_bits_of_reference(*backend, {{66000, 1, 2}, {66000, 2, 1}, {}, Shared::both}, 1);
    expect_bits_of_reference(*backend, {{1, 2}, {2, 1}, {}, Shared::none}, 66000);
}

Tensor of_individual(const Tensor& tensor, const ValueInfo& info, std::int64_t individual) {
    if (!info.per_individual) return tensor;
    std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
    extents.insert(extents.begin(), 1);
    const auto count = static_cast<std::ptrdiff_t>(info.shape.elements());
    const auto begin = tensor.elements.begin() + individual * count;
    return {tensor.type, Shape(std::span<const std::int64_t>(extents)), {begin, begin + count}};
}

TEST(VulkanMatmul, GivesAnIndividualTheSameBitsInAnyPopulation) {
    for (const Math math : {Math::strict, Math::fast}) {
        const auto backend = backend_of(math);
        for (const Shared shared : {Shared::none, Shared::left, Shared::right})
            for (const auto& [m, n, k] : {std::array{1, 17, 65}, {33, 10, 128}, {5, 40, 31}}) {
                const Graph graph = product_graph(product_case(m, n, k, 2, shared));
                const auto inputs = random_inputs(graph, 7);
                const auto together = evaluate(*backend, graph, 7, inputs)[0];
                for (std::int64_t p = 0; p < 7; ++p) {
                    std::vector<Tensor> own;
                    for (std::size_t i = 0; i < inputs.size(); ++i)
                        own.push_back(of_individual(inputs[i], graph.value(graph.inputs()[i]), p));
                    const auto alone = evaluate(*backend, graph, 1, own)[0];
                    const ValueInfo& info = graph.value(graph.outputs()[0]);
                    EXPECT_EQ(
                        first_difference(of_individual(together, info, p).elements, alone.elements),
                        -1);
                }
            }
    }
}

struct EpilogueCase {
    std::int64_t m, n, k;
    bool bias, activation;
    bool own_product, own_bias, own_code;
};

std::vector<EpilogueCase> epilogue_cases() {
    std::vector<EpilogueCase> cases;
    for (const auto& [m, n, k] : {std::array{1, 3, 17}, {33, 65, 9}, {257, 10, 20}, {3, 5, 0}})
        for (const bool bias : {false, true})
            for (const bool activation : {false, true})
                for (const bool own : {false, true}) {
                    cases.push_back({m, n, k, bias, activation, own, own, own});
                    cases.push_back({m, n, k, bias, activation, !own, own, !own});
                }
    return cases;
}

/// The fused node, and the nodes it stands for, each an output so that nothing may join them.
Graph epilogue_graph(const EpilogueCase& epilogue) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {epilogue.m, epilogue.k}, epilogue.own_product);
    const Var w = graph.input("w", ValueType::real, {epilogue.n, epilogue.k});
    std::vector<Var> operands{x, w};
    Var value = matmul(x, w, false, true);
    graph.output(value);
    if (epilogue.bias) {
        operands.push_back(graph.input("bias", ValueType::real, {epilogue.n}, epilogue.own_bias));
        value = value + operands.back();
        graph.output(value);
    }
    if (epilogue.activation) {
        operands.push_back(graph.input("code", ValueType::integer, {}, epilogue.own_code));
        value = activate(value, operands.back());
        graph.output(value);
    }
    graph.output(
        graph.add(Op::matmul_epilogue, operands,
                  MatmulEpilogueAttribute{{false, true}, epilogue.bias, epilogue.activation}));
    return graph;
}

TEST(VulkanEpilogue, IsItsLoweringInEveryBit) {
    constexpr std::int64_t population = 9;
    for (const Math math : {Math::strict, Math::fast}) {
        const auto backend = backend_of(math);
        for (const EpilogueCase& epilogue : epilogue_cases()) {
            const Graph graph = epilogue_graph(epilogue);
            const auto inputs = random_inputs(graph, population);
            const auto results = evaluate(*backend, graph, population, inputs);
            const std::size_t last = results.size() - 1;
            const auto unequal =
                first_difference(results[last].elements, results[last - 1].elements);
            EXPECT_EQ(unequal, -1)
                << epilogue.m << " " << epilogue.n << " " << epilogue.k << " bias " << epilogue.bias
                << " activation " << epilogue.activation;
            if (math == Math::strict) expect_bits_of_reference(*backend, graph, population, inputs);
        }
    }
}

TEST(VulkanEpilogue, IsItsLoweringWithEveryTile) {
    for (const std::string& tile : tested_tiles()) {
        SCOPED_TRACE(tile);
        const auto backend = backend_of(Math::strict, tile);
        for (const std::int64_t n : {10, 36}) {
            const Graph graph = epilogue_graph({70, n, 12, true, true, true, true, true});
            expect_bits_of_reference(*backend, graph, 9, random_inputs(graph, 9));
        }
    }
}

vulkan::DeviceLimits large_device() {
    vulkan::DeviceLimits limits;
    limits.shared_bytes = 49152;
    limits.max_group_threads = 1024;
    return limits;
}

TEST(MatmulTile, FollowsTheShape) {
    const vulkan::DeviceLimits limits = large_device();
    const auto chosen = [&](std::int64_t m, std::int64_t n) {
        return gpu::choose_matmul_tile(m, n, limits).name;
    };
    EXPECT_EQ(chosen(4096, 4096), "64x128x16");
    EXPECT_EQ(chosen(256, 128), "64x128x16");
    EXPECT_EQ(chosen(256, 10), "128x16x16");
    EXPECT_EQ(chosen(32, 32), "32x32x16");
    EXPECT_EQ(chosen(1, 128), "4x128x16");
    EXPECT_EQ(chosen(1, 16), "direct");
}

TEST(MatmulTile, KeepsToTheDevice) {
    vulkan::DeviceLimits limits = large_device();
    limits.shared_bytes = 16384;
    for (const std::int64_t m : {1, 64, 4096})
        EXPECT_TRUE(gpu::choose_matmul_tile(m, m, limits).fits(limits));
    EXPECT_THROW(static_cast<void>(gpu::matmul_tile("128x128x16", limits)), ConfigError);
    EXPECT_THROW(static_cast<void>(gpu::matmul_tile("7x7", limits)), ConfigError);
    limits.software = true;
    EXPECT_EQ(gpu::choose_matmul_tile(4096, 4096, limits).name, "32x32x8");
}

}  // namespace
}  // namespace cambrian::matmul_test

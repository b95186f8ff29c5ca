#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/gpu/kernels/matmul/tile_choice.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Products of f16 codes by the matrix units of a device. Where it has none codes are decoded, which
// the conformance cases of linear hold to the reference.
namespace cambrian::cooperative_test {
namespace {

using test::first_difference;

constexpr NumberFormat f16 = NumberFormat::f16;

struct HalfProduct {
    std::int64_t m = 1, n = 1, k = 1;
    MatmulAttribute flags{};
    bool own_left = true, own_right = true;

    [[nodiscard]] std::string label() const {
        return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
               (flags.transpose_left ? " left transposed" : "") +
               (flags.transpose_right ? " right transposed" : "") +
               (own_left ? "" : " left shared") + (own_right ? "" : " right shared");
    }
};

Var halves(Graph& graph, std::int64_t rows, std::int64_t columns, bool own) {
    return decode(graph.input("codes", ValueType::integer, {rows, words_of(f16, columns)}, own),
                  f16, columns);
}

struct Operands {
    Operands(Graph& graph, const HalfProduct& p)
        : left(p.flags.transpose_left ? halves(graph, p.k, p.m, p.own_left)
                                      : halves(graph, p.m, p.k, p.own_left)),
          right(p.flags.transpose_right ? halves(graph, p.n, p.k, p.own_right)
                                        : halves(graph, p.k, p.n, p.own_right)) {}
    Var left, right;
};

Var product_of(const HalfProduct& p, Var left, Var right) {
    return matmul(left, right, p.flags.transpose_left, p.flags.transpose_right);
}

Graph product_graph(const HalfProduct& p) {
    Graph graph;
    const Operands operands(graph, p);
    graph.output(product_of(p, operands.left, operands.right));
    return graph;
}

/// Σ |a b| of every element.
Graph magnitude_graph(const HalfProduct& p) {
    Graph graph;
    const Operands operands(graph, p);
    graph.output(product_of(p, abs(operands.left), abs(operands.right)));
    return graph;
}

/// Codes of numbers in [-1, 1) with garbage after the end of odd rows; an individual has the same
/// ones in any population.
Tensor random_codes(const ValueInfo& info, std::int64_t population, std::uint64_t seed) {
    std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
    if (info.per_individual) extents.insert(extents.begin(), population);
    Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
    const auto elements = static_cast<std::size_t>(info.shape.elements());
    const auto encode = row(f16).encode;
    for (std::size_t p = 0; p * elements < tensor.elements.size(); ++p) {
        RandomStream stream(random_key(seed, "cooperative test"), p);
        const auto code = [&] { return encode(stream.uniform() * 2.0F - 1.0F); };
        for (std::size_t i = 0; i < elements; ++i)
            tensor.elements[p * elements + i] =
                info.type == ValueType::real
                    ? static_cast<double>(stream.uniform() * 2.0F - 1.0F)
                    : static_cast<double>(static_cast<std::int32_t>(code() | code() << 16U));
    }
    return tensor;
}

std::vector<Tensor> random_inputs(const Graph& graph, std::int64_t population) {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs())
        inputs.push_back(random_codes(graph.value(id), population, inputs.size()));
    return inputs;
}

class VulkanCooperative : public testing::Test {
  protected:
    void SetUp() override {
        if (!limits_.cooperative_matrix)
            GTEST_SKIP() << limits_.device_name << " has no matrix units for f16";
        backend_ = make();
    }

    static std::unique_ptr<Backend> make(const std::string& tile = {}) {
        VulkanOptions options = test::test_vulkan_options();
        options.matmul_tile = tile;
        options.profile = true;
        return make_vulkan_backend(options);
    }

    /// Also expects that codes were multiplied as they are.
    static std::vector<Tensor> run(Backend& backend, const Graph& graph, std::int64_t population,
                                   const std::vector<Tensor>& inputs) {
        static_cast<void>(backend.take_profile());
        std::vector<Tensor> results = evaluate(backend, graph, population, inputs);
        bool found = false;
        for (const KernelTime& kernel : backend.take_profile()) {
            found = found || kernel.kernel.starts_with("matmul_cooperative");
            EXPECT_FALSE(kernel.kernel.starts_with("matmul(")) << kernel.kernel;
            EXPECT_FALSE(kernel.kernel.starts_with("decode")) << kernel.kernel;
        }
        EXPECT_TRUE(found);
        return results;
    }

    vulkan::DeviceLimits limits_ = vulkan::Device(test::test_device_options()).limits();
    std::unique_ptr<Backend> backend_;
};

std::vector<HalfProduct> products() {
    std::vector<HalfProduct> result;
    for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                  {3, 5, 2},
                                  {16, 16, 16},
                                  {17, 33, 15},
                                  {65, 10, 130},
                                  {130, 257, 40},
                                  {256, 128, 784},
                                  {8, 300, 1000}})
        for (const bool left : {false, true})
            for (const bool right : {false, true}) {
                result.push_back({m, n, k, {left, right}});
                if (m != 3 && m != 65) continue;
                result.push_back({m, n, k, {left, right}, false, true});
                result.push_back({m, n, k, {left, right}, true, false});
                result.push_back({m, n, k, {left, right}, false, false});
            }
    return result;
}

TEST_F(VulkanCooperative, SumsAreWithinTheBound) {
    constexpr std::int64_t population = 3;
    const auto reference = make_reference_backend(Precision::f64);
    double worst = 0.0;
    for (const HalfProduct& p : products()) {
        SCOPED_TRACE(p.label());
        const Graph graph = product_graph(p);
        const auto inputs = random_inputs(graph, population);
        const auto exact = evaluate(*reference, graph, population, inputs)[0].elements;
        const auto sizes = evaluate(*reference, magnitude_graph(p), population, inputs)[0].elements;
        const auto actual = run(*backend_, graph, population, inputs)[0].elements;
        ASSERT_EQ(actual.size(), exact.size());
        for (std::size_t i = 0; i < exact.size(); ++i) {
            const double unit = std::ldexp(sizes[i] * static_cast<double>(p.k), -24);
            if (unit > 0.0) worst = std::max(worst, std::fabs(actual[i] - exact[i]) / unit);
            ASSERT_LE(std::fabs(actual[i] - exact[i]), 2.0 * unit) << "element " << i;
        }
    }
    RecordProperty("largest error in k 2^-24 sum |a b|", std::to_string(worst));
}

TEST_F(VulkanCooperative, EveryTileGivesTheSameBits) {
    constexpr std::int64_t population = 2;
    for (const auto& [m, n, k] : {std::array{200, 136, 104}, {67, 35, 51}})
        for (const bool left : {false, true})
            for (const bool right : {false, true}) {
                const HalfProduct p{m, n, k, {left, right}};
                SCOPED_TRACE(p.label());
                const Graph graph = product_graph(p);
                const auto inputs = random_inputs(graph, population);
                const auto expected = run(*backend_, graph, population, inputs)[0];
                for (const gpu::CooperativeTile& tile : gpu::cooperative_tiles()) {
                    if (!tile.fits(limits_)) continue;
                    const auto other = make(std::string(tile.name));
                    const auto actual = run(*other, graph, population, inputs)[0];
                    EXPECT_EQ(first_difference(actual.elements, expected.elements), -1)
                        << tile.name;
                }
            }
}

TEST_F(VulkanCooperative, AnIndividualIsTheSameInAnyPopulation) {
    for (const HalfProduct& p : {HalfProduct{33, 65, 70, {false, true}},
                                 HalfProduct{33, 65, 70, {false, true}, true, false},
                                 HalfProduct{7, 3, 5, {true, false}}}) {
        SCOPED_TRACE(p.label());
        const Graph graph = product_graph(p);
        const auto all = run(*backend_, graph, 9, random_inputs(graph, 9))[0].elements;
        const auto one = run(*backend_, graph, 1, random_inputs(graph, 1))[0].elements;
        EXPECT_EQ(first_difference({all.begin(), all.begin() + p.m * p.n}, one), -1);
    }
}

/// Bias, activation and codes are what the CPU makes of the same sums.
TEST_F(VulkanCooperative, TheEpilogueIsItsLowering) {
    constexpr std::int64_t population = 8;
    for (const std::int64_t n : {1, 6, 67, 128}) {
        const HalfProduct p{35, n, 50, {false, true}};
        SCOPED_TRACE(p.label());
        Graph fused;
        const Operands operands(fused, p);
        const Var bias = fused.input("bias", ValueType::real, {n}, true);
        const Var code = fused.input("code", ValueType::integer, {}, true);
        const Var sums = product_of(p, operands.left, operands.right);
        fused.output(activate(sums + bias, code));
        Graph encoded;
        const Operands again(encoded, p);
        const Var other_bias = encoded.input("bias", ValueType::real, {n}, true);
        const Var other_code = encoded.input("code", ValueType::integer, {}, true);
        encoded.output(
            encode(activate(product_of(p, again.left, again.right) + other_bias, other_code), f16));
        Graph epilogue;
        const Var x = epilogue.input("x", ValueType::real, {p.m, n}, true);
        const Var b = epilogue.input("bias", ValueType::real, {n}, true);
        const Var c = epilogue.input("code", ValueType::integer, {}, true);
        epilogue.output(activate(x + b, c));
        epilogue.output(encode(activate(x + b, c), f16));

        auto inputs = random_inputs(fused, population);
        for (std::size_t i = 0; i < inputs[3].elements.size(); ++i)
            inputs[3].elements[i] = static_cast<double>(i % 7) - 1.0;
        const std::vector<Tensor> codes{inputs[0], inputs[1]};
        const Tensor product = run(*backend_, product_graph(p), population, codes)[0];
        const auto cpu = make_cpu_backend({.math = Math::strict});
        const auto expected =
            evaluate(*cpu, epilogue, population, std::vector{product, inputs[2], inputs[3]});
        const auto reals = run(*backend_, fused, population, inputs)[0];
        const auto words = run(*backend_, encoded, population, inputs)[0];
        EXPECT_EQ(first_difference(reals.elements, expected[0].elements), -1);
        EXPECT_EQ(first_difference(words.elements, expected[1].elements), -1);
    }
}

/// Zeros and a bias of every exponent with the fractions around the halves of f16.
TEST_F(VulkanCooperative, CodesAreThoseOfTheCpu) {
    std::vector<double> numbers;
    for (std::uint32_t top = 0; top < 1U << 12U; ++top)
        for (const std::uint32_t rest : {0U, 1U, 0x7FFFFU, 0x80000U, 0x80001U, 0x1000U, 0xFFFU,
                                         0x1001U, 0x3000U, 0x2FFFU, 0xFFFFFU})
            numbers.push_back(static_cast<double>(std::bit_cast<float>(top << 20U | rest)));
    const auto n = static_cast<std::int64_t>(numbers.size());
    const HalfProduct p{1, n, 2, {false, true}};
    Graph encoded;
    const Operands operands(encoded, p);
    const Var bias = encoded.input("bias", ValueType::real, {n}, true);
    encoded.output(encode(product_of(p, operands.left, operands.right) + bias, f16));
    Graph expected;
    const Var b = expected.input("bias", ValueType::real, {1, n}, true);
    expected.output(encode(b + 0.0, f16));
    const std::vector<Tensor> inputs{Tensor(ValueType::integer, {1, 1, 1}),
                                     Tensor(ValueType::integer, {1, n, 1}),
                                     Tensor(ValueType::real, {1, n}, numbers)};
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto words =
        evaluate(*cpu, expected, 1, std::vector{Tensor(ValueType::real, {1, 1, n}, numbers)})[0];
    EXPECT_EQ(first_difference(run(*backend_, encoded, 1, inputs)[0].elements, words.elements), -1);
}

TEST_F(VulkanCooperative, StacksOfMatricesBroadcast) {
    Graph graph;
    const Var a = decode(graph.input("a", ValueType::integer, {2, 1, 5, 4}, true), f16, 7);
    const Var b = decode(graph.input("b", ValueType::integer, {3, 7, 5}), f16, 9);
    graph.output(encode(matmul(a, b), f16));
    Graph plain;
    const Var c = decode(plain.input("a", ValueType::integer, {2, 1, 5, 4}, true), f16, 7);
    const Var d = decode(plain.input("b", ValueType::integer, {3, 7, 5}), f16, 9);
    plain.output(matmul(c, d));
    const auto inputs = random_inputs(graph, 3);
    const auto reference = make_reference_backend(Precision::f64);
    const auto exact = evaluate(*reference, plain, 3, inputs)[0].elements;
    const auto sums = run(*backend_, plain, 3, inputs)[0];
    for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(sums.elements[i], exact[i], 1e-5);
    Graph coded;
    coded.output(encode(coded.input("x", ValueType::real, {2, 3, 5, 9}, true), f16));
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto expected = evaluate(*cpu, coded, 3, std::vector{sums})[0].elements;
    EXPECT_EQ(first_difference(run(*backend_, graph, 3, inputs)[0].elements, expected), -1);
}

}  // namespace
}  // namespace cambrian::cooperative_test

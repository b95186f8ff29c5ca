#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Products with matrices in codes whose sums are long: chains in fast math, by every kernel the
// same.
namespace cambrian::packed_matmul_test {
namespace {

using test::first_difference;

struct PackedCase {
    Dtype dtype = Dtype::int8;
    std::int64_t m = 1;
    std::int64_t n = 1;
    std::int64_t k = 1;
    bool bias = false;
    bool activation = false;
    std::optional<ScaleGroup> scales{};

    [[nodiscard]] std::string label() const {
        return std::string(name(dtype)) + " " + std::to_string(m) + " x " + std::to_string(n) +
               " x " + std::to_string(k);
    }
};

Graph packed_graph(const PackedCase& product) {
    const PackedAttribute packed{
        .dtype = product.dtype, .length = product.k, .scales = product.scales};
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {product.m, product.k}, true);
    std::vector<Var> parts{
        graph.input("words", ValueType::integer, {product.n, packed_words(packed)})};
    if (scales_of_row(packed) > 0)
        parts.push_back(graph.input("scales", ValueType::real, {product.n, scales_of_row(packed)}));
    if (zero_point_words(packed) > 0)
        parts.push_back(
            graph.input("zero points", ValueType::integer, {product.n, zero_point_words(packed)}));
    Var value = matmul(x, unpack(parts, packed), false, true);
    if (product.bias) value = value + graph.input("bias", ValueType::real, {product.n});
    if (product.activation) value = activate(value, graph.input("code", ValueType::integer, {}));
    graph.output(value);
    return graph;
}

/// The first rows are the same ones in any number and population.
std::vector<Tensor> inputs_of(const Graph& graph, std::int64_t population) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const ValueInfo& info = graph.value(graph.inputs()[i]);
        const std::string& name = graph.input_name(i);
        std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
        if (info.per_individual) extents.insert(extents.begin(), population);
        Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
        RandomStream stream(random_key(inputs.size(), "packed matmul"), 0);
        for (double& element : tensor.elements) {
            // Small codes of halves: no infinity.
            if (name == "words")
                element = static_cast<double>(
                    static_cast<std::int32_t>(stream.index(1U << 31) & 0x3F3F3F3FU));
            else if (name == "zero points")
                element = static_cast<double>(stream.index(1U << 31) & 0x03030303U);
            else if (name == "code")
                element = 4.0;
            else
                element = static_cast<double>(stream.uniform() - 0.5F);
        }
        inputs.push_back(std::move(tensor));
    }
    return inputs;
}

std::unique_ptr<Backend> backend_of(Math math, const std::string& tile = {}) {
    VulkanOptions options = test::test_vulkan_options(math);
    options.matmul_tile = tile;
    return make_vulkan_backend(options);
}

std::vector<double> product_of(Backend& backend, const PackedCase& product,
                               std::int64_t population = 1) {
    const Graph graph = packed_graph(product);
    return evaluate(backend, graph, population, inputs_of(graph, population))[0].elements;
}

/// Whole groups of chains, the end of one, rows that are no whole vectors, and one chain.
std::vector<PackedCase> long_products() {
    std::vector<PackedCase> cases;
    for (const std::int64_t k : {1023, 1024, 1025, 1100, 2048, 3001})
        cases.push_back({Dtype::int8, 3, 5, k});
    cases.push_back({Dtype::uint4, 1, 33, 1480});
    cases.push_back({Dtype::binary, 1, 34, 1250});
    cases.push_back({Dtype::q4_0, 5, 4, 5130, true, true});
    cases.push_back({Dtype::int8, 2, 33, 1100, true, false, ScaleGroup::block});
    cases.push_back({Dtype::uint4, 1, 5, 1100, false, false, ScaleGroup::row});
    return cases;
}

void expect_near_reference(Backend& backend, const PackedCase& product) {
    SCOPED_TRACE(product.label());
    const auto reference = make_reference_backend(Precision::f64);
    const std::vector<double> actual = product_of(backend, product);
    const std::vector<double> expected = product_of(*reference, product);
    double largest = 0.0;
    for (const double element : expected) largest = std::max(largest, std::abs(element));
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 1e-5 * largest) << "element " << i;
}

TEST(VulkanPackedMatmul, IsNearTheReferenceWhereSumsAreLong) {
    const auto backend = backend_of(Math::fast);
    for (const PackedCase& product : long_products()) expect_near_reference(*backend, product);
}

TEST(VulkanPackedMatmul, EveryFormatIsNearTheReference) {
    const auto backend = backend_of(Math::fast);
    for (std::size_t i = 0; i < dtype_count; ++i)
        if (const auto dtype = static_cast<Dtype>(i); can_pack(dtype))
            expect_near_reference(*backend, {dtype, 1, 3, 1100});
}

TEST(VulkanPackedMatmul, HasTheBitsOfTheReferenceInStrictMath) {
    const auto backend = backend_of(Math::strict);
    const auto reference = make_reference_backend(Precision::f32);
    for (const PackedCase& product :
         {PackedCase{Dtype::int8, 3, 5, 1100, true, true}, PackedCase{Dtype::uint4, 1, 33, 1480}})
        EXPECT_EQ(first_difference(product_of(*backend, product), product_of(*reference, product)),
                  -1)
            << product.label();
}

/// What a network with weights in codes answers to some rows.
std::vector<double> answers_of(Backend& backend, const char* section) {
    const Network network(blueprint_from_json(nlohmann::json::parse(section)));
    std::vector<float> masters(static_cast<std::size_t>(network.weight_count()));
    RandomField{random_key(3, "packed network"), 0}.fill_normal(0, masters);
    const EvaluatedOperands own = evaluated_operands(network, masters, min_packed_numbers);
    EXPECT_NE(own.packed, nullptr);
    Graph graph;
    std::vector<Tensor> inputs;
    const auto input = [&](const char* name, ValueType type, const auto& values) {
        inputs.emplace_back(type, Shape{static_cast<std::int64_t>(values.size())});
        std::ranges::copy(values, inputs.back().elements.begin());
        return graph.input(name, type, inputs.back().shape);
    };
    const NetworkOperands operands{
        .weights = input("weights", ValueType::real, own.weights),
        .activations = input("activations", ValueType::integer, own.activations),
        .enabled = input("enabled", ValueType::boolean, network.enabled_flags()),
        .packed = own.packed};
    Tensor rows(ValueType::real, {4, 300});
    RandomStream stream(random_key(4, "packed network"), 0);
    for (double& element : rows.elements) element = static_cast<double>(stream.normal());
    inputs.push_back(rows);
    graph.output(network.apply(graph.input("rows", ValueType::real, {4, 300}), operands));
    return evaluate(backend, graph, 1, inputs)[0].elements;
}

TEST(VulkanPackedMatmul, NetworksAnswerAsOnTheCpu) {
    const auto vulkan = backend_of(Math::strict);
    const auto cpu = make_cpu_backend({.math = Math::strict});
    for (const char* section :
         {R"({"input": [300], "dtype": "int8", "layers": [{"type": "dense", "out": 300,
              "activation": "tanh"}, {"type": "dense", "out": 3}]})",
          R"({"input": [300], "dtype": "float8_e4m3fn", "activation_dtype": "int8",
              "layers": [{"type": "dense", "out": 300}, {"type": "dense", "out": 3}]})"})
        EXPECT_EQ(first_difference(answers_of(*vulkan, section), answers_of(*cpu, section)), -1)
            << section;
}

TEST(VulkanPackedMatmul, HasTheBitsOfAnyTileWhereSumsAreLong) {
    std::vector<std::string> names{"32x32x8"};
    if (!test::test_vulkan_device().software())
        names.insert(names.end(), {"64x128x16", "4x128x16"});
    for (const std::string& tile : names) {
        const auto chains = backend_of(Math::fast);
        const auto tiles = backend_of(Math::fast, tile);
        for (const PackedCase& product : long_products())
            EXPECT_EQ(first_difference(product_of(*chains, product), product_of(*tiles, product)),
                      -1)
                << product.label() << " in " << tile;
    }
}

/// What a product gives whose codes are all those of a mask, and of row 1 one word of its own.
std::vector<double> product_of_codes(Backend& backend, const PackedCase& product,
                                     std::uint32_t mask, std::optional<std::uint32_t> word) {
    const Graph graph = packed_graph(product);
    std::vector<Tensor> inputs = inputs_of(graph, 1);
    const auto integer = [](std::uint32_t bits) {
        return static_cast<double>(static_cast<std::int32_t>(bits));
    };
    RandomStream stream(random_key(5, "codes"), 0);
    std::vector<double>& words = inputs[1].elements;
    for (double& element : words) element = integer(stream.bits() & mask);
    if (word) words[words.size() / static_cast<std::size_t>(product.n) + 7] = integer(*word);
    return evaluate(backend, graph, 1, inputs)[0].elements;
}

TEST(VulkanPackedMatmul, SmallFloatsHaveTheBitsOfTilesWhateverTheirCodes) {
    const auto chains = backend_of(Math::fast);
    const auto tiles = backend_of(Math::fast, "32x32x8");
    struct Codes {
        Dtype dtype{};
        std::uint32_t mask = 0;  // Signs and subnormal numbers, and nothing that is not finite.
        std::optional<std::uint32_t> word{};
    };
    for (const Codes& codes :
         {Codes{Dtype::float16, 0xBFFFBFFF}, Codes{Dtype::float16, 0x83FF83FF},
          Codes{Dtype::float16, 0xBFFFBFFF, 0x7C007E01}, Codes{Dtype::float8_e4m3fn, 0xBFBFBFBF},
          Codes{Dtype::float8_e4m3fn, 0x87878787},
          Codes{Dtype::float8_e4m3fn, 0xBFBFBFBF, 0x3F7F3F3F},
          Codes{Dtype::float8_e4m3fn, 0xBFBFBFBF, 0xFE3F3F7E},
          Codes{Dtype::float8_e5m2, 0xBFBFBFBF}, Codes{Dtype::float8_e5m2, 0x83838383},
          Codes{Dtype::float8_e5m2, 0xBFBFBFBF, 0x7F3FFC3F},
          Codes{Dtype::float4_e2m1fn, 0xFFFFFFFF}}) {
        const PackedCase product{codes.dtype, 1, 3, 1100};
        const auto found = product_of_codes(*chains, product, codes.mask, codes.word);
        const auto expected = product_of_codes(*tiles, product, codes.mask, codes.word);
        EXPECT_EQ(first_difference(found, expected), -1) << product.label() << " " << codes.mask;
        EXPECT_EQ(std::isfinite(found[1]), !codes.word || codes.word == 0xFE3F3F7E) << codes.mask;
        EXPECT_TRUE(std::isfinite(found[0]));
    }
}

TEST(VulkanPackedMatmul, DoesNotDependOnTheRowsAndIndividualsBesideARow) {
    const auto backend = backend_of(Math::fast);
    const PackedCase one{Dtype::int4, 1, 37, 2100, true, true};
    const std::vector<double> alone = product_of(*backend, one);
    for (const std::int64_t m : {2, 4, 7, 40}) {
        PackedCase more = one;
        more.m = m;
        std::vector<double> first = product_of(*backend, more);
        first.resize(alone.size());
        EXPECT_EQ(first_difference(first, alone), -1) << m << " rows";
    }
    std::vector<double> first = product_of(*backend, one, 9);
    first.resize(alone.size());
    EXPECT_EQ(first_difference(first, alone), -1);
}

TEST(VulkanPackedMatmul, GoesOnInAnotherDispatchWhereADeviceEndsLoops) {
    const PackedCase product{Dtype::int8, 3, 5, 9100, true, true};
    VulkanOptions options = test::test_vulkan_options(Math::fast);
    const std::vector<double> whole = product_of(*make_vulkan_backend(options), product);
    options.max_turns = 64;
    const auto cut = make_vulkan_backend(options);
    EXPECT_EQ(first_difference(product_of(*cut, product), whole), -1);
    options.matmul_tile = "32x32x8";
    const auto with_tile = make_vulkan_backend(options);
    EXPECT_EQ(first_difference(product_of(*with_tile, product), whole), -1);
}

TEST(VulkanPackedMatmul, AddsUpLongerSumsThanADeviceLoops) {
    constexpr std::int64_t k = 3'000'000;
    const PackedAttribute packed{.dtype = Dtype::binary, .length = k};
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {5, k});
    const std::array parts{graph.input("words", ValueType::integer, {1, packed_words(packed)}),
                           graph.input("scales", ValueType::real, {1, scales_of_row(packed)})};
    graph.output(matmul(x, unpack(parts, packed), false, true));
    Tensor ones(ValueType::real, {5, k});
    std::ranges::fill(ones.elements, 1.0);
    Tensor scale(ValueType::real, {1, 1});
    scale.elements[0] = 1.0;
    const std::array inputs{ones, Tensor(ValueType::integer, {1, packed_words(packed)}), scale};
    const auto backend = backend_of(Math::fast);
    const std::vector<Tensor> results = evaluate(*backend, graph, 1, inputs);
    EXPECT_EQ(results[0].elements, std::vector<double>(5, k));
}

TEST(VulkanPackedMatmul, HasTheBitsOfItsEpilogueAlone) {
    const auto fused = backend_of(Math::fast);
    VulkanOptions options = test::test_vulkan_options(Math::fast);
    options.fuse = false;
    const auto apart = make_vulkan_backend(options);
    for (const std::int64_t k : {40, 1100})
        for (const bool bias : {false, true}) {
            const PackedCase product{Dtype::uint4, 3, 10, k, bias, true};
            EXPECT_EQ(
                first_difference(product_of(*fused, product, 2), product_of(*apart, product, 2)),
                -1)
                << product.label();
        }
}

}  // namespace
}  // namespace cambrian::packed_matmul_test

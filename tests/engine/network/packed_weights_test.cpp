#include "cambrian/engine/network/packed_weights.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"

namespace cambrian {
namespace {

std::vector<float> normals(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    RandomField{random_key(1, "packed weights"), 0}.fill_normal(0, values);
    return values;
}

Network network_of(std::string_view dtype, const nlohmann::json& layers, std::int64_t in,
                   std::int64_t out) {
    return Network(blueprint_from_json({{"layers", layers}, {"dtype", dtype}}, in, out));
}

Network perceptron(std::string_view dtype) {
    return network_of(
        dtype, {{{"type", "dense"}, {"out", 37}, {"activation", "tanh"}}, {{"type", "dense"}}}, 45,
        5);
}

/// What a network gives for rows, its tensors of so many numbers in codes.
std::vector<double> outputs(Backend& backend, const Network& network, const Tensor& rows,
                            std::int64_t min_numbers) {
    const EvaluatedOperands own =
        evaluated_operands(network, normals(network.weight_count()), min_numbers);
    const auto tensor = [](ValueType type, const auto& values) {
        return Tensor(type, Shape{static_cast<std::int64_t>(values.size())},
                      std::vector<double>(values.begin(), values.end()));
    };
    const std::vector<Tensor> values{tensor(ValueType::real, own.weights),
                                     tensor(ValueType::integer, own.activations),
                                     tensor(ValueType::boolean, network.enabled_flags()), rows};
    Graph graph;
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, values[0].shape),
        .activations = graph.input("activations", ValueType::integer, values[1].shape),
        .enabled = graph.input("enabled", ValueType::boolean, values[2].shape),
        .packed = own.packed};
    const Var x = graph.input("rows", ValueType::real, rows.shape);
    graph.output(rows.shape.rank() == 3 ? network.sequence(x, operands)
                                        : network.apply(x, operands));
    return evaluate(backend, graph, 1, values)[0].elements;
}

Tensor normal_rows(const Shape& shape) {
    const std::vector<float> values = normals(shape.elements());
    return {ValueType::real, shape, std::vector<double>(values.begin(), values.end())};
}

constexpr std::int64_t nothing = std::int64_t{1} << 40;

TEST(PackedWeights, GiveTheBitsOfTheNumbersThatCodesStandFor) {
    for (const Math math : {Math::fast, Math::strict}) {
        const auto backend = make_cpu_backend({.threads = 2, .math = math});
        for (const std::string_view dtype : dtype_names) {
            const Network network = perceptron(dtype);
            for (const Shape& shape : {Shape{1, 45}, Shape{9, 45}, Shape{70, 45}})
                EXPECT_EQ(outputs(*backend, network, normal_rows(shape), 1),
                          outputs(*backend, network, normal_rows(shape), nothing))
                    << dtype;
        }
    }
}

TEST(PackedWeights, HaveAnyScales) {
    for (const Math math : {Math::fast, Math::strict}) {
        const auto backend = make_cpu_backend({.threads = 2, .math = math});
        for (const std::string_view dtype : {"int8", "uint4", "float8_e5m2", "ternary", "q4_0"})
            for (const std::string_view scales : scales_names) {
                nlohmann::json layers = {{{"type", "dense"}, {"out", 37}}, {{"type", "dense"}}};
                const Network network(blueprint_from_json(
                    {{"layers", layers}, {"dtype", dtype}, {"dtype_scales", scales}}, 45, 5));
                EXPECT_EQ(outputs(*backend, network, normal_rows({9, 45}), 1),
                          outputs(*backend, network, normal_rows({9, 45}), nothing))
                    << dtype << ' ' << scales;
            }
    }
}

TEST(PackedWeights, ReachEveryLayerWithMatrices) {
    const auto backend = make_cpu_backend({});
    const nlohmann::json layers = {
        {{"type", "multi_head_attention"}, {"features", 16}, {"heads", 4}},
        {{"type", "swiglu"}, {"features", 16}, {"hidden", 24}},
        {{"type", "lstm"}, {"hidden", 16}},
        {{"type", "dense"}}};
    for (const std::string_view dtype : {"int8", "uint4", "float16"}) {
        const Network network = network_of(dtype, layers, 16, 3);
        // Only what is no matrix stays a number: without this, equal outputs would say nothing.
        EXPECT_GT(PackedWeights(network, 1).words(), 0) << dtype;
        EXPECT_LT(PackedWeights(network, 1).floats(), network.weight_count() / 2) << dtype;
        EXPECT_EQ(outputs(*backend, network, normal_rows({2, 5, 16}), 1),
                  outputs(*backend, network, normal_rows({2, 5, 16}), nothing))
            << dtype;
    }
}

/// What a network of images gives in codes and as numbers, and that it holds codes.
void expect_same_in_codes(Backend& backend, const nlohmann::json& layer, std::string_view dtype,
                          std::int64_t channels) {
    const Network network(blueprint_from_json({{"input", {channels, 6, 5}},
                                               {"layers", {layer, {{"type", "dense"}, {"out", 3}}}},
                                               {"dtype", dtype}}));
    EXPECT_GT(PackedWeights(network, 1).words(), 0) << dtype;
    const Tensor rows = normal_rows({3, channels * 30});
    EXPECT_EQ(outputs(backend, network, rows, 1), outputs(backend, network, rows, nothing))
        << dtype << ' ' << layer.dump();
}

TEST(PackedWeights, ReachConvolutions) {
    for (const Math math : {Math::fast, Math::strict}) {
        const auto backend = make_cpu_backend({.threads = 2, .math = math});
        for (const std::string_view dtype : {"int8", "uint4", "float16", "q4_0"})
            for (const auto& [type, channels, outputs, groups, kernel, stride] :
                 {std::tuple{"conv2d", 8, 6, 1, 3, 1}, std::tuple{"conv2d", 8, 600, 1, 3, 2},
                  std::tuple{"conv2d", 8, 6, 2, 3, 1}, std::tuple{"conv2d", 40, 80, 40, 3, 1},
                  std::tuple{"conv2d", 8, 16, 1, 1, 1},
                  std::tuple{"conv_transpose2d", 8, 70, 1, 3, 2},
                  std::tuple{"conv_transpose2d", 8, 600, 1, 2, 1},
                  std::tuple{"conv_transpose2d", 8, 4, 2, 3, 2},
                  std::tuple{"conv_transpose2d", 40, 80, 40, 3, 1}})
                expect_same_in_codes(*backend,
                                     {{"type", type},
                                      {"out_channels", outputs},
                                      {"kernel", kernel},
                                      {"stride", stride},
                                      {"groups", groups}},
                                     dtype, channels);
    }
}

TEST(PackedWeights, OfLayersThatShareAMatrixAreItsCodesOnce) {
    const auto backend = make_cpu_backend({});
    const nlohmann::json layers = {{{"type", "dense"}, {"out", 40}, {"activation", "tanh"}},
                                   {{"type", "dense"}, {"out", 40}, {"tied", "slot.0.weight"}},
                                   {{"type", "dense"}}};
    for (const std::string_view dtype : {"int8", "uint4", "float16"}) {
        const Network network = network_of(dtype, layers, 40, 3);
        const PackedWeights packed(network, 1600);
        const PackedAttribute& matrix = packed.places()[0].packed.value();
        EXPECT_EQ(packed.words(), 40 * (packed_words(matrix) + zero_point_words(matrix)));
        EXPECT_EQ(outputs(*backend, network, normal_rows({9, 40}), 1),
                  outputs(*backend, network, normal_rows({9, 40}), nothing))
            << dtype;
    }
}

TEST(PackedWeights, TakeTheMemoryOfTheirCodes) {
    const nlohmann::json layers = {{{"type", "dense"}, {"out", 512}, {"bias", false}}};
    const auto share = [&](std::string_view dtype) {
        const Network network = network_of(dtype, layers, 512, 512);
        const PackedWeights packed(network);
        return static_cast<double>(packed.floats() + packed.words()) /
               static_cast<double>(network.weight_count());
    };
    EXPECT_EQ(share("float32"), 1.0);
    EXPECT_LE(share("int8"), 0.27);
    EXPECT_LE(share("float8_e4m3fn"), 0.27);
    EXPECT_LE(share("int4"), 0.16);
    EXPECT_LE(share("uint4"), 0.161);
    EXPECT_LE(share("q4_0"), 0.16);
    EXPECT_LE(share("float4_e2m1fn"), 0.16);
    EXPECT_LE(share("binary"), 0.04);
}

TEST(PackedWeights, SmallTensorsAndWideFormatsStayNumbers) {
    EXPECT_FALSE(PackedWeights(perceptron("int8")).any());
    EXPECT_FALSE(PackedWeights(perceptron("int32"), 1).any());
    EXPECT_FALSE(PackedWeights(perceptron("float32"), 1).any());
    EXPECT_TRUE(PackedWeights(perceptron("int16"), 1).any());
}

}  // namespace
}  // namespace cambrian

#include "cambrian/engine/network/weight_formats.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/builders/rounding.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"
#include "cambrian/engine/network/observe/summary.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/engine/network/structure_words.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::string_view formats_of_each = R"({"dtype": "int8", "layers": [
    {"type": "dense", "out": 6, "activation": "tanh", "dtype": "fp4"},
    {"type": "dense", "out": 6, "dtype": "float32", "activation_dtype": "bf16"},
    {"type": "dense"}], "links": [{"from": "input", "to": "head"}]})";

Network network_of_formats() {
    return Network(test::blueprint_of(formats_of_each, 40, 3));
}

/// From the section that says all of it, and from an archive.
void expect_read_back(const Blueprint& blueprint) {
    EXPECT_EQ(blueprint_from_json(nlohmann::json(network_section(blueprint))), blueprint);
    ArchiveWriter writer;
    writer.write(blueprint);
    const std::vector<std::byte> bytes = writer.take();
    ArchiveReader reader(bytes, "test");
    Blueprint read;
    reader.read(read);
    reader.finish();
    EXPECT_EQ(read, blueprint);
}

TEST(WeightFormats, LayersHaveTheirOwnOrThoseOfTheNetwork) {
    const Blueprint blueprint = network_of_formats().blueprint();
    EXPECT_EQ(blueprint.slots[0]->formats, (LayerFormats{.weights = Dtype::float4_e2m1fn}));
    EXPECT_EQ(blueprint.slots[1]->formats, (LayerFormats{.activations = Dtype::bfloat16}));
    EXPECT_EQ(blueprint.head_formats, (LayerFormats{.weights = Dtype::int8}));
    EXPECT_TRUE(encodes_weights(blueprint));
    EXPECT_TRUE(encodes_activations(blueprint));
    expect_read_back(blueprint);
    EXPECT_THAT(
        [] {
            (void)test::blueprint_of(R"({"dtype": "int5", "layers": [{"type": "dense"}]})", 2, 1);
        },
        ThrowsMessage<ConfigError>(HasSubstr("network.dtype")));
}

TEST(WeightFormats, AreNoMatterOfWhatDecays) {
    const auto network_of = [](std::string_view decay) {
        return Network(test::blueprint_of(
            R"({"layers": [{"type": "dense", "out": 6, "dtype": "int2")" + std::string(decay) +
                R"(}, {"type": "kmeans", "clusters": 3, "dtype": "int2"}, {"type": "dense"}]})",
            40, 3));
    };
    const Network plain = network_of("");
    const Network kept = network_of(R"(, "decay": false)");
    EXPECT_FALSE(kept.weights().front().parameter.decays());
    EXPECT_EQ(WeightFormats(kept).bytes(), WeightFormats(plain).bytes());
    const std::vector<float> masters = test::some_weights(plain);
    EXPECT_EQ(evaluated_weights(kept, masters), evaluated_weights(plain, masters));
    // The centers of kmeans, whose size means something, are in no format.
    EXPECT_EQ(WeightFormats(kept).encoded().size(), 1U);
}

TEST(WeightFormats, MatricesAreRoundedAndTheRestStays) {
    const Network network = network_of_formats();
    const std::vector<float> masters = test::some_weights(network);
    const std::vector<float> weights = evaluated_weights(network, masters);
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        const std::string name = network.weight_name(i);
        std::vector<float> expected(masters.begin() + range.offset,
                                    masters.begin() + range.offset + range.count);
        const std::optional<Dtype> dtype = name == "slot.0.weight"       ? Dtype::float4_e2m1fn
                                           : name == "head.weight"       ? Dtype::int8
                                           : name == "link.0.projection" ? Dtype::int8
                                                                         : std::optional<Dtype>();
        if (dtype) {
            const MatrixExtents extents{range.parameter.shape[0],
                                        range.count / range.parameter.shape[0]};
            round_to_codes(QuantisationScheme(*dtype), extents, expected);
            bytes += stored_bytes(QuantisationScheme(*dtype), extents);
        } else {
            bytes += 4 * range.count;
        }
        for (std::size_t j = 0; j < expected.size(); ++j)
            EXPECT_EQ(weights[static_cast<std::size_t>(range.offset) + j], expected[j]) << name;
    }
    EXPECT_NE(weights, masters);
    EXPECT_EQ(WeightFormats(network).bytes(), bytes);
    EXPECT_EQ(summary(network).stored_bytes, bytes);
}

TEST(WeightFormats, ProgramsAreSharedByFormatsOfWeightsButNotOfRows) {
    const auto key = [](std::string_view json) {
        return Network(test::blueprint_of(json, 4, 2)).structure_key();
    };
    const Hash128 plain = key(R"({"layers": [{"type": "dense"}]})");
    EXPECT_EQ(key(R"({"dtype": "int4", "layers": [{"type": "dense"}]})"), plain);
    EXPECT_NE(key(R"({"activation_dtype": "int8", "layers": [{"type": "dense"}]})"), plain);
    const auto hash = [](std::string_view json) {
        return StructureWords(StructureWords::Genes::hashed).read(test::blueprint_of(json, 4, 2));
    };
    EXPECT_NE(hash(R"({"dtype": "int4", "layers": [{"type": "dense"}]})"),
              hash(R"({"layers": [{"type": "dense"}]})"));
    EXPECT_TRUE(BytecodeWriter::can_write(
        test::blueprint_of(R"({"dtype": "int4", "layers": [{"type": "dense"}]})", 4, 2)));
    EXPECT_FALSE(BytecodeWriter::can_write(test::blueprint_of(
        R"({"activation_dtype": "int8", "layers": [{"type": "dense"}]})", 4, 2)));
}

/// The weights of a matrix, rounded by a graph on a backend.
Tensor rounded(Backend& backend, Dtype dtype, Scales scales, const Tensor& x) {
    Graph graph;
    graph.output(rounded_to(graph.input("x", ValueType::real, x.shape), dtype, scales));
    return evaluate(backend, graph, 1, std::array{x}).front();
}

TEST(WeightFormats, GraphsRoundAsCodesDo) {
    const auto backend = make_cpu_backend({});
    const Tensor x = test::some_rows({5, 45});
    for (std::size_t i = 0; i < dtype_count * scales_names.size(); ++i) {
        const auto dtype = static_cast<Dtype>(i % dtype_count);
        const auto scales = static_cast<Scales>(i / dtype_count);
        SCOPED_TRACE(name(scales));
        std::vector<float> expected(x.elements.begin(), x.elements.end());
        round_to_codes({dtype, scales}, {5, 45}, expected);
        const Tensor result = rounded(*backend, dtype, scales, x);
        ASSERT_EQ(result.shape, x.shape) << name(dtype);
        double largest = 0.0;
        for (std::size_t j = 0; j < expected.size(); ++j)
            largest =
                std::max(largest, std::abs(result.elements[j] - static_cast<double>(expected[j])));
        // Among so many codes some number is near the middle of two.
        const bool fine = row(dtype).bits == 16 && row(dtype).group != ScaleGroup::none;
        EXPECT_LE(largest, fine ? 2e-4 : 1e-6) << name(dtype);
    }
}

/// The power of two above a share of the range, times the largest code, was more than a float.
TEST(WeightFormats, FiniteNumbersStayFiniteWithPowersOfTwo) {
    constexpr float largest = std::numeric_limits<float>::max();
    const auto backend = make_cpu_backend({});
    for (std::size_t i = 0; i < dtype_count; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        if (!row(dtype).affine) continue;
        for (const auto& numbers : {std::vector{largest, 1.0F, 0.0F}, std::vector{-largest, 0.0F},
                                    std::vector{largest, -largest}}) {
            std::vector<float> codes = numbers;
            const std::int64_t count = std::ssize(numbers);
            round_to_codes({dtype, Scales::mx}, {1, count}, codes);
            const Tensor x(ValueType::real, {1, count}, {numbers.begin(), numbers.end()});
            const Tensor graph = rounded(*backend, dtype, Scales::mx, x);
            for (std::size_t j = 0; j < numbers.size(); ++j) {
                EXPECT_TRUE(std::isfinite(codes[j])) << name(dtype) << ' ' << numbers[j];
                EXPECT_TRUE(std::isfinite(graph.elements[j])) << name(dtype) << ' ' << numbers[j];
            }
        }
    }
    std::vector<float> numbers{largest, 0.0F};
    round_to_codes({Dtype::uint2, Scales::mx}, {1, 2}, numbers);
    EXPECT_EQ(numbers, (std::vector{3.0F * 0x1p126F, 0.0F}));
}

/// Numbers in a row as a graph rounds them, and as codes do.
void expect_rounded_alike(Backend& backend, const std::vector<float>& numbers) {
    for (std::size_t i = 0; i < dtype_count; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        // Those of more bits hold numbers as they are.
        if (row(dtype).group == ScaleGroup::none || row(dtype).bits > 16) continue;
        std::vector<float> expected = numbers;
        const std::int64_t count = std::ssize(numbers);
        round_to_codes(QuantisationScheme(dtype), {1, count}, expected);
        const Tensor x(ValueType::real, {1, count}, {numbers.begin(), numbers.end()});
        const Tensor result = rounded(backend, dtype, Scales::format, x);
        for (std::size_t j = 0; j < numbers.size(); ++j) {
            const auto number = static_cast<double>(expected[j]);
            const double least = std::isfinite(number) ? 1e-6 * std::abs(number) : 0.0;
            if (std::isnan(number))
                EXPECT_TRUE(std::isnan(result.elements[j])) << name(dtype) << ' ' << j;
            else if (!std::isfinite(number))
                EXPECT_EQ(result.elements[j], number) << name(dtype) << ' ' << j;
            else
                EXPECT_NEAR(result.elements[j], number, least) << name(dtype) << ' ' << j;
        }
    }
}

TEST(WeightFormats, GraphsLeaveOutOfScalesWhatCodesDo) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
    const auto backend = make_cpu_backend({});
    expect_rounded_alike(*backend, {1.0F, -0.75F, infinity, 0.5F, -infinity, 0.125F});
    expect_rounded_alike(*backend, {1.0F, -0.75F, not_a_number, 0.5F});
    expect_rounded_alike(*backend, {infinity, -infinity});
    // Their sum is more than a float.
    expect_rounded_alike(*backend, {3e38F, 2e38F, -1.1e38F, 2.5e38F});
}

TEST(WeightFormats, OfEqualMagnitudesTheFirstGivesItsSignToABlock) {
    const auto backend = make_cpu_backend({});
    const Tensor x(ValueType::real, {2, 4}, {-1.0, 1.0, 0.5, 0.25, 1.0, -1.0, 0.5, 0.25});
    EXPECT_EQ(rounded(*backend, Dtype::q4_0, Scales::format, x).elements,
              (std::vector{-1.0, 0.875, 0.5, 0.25, 1.0, -0.875, 0.5, 0.25}));
}

TEST(WeightFormats, AClipIsAbsorbedByNumbersOfTheSameCodes) {
    std::vector<float> numbers(std::size_t{3} * 45);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = std::pow(std::sin(static_cast<float>(i * i + 1)), 3.0F);
    for (std::size_t i = 0; i < dtype_count * scales_names.size(); ++i) {
        const auto dtype = static_cast<Dtype>(i % dtype_count);
        const QuantisationScheme scheme(dtype, static_cast<Scales>(i / dtype_count));
        // The power above a range may be another one where few codes are left of it.
        if (scheme.group == ScaleGroup::none || (row(dtype).affine && scheme.rule.power_of_two))
            continue;
        for (const double clip : {0.95, 0.7, 0.4}) {
            QuantisationScheme clipped = scheme;
            clipped.rule.clip = clip;
            std::vector<float> expected = numbers;
            round_to_codes(clipped, {3, 45}, expected);
            std::vector<float> absorbed = numbers;
            absorb_clip(clipped, {3, 45}, absorbed);
            round_to_codes(scheme, {3, 45}, absorbed);
            for (std::size_t j = 0; j < numbers.size(); ++j)
                ASSERT_NEAR(absorbed[j], expected[j], 1e-6)
                    << name(dtype) << ' ' << scales_names[i / dtype_count] << ' ' << clip;
        }
    }
    QuantisationScheme ternary(Dtype::ternary);
    ternary.rule.clip = 0.9;
    std::vector<float> row{0.75F, 0.75F, 0.75F, 0.75F, 2.0F, 1.8F, 0.01F, -0.02F};
    absorb_clip(ternary, {1, 8}, row);
    round_to_codes(QuantisationScheme(Dtype::ternary), {1, 8}, row);
    EXPECT_NEAR(row[0], 0.9 * 6.83 / 8.0, 1e-6);
    EXPECT_EQ(row[5], row[0]);
    EXPECT_EQ(row[6], 0.0F);
}

/// Neurons of which every third connection is disabled, and masters for them.
Network neurons_in(std::string_view formats) {
    std::string connections;
    for (int i = 0; i < 40; ++i)
        connections += (i == 0 ? "" : ", ") + std::string(R"({"source": )") + std::to_string(i) +
                       R"(, "target": 0, "enabled": )" + (i % 3 == 0 ? "false}" : "true}");
    return Network(test::blueprint_of(R"({"layers": [{"type": "neurons", "in": 40, "out": 1,
        "neurons": [{"activation": "tanh"}], "connections": [)" +
                                          connections + "], " + std::string(formats) + "}]}",
                                      40, 1));
}

/// What they answer, in codes or as masters that the graph rounds.
std::vector<double> answers(Backend& backend, const Network& network,
                            const std::vector<float>& masters, bool as_masters) {
    EvaluatedOperands own = evaluated_operands(network, masters, 1);
    if (as_masters) own = {.weights = masters, .activations = own.activations, .packed = nullptr};
    const auto tensor = [](ValueType type, const auto& values) {
        return Tensor(type, Shape{std::ssize(values)},
                      std::vector<double>(values.begin(), values.end()));
    };
    const std::vector<Tensor> values{
        tensor(ValueType::real, own.weights), tensor(ValueType::integer, own.activations),
        tensor(ValueType::boolean, network.enabled_flags()), test::some_rows({3, 40})};
    Graph graph;
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, values[0].shape),
        .activations = graph.input("codes", ValueType::integer, values[1].shape),
        .enabled = graph.input("enabled", ValueType::boolean, values[2].shape),
        .masters = as_masters,
        .packed = own.packed};
    graph.output(network.apply(graph.input("x", ValueType::real, values[3].shape), operands));
    return evaluate(backend, graph, 1, values).front().elements;
}

TEST(WeightFormats, NoScaleComesOfDisabledConnections) {
    const auto backend = make_cpu_backend({});
    for (std::size_t i = 0; i < dtype_count * scales_names.size(); ++i) {
        const auto dtype = static_cast<Dtype>(i % dtype_count);
        const auto scales = static_cast<Scales>(i / dtype_count);
        if (scales != Scales::format && !takes_scales(dtype)) continue;
        const std::string formats = R"("dtype": ")" + std::string(name(dtype)) +
                                    R"(", "dtype_scales": ")" + std::string(name(scales)) + '"';
        SCOPED_TRACE(formats);
        const Network network = neurons_in(formats);
        const auto masters_with = [&](float disabled) {
            std::vector<float> masters = test::some_weights(network);
            for (std::size_t j = 0; j < 40; j += 3) masters[j] = disabled;
            return masters;
        };
        const std::vector<double> coded = answers(*backend, network, masters_with(0.0F), false);
        const std::vector<double> rounded = answers(*backend, network, masters_with(0.0F), true);
        EXPECT_EQ(answers(*backend, network, masters_with(-1000.0F), false), coded);
        EXPECT_EQ(answers(*backend, network, masters_with(-1000.0F), true), rounded);
        for (std::size_t j = 0; j < coded.size(); ++j) EXPECT_NEAR(rounded[j], coded[j], 1e-4);
        if (row(dtype).group == ScaleGroup::none) continue;
        EXPECT_EQ(evaluated_weights(network, masters_with(0.0F)),
                  evaluated_weights(network, masters_with(-1000.0F)));
    }
    // A mean is one of those that are enabled.
    const Network binary = neurons_in(R"("dtype": "binary")");
    std::vector<float> masters(static_cast<std::size_t>(binary.weight_count()), 0.5F);
    for (std::size_t j = 0; j < 40; j += 3) masters[j] = 9.0F;
    EXPECT_EQ(evaluated_weights(binary, masters)[1], 0.5F);
}

TEST(WeightFormats, ScalesAreThoseOfTheNetworkOrTheLayer) {
    const Blueprint blueprint = test::blueprint_of(R"({"dtype": "int8", "dtype_scales": "block",
        "layers": [{"type": "dense", "out": 3}, {"type": "dense", "out": 3, "dtype_scales": "mx"},
                   {"type": "dense", "dtype": "float16"}]})",
                                                   6, 3);
    EXPECT_EQ(blueprint.slots[0]->formats.scales, Scales::block);
    EXPECT_EQ(blueprint.slots[1]->formats.scales, Scales::mx);
    // Where a format has none, what the network says is for other layers.
    EXPECT_EQ(blueprint.head_formats, (LayerFormats{.weights = Dtype::float16}));
    expect_read_back(blueprint);
    EXPECT_EQ(QuantisationScheme(Dtype::float16, Scales::block).group, ScaleGroup::none);
    EXPECT_EQ(QuantisationScheme(Dtype::q4_0, Scales::tensor).group, ScaleGroup::block);
    // A format to come.
    const Blueprint plain =
        test::blueprint_of(R"({"dtype_scales": "mx", "layers": [{"type": "dense"}]})", 2, 1);
    EXPECT_EQ(plain.head_formats, (LayerFormats{.scales = Scales::mx}));
    expect_read_back(plain);
    EXPECT_THAT(
        [] {
            (void)test::blueprint_of(R"({"dtype_scales": "rows", "layers": [{"type": "dense"}]})",
                                     2, 1);
        },
        ThrowsMessage<ConfigError>(HasSubstr("network.dtype_scales")));
}

TEST(WeightFormats, ANetworkThatHasFormatsKeepsItsScales) {
    Blueprint blueprint = test::blueprint_of(
        R"({"layers": [{"type": "dense", "out": 3, "dtype": "int4"}, {"type": "dense"}]})", 4, 2);
    apply_formats(blueprint, {{"dtype", "int8"}, {"dtype_scales", "tensor"}});
    EXPECT_EQ(blueprint.slots[0]->formats, (LayerFormats{.weights = Dtype::int4}));
    EXPECT_EQ(blueprint.head_formats,
              (LayerFormats{.weights = Dtype::int8, .scales = Scales::tensor}));
}

TEST(WeightFormats, ScalesDecideHowMuchIsLost) {
    // One row far larger than the others, and one large number in a row.
    std::vector<float> numbers(std::size_t{2} * 64);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = (i < 64 ? 100.0F : 1.0F) * std::sin(static_cast<float>(i));
    numbers[64] = 50.0F;
    const auto lost = [&](Dtype dtype, Scales scales) {
        std::vector<float> stored = numbers;
        round_to_codes({dtype, scales}, {2, 64}, stored);
        return quantisation_error(std::span(numbers).subspan(96), std::span(stored).subspan(96))
            .rms;
    };
    for (const Dtype dtype : {Dtype::int8, Dtype::uint8, Dtype::int4, Dtype::uint4}) {
        EXPECT_LT(lost(dtype, Scales::block), 0.5 * lost(dtype, Scales::channel)) << name(dtype);
        EXPECT_LE(lost(dtype, Scales::channel), lost(dtype, Scales::tensor)) << name(dtype);
        EXPECT_LE(lost(dtype, Scales::block), lost(dtype, Scales::mx)) << name(dtype);
    }
    EXPECT_EQ(stored_bytes({Dtype::int8, Scales::tensor}, {2, 64}), 128 + 4);
    EXPECT_EQ(stored_bytes({Dtype::int8, Scales::mx}, {2, 64}), 128 + 4 * 4);
}

TEST(WeightFormats, RowsThatEnterALayerAreRounded) {
    const Network plain(test::blueprint_of(R"({"layers": [{"type": "dense"}]})", 6, 3));
    const Network network(
        test::blueprint_of(R"({"activation_dtype": "int8", "layers": [{"type": "dense"}]})", 6, 3));
    const std::vector<float> weights = test::some_weights(network);
    Tensor rows = test::some_rows({4, 6});
    const Tensor result = test::run(network, weights, rows);
    EXPECT_GT(test::difference(result, test::run(plain, weights, rows)), 1e-4);
    std::vector<float> codes(rows.elements.begin(), rows.elements.end());
    round_to_codes(QuantisationScheme(Dtype::int8), {4, 6}, codes);
    rows.elements.assign(codes.begin(), codes.end());
    EXPECT_LE(test::difference(result, test::run(plain, weights, rows)), 1e-5);
}

TEST(WeightFormats, MastersLearnAsIfNothingWereRounded) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 3});
    const Var y = straight_through(x, Dtype::int4);
    graph.output(y);
    graph.output(gradient(reduce_sum(reduce_sum(y * 3.0, 1), 0), std::array{x})[0]);
    const auto backend = make_cpu_backend({});
    const Tensor values(ValueType::real, Shape{2, 3}, {0.11, -0.5, 0.7, 1.0, 0.3, -0.2});
    const std::vector<Tensor> results = evaluate(*backend, graph, 1, std::array{values});
    EXPECT_NE(results[0].elements, values.elements);
    EXPECT_THAT(results[1].elements, ::testing::Each(3.0));
}

}  // namespace
}  // namespace cambrian

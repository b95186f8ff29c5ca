#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/conv/tile.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor drawn(const Shape& shape, std::uint64_t id) {
    Tensor tensor(ValueType::real, shape);
    RandomStream rng(random_key(3, "window"), id);
    for (double& element : tensor.elements) element = static_cast<double>(rng.normal());
    return tensor;
}

Tensor counted(const Shape& shape) {
    Tensor tensor(ValueType::real, shape);
    for (std::size_t i = 0; i < tensor.elements.size(); ++i)
        tensor.elements[i] = static_cast<double>(i + 1);
    return tensor;
}

std::vector<double> run(const Graph& graph, const std::vector<Tensor>& inputs,
                        std::size_t output = 0) {
    const auto backend = make_reference_backend(Precision::f64);
    return evaluate(*backend, graph, 1, inputs)[output].elements;
}

/// The message of the ShapeError that building throws.
template <class Build>
std::string message_of(Build&& build) {
    try {
        build();
    } catch (const ShapeError& error) {
        return error.what();
    }
    return "no error";
}

TEST(Window, Im2colListTheTapsOfEveryWindow) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    graph.output(im2col(x, {3}, {.stride = 2, .before = 1}));
    graph.output(im2col(x, {2}, {.dilation = 3, .after = 1}, Padding::lowest));

    const double lowest = -std::numeric_limits<double>::infinity();
    EXPECT_THAT(run(graph, {counted({4})}, 0), ElementsAre(0, 2, 1, 3, 2, 4));
    EXPECT_THAT(run(graph, {counted({4})}, 1), ElementsAre(1, 2, 4, lowest));
}

TEST(Window, Col2imCountsHowOftenAnElementIsRead) {
    Graph graph;
    const Var ones = graph.input("ones", ValueType::real, {3, 4});
    graph.output(col2im(ones, {3}, 4, {.before = 1, .after = 1}));

    EXPECT_THAT(run(graph, {Tensor(ValueType::real, {3, 4}, std::vector<double>(12, 1.0))}),
                ElementsAre(2, 3, 3, 2));
}

TEST(Window, ConvIsTheSumOfWeightedTaps) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 3, 3});
    const Var w = graph.input("w", ValueType::real, {1, 1, 2, 2});
    const Var b = graph.input("b", ValueType::real, {1});
    graph.output(conv(x, w, b));
    graph.output(conv(x, w, {.stride = 2, .before = {1, 0}, .after = {0, 1}}));
    const Tensor weights(ValueType::real, {1, 1, 2, 2}, {1, 10, 100, 1000});

    const std::vector<Tensor> inputs{counted({1, 3, 3}), weights, Tensor::scalar(0.5)};
    std::vector<Tensor> shaped = inputs;
    shaped[2].shape = Shape{1};
    EXPECT_THAT(run(graph, shaped, 0), ElementsAre(5421.5, 6532.5, 8754.5, 9865.5));
    EXPECT_THAT(run(graph, shaped, 1), ElementsAre(2100, 300, 8754, 906));
}

/// <conv(x), y> and <x, conv_transpose(y)>.
struct Products {
    double forward;
    double backward;
};

double product_of(const std::vector<double>& a, const std::vector<double>& b) {
    EXPECT_EQ(a.size(), b.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

Products adjoint_products(const Shape& x, const Shape& weights, const ConvOptions& options,
                          const PerAxis& output_padding) {
    Graph there;
    const Var in = there.input("x", ValueType::real, x);
    const Var there_weights = there.input("w", ValueType::real, weights);
    const Shape y = conv(in, there_weights, options).shape();
    there.output(conv(in, there_weights, options));
    Graph back;
    const Var out = back.input("y", ValueType::real, y);
    const Var back_weights = back.input("w", ValueType::real, weights);
    back.output(conv_transpose(out, back_weights, options, output_padding));
    EXPECT_EQ(back.value(back.outputs()[0]).shape, x);
    const Tensor from = drawn(x, 1);
    const Tensor to = drawn(y, 2);
    const Tensor w = drawn(weights, 3);
    return {product_of(run(there, {from, w}), to.elements),
            product_of(from.elements, run(back, {to, w}))};
}

TEST(Window, ConvTransposeIsTheAdjointOfConv) {
    struct Case {
        Shape x;
        Shape weights;
        ConvOptions options;
        PerAxis output_padding;
    };
    for (const auto& [x, weights, options, output_padding] :
         {Case{{2, 3, 17}, {4, 3, 3}, {}, 0},
          Case{{2, 4, 18}, {6, 2, 3}, {.stride = 3, .before = 1, .groups = 2}, 1},
          Case{{3, 9, 7}, {2, 3, 3, 2}, {.dilation = {2, 1}, .before = {1, 0}, .after = {0, 2}}, 0},
          Case{{2, 4, 8, 8}, {4, 1, 3, 3}, {.stride = 2, .before = 1, .after = 1, .groups = 4}, 1},
          Case{{1, 2, 5, 4, 3},
               {3, 2, 2, 1, 3},
               {.stride = {2, 1, 1}, .after = {0, 0, 1}},
               {1, 0, 0}}}) {
        SCOPED_TRACE(x.text() + " " + weights.text());
        const auto [forward, backward] = adjoint_products(x, weights, options, output_padding);
        EXPECT_NEAR(forward, backward, 1e-10 * std::max(1.0, std::abs(forward)));
    }
}

TEST(Window, ConvTransposeAddsItsBiasToEveryOutput) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 2});
    const Var w = graph.input("w", ValueType::real, {1, 2, 2});
    const Var b = graph.input("b", ValueType::real, {2});
    graph.output(conv_transpose(x, w, b, {.stride = 2}));

    EXPECT_THAT(run(graph, {counted({1, 2}), counted({1, 2, 2}), counted({2})}),
                ElementsAre(2, 3, 3, 5, 5, 6, 8, 10));
}

TEST(Window, MaxPoolTakesTheFirstMaximumAndNoPadding) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 4});
    const Var y = max_pool(x, {2, 2}, {.before = {0, 1}, .after = {0, 1}});
    graph.output(y);
    graph.output(gradient(sum_all(y), std::array{x})[0]);
    const Tensor values(ValueType::real, {2, 4}, {-5, -1, -7, -3, -4, -1, -2, -3});

    EXPECT_THAT(run(graph, {values}, 0), ElementsAre(-4, -1, -3));
    EXPECT_THAT(run(graph, {values}, 1), ElementsAre(0, 1, 0, 1, 1, 0, 0, 0));
}

TEST(Window, AveragePoolCountsPaddingOrLeavesItOut) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 3});
    const PoolOptions options{.stride = 2, .before = 1, .after = 1};
    const Var counted_in = average_pool(reshape(x, {3}), {3}, options);
    const Var left_out = average_pool(reshape(x, {3}), {3}, options, false);
    graph.output(counted_in);
    graph.output(left_out);
    graph.output(gradient(sum_all(left_out), std::array{x})[0]);

    EXPECT_THAT(run(graph, {counted({1, 3})}, 0), ElementsAre(1.0, 5.0 / 3.0));
    EXPECT_THAT(run(graph, {counted({1, 3})}, 1), ElementsAre(1.5, 2.5));
    EXPECT_THAT(run(graph, {counted({1, 3})}, 2), ElementsAre(0.5, 1.0, 0.5));
}

TEST(Window, CausalFilterReadsOnlyThePast) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 2});
    const Var w = graph.input("w", ValueType::real, {2, 2});
    const Var b = graph.input("b", ValueType::real, {2});
    graph.output(causal_conv1d(x, w, b));
    const Tensor weights(ValueType::real, {2, 2}, {10, 1, 100, 1});

    // x = [[1, 2], [3, 4], [5, 6]]; feature 0: 10 x[t - 1] + x[t], feature 1: 100 x[t - 1] + x[t].
    EXPECT_THAT(run(graph, {counted({3, 2}), weights, counted({2})}),
                ElementsAre(2, 4, 14, 206, 36, 408));
}

TEST(Window, UpsamplingRepeatsEveryElement) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 2, 2});
    const Var y = upsample_nearest(x, {1, 3});
    graph.output(y);
    graph.output(gradient(sum_all(y), std::array{x})[0]);

    EXPECT_EQ(y.shape(), (Shape{1, 2, 6}));
    EXPECT_THAT(run(graph, {counted({1, 2, 2})}, 0),
                ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4));
    EXPECT_THAT(run(graph, {counted({1, 2, 2})}, 1), ElementsAre(3, 3, 3, 3));
}

TEST(Window, LayersOfRealisticSizeEqualTheirLoweringOnTheCpu) {
    struct Case {
        Shape x;
        Shape weights;
        ConvOptions options;
    };
    for (const auto& [x, weights, options] :
         {Case{{2, 32, 28, 28}, {16, 32, 3, 3}, {.before = 1, .after = 1}},
          Case{{3, 16, 15, 15}, {40, 8, 3, 3}, {.stride = 2, .groups = 2}},
          Case{{48, 500}, {32, 48, 9}, {.before = 8}},
          Case{{2, 3, 2, 9, 40}, {5, 3, 2, 9, 3}, {.stride = {1, 1, 2}}},
          Case{{64, 33, 35}, {64, 64, 1, 1}, {}},
          Case{{2, 24, 33, 41}, {24, 1, 5, 3}, {.stride = {1, 2}, .before = 2, .groups = 24}}}) {
        SCOPED_TRACE(x.text() + " " + weights.text());
        Graph graph;
        const Var in = graph.input("x", ValueType::real, x);
        const Var w = graph.input("w", ValueType::real, weights);
        const Var b = graph.input("b", ValueType::real, {weights[0]});
        graph.output(conv(in, w, b, options));
        const std::vector<Tensor> inputs{drawn(x, 1), drawn(weights, 2), drawn({weights[0]}, 3)};
        const Graph lowered = lower(graph, [](Op op) { return op != Op::conv; });

        for (const Math math : {Math::strict, Math::fast}) {
            const auto cpu = make_cpu_backend({.math = math});
            const auto actual = evaluate(*cpu, graph, 1, inputs)[0].elements;
            const auto expected = evaluate(*cpu, lowered, 1, inputs)[0].elements;
            const double tolerance = math == Math::strict ? 0.0 : 1e-4;
            EXPECT_THAT(actual, testing::Pointwise(testing::DoubleNear(tolerance), expected));
        }
    }
}

TEST(Window, NothingBetweenItsPaddingHasAnEmptyGradient) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 2, 0});
    const Var w = graph.input("w", ValueType::real, {1, 2, 1});
    const Var y = conv(x, w, {.before = 3});
    graph.output(y);
    for (const Var g : gradient(sum_all(y), std::array{x, w})) graph.output(g);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {1, 2, 0}, {}), counted({1, 2, 1})};

    EXPECT_THAT(run(graph, inputs, 0), ElementsAre(0, 0, 0));
    EXPECT_THAT(run(graph, inputs, 1), ElementsAre());
    EXPECT_THAT(run(graph, inputs, 2), ElementsAre(0, 0));
}

TEST(ConvTile, AllWidthsGiveTheBitsOfOneChainForEachSum) {
    constexpr std::int64_t depth = 37;
    constexpr std::int64_t stride = 100;
    std::vector<float> weights(8 * depth);
    std::vector<float> windows(depth * stride);
    RandomStream rng(random_key(5, "tile"), 0);
    rng.field().fill_normal(0, weights);
    rng.field().fill_normal(0, windows);
    std::vector<std::int64_t> offsets;
    for (std::int64_t k = 0; k < depth; ++k) offsets.push_back(k * stride + k % 3);

    for (const cpu::ConvTiles& tiles : cpu::all_conv_tiles()) {
        SCOPED_TRACE(tiles.name);
        if (!tiles.supported) continue;
        for (const bool fused : {false, true})
            for (std::int64_t rows = 1; rows <= tiles.max_rows; ++rows)
                for (std::int64_t vectors = 1; vectors <= tiles.max_vectors; ++vectors) {
                    const std::int64_t columns = vectors * tiles.lanes;
                    std::vector<float> sums(static_cast<std::size_t>(rows * columns), -1.0F);
                    tiles.kernel(fused, rows, vectors)(
                        {weights.data(), depth, windows.data(), offsets.data(), sums.data()});
                    for (std::int64_t i = 0; i < rows * columns; ++i) {
                        float expected = 0.0F;
                        for (std::int64_t k = 0; k < depth; ++k) {
                            const auto at = static_cast<std::size_t>(k);
                            const float w =
                                weights[static_cast<std::size_t>(i / columns * depth + k)];
                            const float x =
                                windows[static_cast<std::size_t>(offsets[at] + i % columns)];
                            expected = fused && cpu::fuses_multiply_add ? std::fma(w, x, expected)
                                                                        : expected + w * x;
                        }
                        ASSERT_EQ(sums[static_cast<std::size_t>(i)], expected)
                            << rows << " rows, " << vectors << " vectors, sum " << i;
                    }
                }
    }
}

TEST(Window, OperandsThatDoNotFitAreNamedWithTheirShapes) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 3, 8, 8});
    const Var w = graph.input("w", ValueType::real, {4, 2, 3, 3});
    const Var wide = graph.input("wide", ValueType::real, {4, 3, 9, 9});
    const Var b = graph.input("b", ValueType::real, {3});
    const Var ok = graph.input("ok", ValueType::real, {4, 3, 3, 3});

    const std::string channels = message_of([&] { conv(x, w); });
    EXPECT_THAT(channels, HasSubstr("conv: operands real [2, 3, 8, 8] and real [4, 2, 3, 3]"));
    EXPECT_THAT(channels, HasSubstr("3 channels in 1 groups do not meet weights for 2"));
    EXPECT_THAT(channels, HasSubstr("window_test.cpp"));
    EXPECT_THAT(message_of([&] { conv(x, wide); }),
                HasSubstr("a window covers 9 elements of an axis that has 8"));
    EXPECT_THAT(message_of([&] { conv(x, ok, b); }), HasSubstr("pass a bias [4]"));
    EXPECT_THAT(message_of([&] { conv(x, ok, {.stride = 0}); }), HasSubstr("the stride 0"));
    EXPECT_THAT(message_of([&] { conv(x, ok, {.before = -1}); }), HasSubstr("the padding -1"));
    EXPECT_THAT(message_of([&] {
                    conv(x, ok, {.stride = {1, 2, 3}});
                }),
                HasSubstr("the stride has 3 numbers for 2 axes"));
    EXPECT_THAT(message_of([&] { conv(x, ok, {.groups = 3}); }),
                HasSubstr("4 outputs do not make 3 equal groups"));
    EXPECT_THAT(message_of([&] { conv(x, b); }), HasSubstr("a window has 1 to 3 axes, not -1"));
    EXPECT_THAT(message_of([&] { conv_transpose(x, ok); }), HasSubstr("it reads 4 channels"));
    EXPECT_THAT(message_of([&] { conv_transpose(x, wide, {}, 1); }), HasSubstr("it reads 4"));
    EXPECT_THAT(message_of([&] { max_pool(b, {2, 2}); }), HasSubstr("needs as many"));
    EXPECT_THAT(message_of([&] { average_pool(b, {1}, {.before = 1}, false); }),
                HasSubstr("reads nothing but padding"));
    EXPECT_THAT(message_of([&] { col2im(b, {2}, 4); }), HasSubstr("have 2 taps"));
    EXPECT_THAT(message_of([&] { causal_conv1d(x, ok); }), HasSubstr("[features, kernel]"));
    EXPECT_THAT(message_of([&] { upsample_nearest(b, {0}); }), HasSubstr("factors from 1 on"));
}

TEST(Window, NumbersBeyondAllBoundsAreRejected) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 1, 1});
    const std::int64_t most = (std::int64_t{1} << 31) - 1;
    const ConvOptions padded{.before = most - 1};
    EXPECT_THAT(message_of([&] {
                    im2col(x, {most, most, most}, padded);
                }),
                HasSubstr("more than 2^62"));
    EXPECT_THAT(message_of([&] { im2col(x, {1, 1, 1}, padded); }), HasSubstr("more than 2^62"));
    EXPECT_THAT(message_of([&] { im2col(x, {most + 1, 1, 1}); }), HasSubstr("is not possible"));
    EXPECT_THAT(message_of([&] {
                    im2col(x, {1, 1, 1}, {.before = most, .after = 1});
                }),
                HasSubstr("is not possible"));
    const std::int64_t large = std::int64_t{1} << 61;
    EXPECT_THAT(message_of([&] {
                    upsample_nearest(x, {large, 1, large});
                }),
                AllOf(HasSubstr("more than 2^62"), HasSubstr("window_test.cpp")));
    const Var nothing = graph.input("nothing", ValueType::real, {0, large});
    EXPECT_THAT(message_of([&] {
                    upsample_nearest(nothing, {1, 8});
                }),
                HasSubstr("more than 2^62"));
}

}  // namespace
}  // namespace cambrian

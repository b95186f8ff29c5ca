#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/gpu/codegen/fused/fused_source.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/kernels/fused/fused_axes.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian {
namespace {

using test::first_difference;

/// Elements for one input: normal numbers, codes from -1 to 6 or truth values; an individual has
/// the same ones in any population.
Tensor random_tensor(const ValueInfo& info, std::int64_t population, std::uint64_t seed) {
    std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
    if (info.per_individual) extents.insert(extents.begin(), population);
    Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
    const auto elements = static_cast<std::size_t>(info.shape.elements());
    for (std::size_t p = 0; p * elements < tensor.elements.size(); ++p) {
        RandomStream stream(random_key(seed, "fused test"), p);
        for (std::size_t i = 0; i < elements; ++i) {
            const double code = static_cast<double>(stream.index(8)) - 1.0;
            tensor.elements[p * elements + i] =
                info.type == ValueType::real      ? static_cast<double>(stream.normal())
                : info.type == ValueType::integer ? code
                                                  : (code > 2.0 ? 1.0 : 0.0);
        }
    }
    return tensor;
}

std::vector<Tensor> random_inputs(const Graph& graph, std::int64_t population) {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs())
        inputs.push_back(random_tensor(graph.value(id), population, inputs.size()));
    return inputs;
}

std::size_t count(const Graph& graph, Op op) {
    return static_cast<std::size_t>(std::ranges::count(graph.nodes(), op, &Node::op));
}

/// That the whole graph is one fusion group, so that a test runs the kernel it is about.
void expect_one_fused(const Graph& graph, bool reductions) {
    const Graph fused = fuse_elementwise(graph, {.reductions = reductions});
    EXPECT_EQ(count(fused, Op::fused), 1U) << dump(fused);
    EXPECT_EQ(fused.nodes().size(), count(fused, Op::fused) + count(fused, Op::reshape) +
                                        count(fused, Op::input) + count(fused, Op::constant))
        << dump(fused);
}

void expect_bits(Backend& backend, const Graph& graph, std::int64_t population,
                 const std::vector<Tensor>& inputs) {
    const auto reference = make_reference_backend(Precision::f32);
    const auto expected = evaluate(*reference, graph, population, inputs);
    const auto actual = evaluate(backend, graph, population, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::int64_t at = first_difference(actual[i].elements, expected[i].elements);
        EXPECT_EQ(at, -1)
            << "output " << i << ": "
            << actual[i].elements[static_cast<std::size_t>(std::max<std::int64_t>(at, 0))]
            << " instead of "
            << expected[i].elements[static_cast<std::size_t>(std::max<std::int64_t>(at, 0))] << "\n"
            << dump(graph);
    }
}

void expect_near(Backend& backend, const Graph& graph, std::int64_t population,
                 const std::vector<Tensor>& inputs, double tolerance = 1e-5) {
    const auto reference = make_reference_backend(Precision::f64);
    const auto expected = evaluate(*reference, graph, population, inputs);
    const auto actual = evaluate(backend, graph, population, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(actual[i].elements.size(), expected[i].elements.size());
        double scale = 1e-30;
        for (const double x : expected[i].elements) scale = std::max(scale, std::fabs(x));
        for (std::size_t e = 0; e < expected[i].elements.size(); ++e)
            ASSERT_NEAR(actual[i].elements[e], expected[i].elements[e], tolerance * scale)
                << "output " << i << " element " << e << "\n"
                << dump(graph);
    }
}

/// One backend for each mode of arithmetic: pipelines are made once for all tests.
class FusedTest : public testing::TestWithParam<Math> {
  protected:
    static void SetUpTestSuite() {
        backends() = {make_vulkan_backend(test::test_vulkan_options(Math::strict)),
                      make_vulkan_backend(test::test_vulkan_options(Math::fast))};
    }
    static void TearDownTestSuite() { backends() = {}; }
    static Backend& backend(Math math) { return *backends()[math == Math::fast ? 1 : 0]; }

  private:
    static std::array<std::unique_ptr<Backend>, 2>& backends() {
        static std::array<std::unique_ptr<Backend>, 2> made;
        return made;
    }
};
class FusedElements : public FusedTest {};
class FusedRows : public FusedTest {};

INSTANTIATE_TEST_SUITE_P(Math, FusedElements, testing::Values(Math::strict, Math::fast),
                         [](const auto& tested) {
                             return tested.param == Math::fast ? "fast" : "strict";
                         });
INSTANTIATE_TEST_SUITE_P(Math, FusedRows, testing::Values(Math::fast),
                         [](const auto&) { return "fast"; });

/// A bias shared by all, a gain for each row, a code and a number of each individual.
Graph every_kind_of_operand(std::int64_t rows, std::int64_t columns) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {rows, columns}, true);
    const Var bias = graph.input("bias", ValueType::real, {columns});
    const Var gain = graph.input("gain", ValueType::real, {rows, 1}, true);
    const Var code = graph.input("code", ValueType::integer, {}, true);
    const Var slope = graph.input("slope", ValueType::real, {}, true);
    graph.output(activate(x * gain + bias, code) * slope - 0.25);
    return graph;
}

TEST_P(FusedElements, IsItsLoweringInEveryBit) {
    for (const std::int64_t columns : {1, 4, 17, 64}) {
        for (const std::int64_t rows : {1, 3}) {
            const Graph graph = every_kind_of_operand(rows, columns);
            expect_one_fused(graph, true);
            for (const std::int64_t population : {1, 9})
                expect_bits(backend(GetParam()), graph, population,
                            random_inputs(graph, population));
        }
    }
}

TEST_P(FusedElements, AllElementwiseOpsAndTypes) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {5, 33}, true);
    const Var flag = graph.input("flag", ValueType::boolean, {33});
    const Var whole = cast(x * 3.0, ValueType::integer);
    const Var wrapped = abs(-whole) * whole - cambrian::max(whole, sign(whole));
    const Var test = logical_or(logical_and(less(x, 0.5), flag), logical_not(is_finite(log(x))));
    const Var real = exp(sin(x)) + cos(tanh(x)) / sqrt(abs(round(x * 2.0))) - rsqrt(sigmoid(x));
    const Var chosen = select(test, real, floor(reciprocal(x)) + cast(wrapped, ValueType::real));
    graph.output(cambrian::min(chosen, cast(equal(whole, wrapped), ValueType::real) - x));
    expect_bits(backend(GetParam()), graph, 7, random_inputs(graph, 7));
}

TEST_P(FusedElements, SpecialNumbers) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> numbers{0.0,  -0.0, 1.0,       -1.0,         infinity, -infinity,
                                      NAN,  3e38, 1.2e-38,   -3e38,        0.5,      -0.5,
                                      88.0, -104, 8388608.5, -2147483648.0};
    Graph graph;
    const Var a = graph.input("a", ValueType::real, {16, 1});
    const Var b = graph.input("b", ValueType::real, {16});
    graph.output(cambrian::max(a * b, cambrian::min(a, -b)) + floor(b));
    graph.output(select(less(a, b), exp(a) / b, -tanh(b)));
    expect_bits(backend(GetParam()), graph, 1,
                {Tensor(ValueType::real, Shape{16, 1}, numbers),
                 Tensor(ValueType::real, Shape{16}, numbers)});
}

TEST_P(FusedElements, BroadcastOnEveryAxis) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 3, 4, 5}, true);
    Var sum = x;
    for (const Shape& shape : {Shape{1, 3, 1, 5}, Shape{2, 1, 4, 1}, Shape{4, 5}, Shape{3, 1, 1}})
        sum = sum * 0.5 + graph.input("y", ValueType::real, shape, shape.rank() == 4);
    graph.output(sum);
    expect_one_fused(graph, true);
    expect_bits(backend(GetParam()), graph, 3, random_inputs(graph, 3));
}

TEST_P(FusedElements, SharedAndEmptyAndNumbers) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 0}, true);
    const Var y = graph.input("y", ValueType::real, {6});
    const Var number = graph.input("number", ValueType::real, {});
    graph.output(exp(x * 2.0));
    graph.output(exp(y * 2.0) - number);
    graph.output(sin(number) * 3.0);
    expect_bits(backend(GetParam()), graph, 4, random_inputs(graph, 4));
}

TEST_P(FusedElements, AnIndividualIsTheSameInAnyPopulation) {
    const Graph graph = every_kind_of_operand(3, 10);
    const auto alone = evaluate(backend(GetParam()), graph, 1, random_inputs(graph, 1));
    const auto among = evaluate(backend(GetParam()), graph, 23, random_inputs(graph, 23));
    for (std::size_t i = 0; i < alone[0].elements.size(); ++i)
        EXPECT_EQ(alone[0].elements[i], among[0].elements[i]);
}

TEST_P(FusedElements, RandomGraphs) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        Graph graph;
        RandomStream rng(random_key(seed, "random fusion group"), 0);
        std::vector<Var> values{graph.input("a", ValueType::real, {3, 4}, true),
                                graph.input("b", ValueType::real, {4}, seed % 2 == 0),
                                graph.input("c", ValueType::real, {3, 1})};
        for (int i = 0; i < 8; ++i) {
            const auto pick = [&] {
                return values[rng.index(static_cast<std::uint32_t>(values.size()))];
            };
            const Var x = pick();
            const std::array all{x * pick(), x + pick(), x - 0.5 * pick(), tanh(x),
                                 cambrian::max(x, pick())};
            values.push_back(all[rng.index(5)]);
        }
        graph.output(values.back() + values[values.size() - 2]);
        expect_bits(backend(GetParam()), graph, 3, random_inputs(graph, 3));
    }
}

constexpr std::array<std::int64_t, 7> row_lengths{1, 3, 17, 65, 257, 1024, 5000};

using Build = Var (*)(Graph&, Var);

Var build_softmax(Graph&, Var x) {
    return softmax(x, -1);
}
Var build_log_softmax(Graph&, Var x) {
    return log_softmax(x, -1);
}
Var build_rms_norm(Graph& graph, Var x) {
    const Var gain = graph.input("gain", ValueType::real, {x.shape()[-1]}, true);
    return x * rsqrt(reduce_mean(square(x), -1, true) + 1e-6) * gain;
}
Var build_layer_norm(Graph& graph, Var x) {
    const Var gain = graph.input("gain", ValueType::real, {x.shape()[-1]}, true);
    const Var bias = graph.input("bias", ValueType::real, {x.shape()[-1]});
    const Var centred = x - reduce_mean(x, -1, true);
    return centred * rsqrt(reduce_mean(square(centred), -1, true) + 1e-5) * gain + bias;
}
Var build_cross_entropy(Graph& graph, Var x) {
    const Var right = graph.input("right", ValueType::boolean, x.shape(), true);
    return reduce_sum(select(right, -log_softmax(x, -1), constant(graph, 0.0)), -1);
}

Graph row_graph(Build build, std::int64_t rows, std::int64_t columns) {
    Graph graph;
    graph.output(build(graph, graph.input("x", ValueType::real, {rows, columns}, true)));
    return graph;
}

TEST_P(FusedRows, OddLengths) {
    const auto check = [&](Build build, std::int64_t length) {
        const Graph graph = row_graph(build, 3, length);
        expect_one_fused(graph, true);
        expect_near(backend(GetParam()), graph, 2, random_inputs(graph, 2));
    };
    // Each length of each fusion group is a pipeline of its own: all lengths for one of them.
    for (const std::int64_t length : row_lengths) check(build_layer_norm, length);
    check(build_softmax, 1024);
    for (const Build build :
         {build_softmax, build_log_softmax, build_rms_norm, build_cross_entropy})
        check(build, 17);
}

TEST_P(FusedRows, RowsThatFitNoRegisters) {
    for (const std::int64_t length : {20001, 32768}) {
        const Graph graph = row_graph(build_layer_norm, 2, length);
        expect_one_fused(graph, true);
        expect_near(backend(GetParam()), graph, 1, random_inputs(graph, 1));
    }
}

TEST_P(FusedRows, MoreRowsThanAGroupHolds) {
    const Graph graph = row_graph(build_softmax, 301, 5);
    expect_near(backend(GetParam()), graph, 3, random_inputs(graph, 3));
}

TEST_P(FusedRows, OperandsOfEveryKind) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4, 3, 12}, true);
    const Var outer = graph.input("outer", ValueType::real, {4, 1, 12});
    const Var each_row = graph.input("row", ValueType::real, {3, 1}, true);
    const Var number = graph.input("number", ValueType::real, {}, true);
    const Var code = graph.input("code", ValueType::integer, {});
    const Var weights = exp(activate(x * outer, code) - each_row);
    graph.output(weights / (reduce_sum(weights, -1, true) + abs(number)));
    expect_one_fused(graph, true);
    expect_near(backend(GetParam()), graph, 5, random_inputs(graph, 5));
}

TEST_P(FusedRows, MaximaFollowTheRule) {
    const double nan = NAN;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<std::vector<double>> rows{{nan, 1.0, 2.0},
                                          {1.0, nan, 2.0},
                                          {1.0, 2.0, nan},
                                          {nan, nan, nan},
                                          {-0.0, 0.0, -1.0},
                                          {0.0, -0.0, 0.0},
                                          {-1.0, -0.0, 0.0},
                                          {-infinity, -infinity, -1e38},
                                          {-infinity, nan, -5.0},
                                          {infinity, 1, 2},
                                          {-infinity, nan, -infinity},
                                          {-1.0, 1e-40, 0.0},
                                          {1e-40, -0.0, 2e-40},
                                          {-2e-40, -1e-40, -3e-40}};
    for (const std::size_t length : {3U, 70U, 2048U}) {
        Graph graph;
        const auto count = static_cast<std::int64_t>(rows.size());
        const Var x = graph.input("x", ValueType::real, {count, static_cast<std::int64_t>(length)});
        graph.output(reduce_max(-x, -1, true) * 2.0);
        expect_one_fused(graph, true);
        Tensor tensor(ValueType::real, x.shape());
        for (std::size_t row = 0; row < rows.size(); ++row)
            for (std::size_t i = 0; i < length; ++i) {
                const double filler = i == 0 ? rows[row][0] : -infinity;
                const std::size_t last = length - 2;
                const double value = i == last       ? rows[row][1]
                                     : i == last + 1 ? rows[row][2]
                                                     : filler;
                tensor.elements[row * length + i] = -value;
            }
        expect_bits(backend(GetParam()), graph, 1, {tensor});
    }
}

TEST_P(FusedRows, IntegersAndTies) {
    Graph graph;
    const Var x = graph.input("x", ValueType::integer, {3, 77}, true);
    const Var doubled = x * 1000000007.0;
    graph.output(reduce_sum(doubled, -1, true) - reduce_max(doubled, -1, true));
    expect_one_fused(graph, true);
    expect_bits(backend(GetParam()), graph, 4, random_inputs(graph, 4));
}

TEST_P(FusedRows, AnIndividualIsTheSameInAnyPopulation) {
    const Graph graph = row_graph(build_layer_norm, 3, 50);
    const auto alone = evaluate(backend(GetParam()), graph, 1, random_inputs(graph, 1));
    const auto among = evaluate(backend(GetParam()), graph, 23, random_inputs(graph, 23));
    for (std::size_t i = 0; i < alone[0].elements.size(); ++i)
        EXPECT_EQ(alone[0].elements[i], among[0].elements[i]);
}

TEST_P(FusedRows, Gradients) {
    for (const Build build : {build_softmax, build_log_softmax, build_rms_norm, build_layer_norm,
                              build_cross_entropy}) {
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {4, 33}, true);
        const Var y = build(graph, x);
        const Var weights = graph.input("weights", ValueType::real, y.shape());
        graph.output(gradient(sum_all(y * weights), std::array{x})[0]);
        EXPECT_GE(
            count(fuse_elementwise(eliminate_dead_code(graph), {.reductions = true}), Op::fused),
            1U);
        expect_near(backend(GetParam()), graph, 3, random_inputs(graph, 3));
    }
}

TEST(FusedAxes, DividesByMultiplying) {
    RandomStream rng(random_key(7, "magic"), 0);
    const auto check = [](std::uint32_t n, std::uint32_t divisor) {
        const gpu::MagicNumbers numbers(divisor);
        const auto high =
            static_cast<std::uint32_t>((std::uint64_t{n} * std::uint64_t{numbers.magic}) >> 32U);
        const std::uint32_t half = (n - high) >> (numbers.shifts & 255U);
        EXPECT_EQ((high + half) >> (numbers.shifts >> 8U), n / divisor) << n << " / " << divisor;
    };
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    for (int i = 0; i < 20000; ++i) {
        const std::uint32_t divisor = std::max(rng.index(most) >> rng.index(32), 1U);
        const std::uint32_t n = rng.index(most) >> rng.index(32);
        check(n, divisor);
        check(n / divisor * divisor, divisor);
        check(n / divisor * divisor - 1U, divisor);
        check(most, divisor);
        check(divisor, divisor);
    }
}

TEST(FusedSource, EqualGroupsOfOtherShapesAreOneText) {
    const auto text = [](std::int64_t rows, std::int64_t columns) {
        const Graph graph = every_kind_of_operand(rows, columns);
        const Graph fused = fuse_elementwise(graph, {});
        const auto found = std::ranges::find(fused.nodes(), Op::fused, &Node::op);
        return gpu::fused_elements_source(*std::get<FusedAttribute>(found->attributes).body);
    };
    EXPECT_EQ(text(3, 17), text(1, 64));
}

TEST(FusedSource, NamesNoShufflesWhereADeviceHasNone) {
    const Graph fused = fuse_elementwise(row_graph(build_softmax, 2, 64), {.reductions = true});
    const auto found = std::ranges::find(fused.nodes(), Op::fused, &Node::op);
    const Graph& body = *std::get<FusedAttribute>(found->attributes).body;
    // OpCapability GroupNonUniformShuffle
    constexpr std::array<std::uint32_t, 2> capability{2U << 16U | 17U, 65U};
    gpu::ShaderCompiler compiler("", "");
    for (const bool shuffles : {true, false}) {
        const std::string text =
            gpu::fused_rows_source(body, gpu::plan_fused_rows(body), {.shuffles = shuffles});
        const auto& words = compiler.compile("softmax", text);
        EXPECT_EQ(!std::ranges::search(words, capability).empty(), shuffles);
    }
}

TEST(FusedSource, KeepsWhatLaterPassesReadAndNothingElse) {
    const auto plan = [](Build build) {
        const Graph graph = row_graph(build, 2, 64);
        const Graph fused = fuse_elementwise(graph, {.reductions = true});
        const auto found = std::ranges::find(fused.nodes(), Op::fused, &Node::op);
        return gpu::plan_fused_rows(*std::get<FusedAttribute>(found->attributes).body);
    };
    EXPECT_EQ(plan(build_softmax).passes, 3);
    EXPECT_EQ(plan(build_softmax).max_kept, 1);
    EXPECT_EQ(plan(build_rms_norm).passes, 2);
    EXPECT_EQ(plan(build_rms_norm).max_kept, 1);
    EXPECT_EQ(plan(build_layer_norm).passes, 3);
    EXPECT_EQ(plan(build_layer_norm).max_kept, 1);
}

}  // namespace
}  // namespace cambrian

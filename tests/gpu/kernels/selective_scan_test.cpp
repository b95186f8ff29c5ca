#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/gpu/kernels/scan/selective_scan_dispatch.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::gpu::selective_scan_test {
namespace {

constexpr std::array kinds{Discretization::zero_order_hold, Discretization::euler};

struct Extents {
    std::int64_t batch;
    std::int64_t steps;
    std::int64_t channels;
    std::int64_t states;
};

/// Output, state and, if asked, the gradients of all operands; decay and skip are shared.
Graph graph_of(const Extents& e, Discretization kind, bool with_gradient) {
    Graph graph;
    const auto input = [&](std::string_view name, const Shape& shape, bool own) {
        return graph.input(name, ValueType::real, shape, own);
    };
    const Shape wide{e.batch, e.steps, e.channels};
    const Shape narrow{e.batch, e.steps, e.states};
    const SelectiveScanOperands o{.u = input("u", wide, true),
                                  .raw_delta = input("raw_delta", wide, true),
                                  .log_decay = input("log_decay", {e.channels, e.states}, false),
                                  .b = input("b", narrow, true),
                                  .c = input("c", narrow, true),
                                  .skip = input("skip", {e.channels}, false),
                                  .state = input("state", {e.batch, e.channels, e.states}, true)};
    const SelectiveScan result = selective_scan(o, kind);
    graph.output(result.y);
    graph.output(result.state);
    if (!with_gradient) return graph;
    const Var loss = sum_all(square(result.y)) + sum_all(square(result.state));
    for (const Var g :
         gradient(loss, std::array{o.u, o.raw_delta, o.log_decay, o.b, o.c, o.skip, o.state}))
        graph.output(g);
    return graph;
}

std::vector<Tensor> inputs_of(const Graph& graph, std::int64_t population, double largest = 1.0) {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs()) {
        const ValueInfo& info = graph.value(id);
        std::vector<std::int64_t> extents;
        if (info.per_individual) extents.push_back(population);
        extents.insert(extents.end(), info.shape.extents().begin(), info.shape.extents().end());
        inputs.emplace_back(info.type, Shape(std::span<const std::int64_t>(extents)));
        std::vector<double>& elements = inputs.back().elements;
        for (std::size_t i = 0; i < elements.size(); ++i)
            elements[i] = static_cast<double>(static_cast<float>(
                largest * std::sin(0.7 * static_cast<double>(i * inputs.size() + i + 1))));
    }
    return inputs;
}

/// Without fusion: what stands around the kernels would be another fusion group for every shape.
VulkanOptions unfused(Math math) {
    VulkanOptions options = test::test_vulkan_options(math);
    options.fuse = false;
    return options;
}

void expect_bits(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t r = 0; r < expected.size(); ++r)
        for (std::size_t i = 0; i < expected[r].elements.size(); ++i) {
            const double a = actual[r].elements[i];
            const double e = expected[r].elements[i];
            ASSERT_TRUE(a == e || (std::isnan(a) && std::isnan(e)))
                << "result " << r << " element " << i << ": " << a << " is not " << e;
        }
}

/// Within a share of the largest element: a gradient is a sum of terms as large as that.
void expect_close(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t r = 0; r < expected.size(); ++r) {
        double largest = 1.0;
        for (const double e : expected[r].elements) largest = std::max(largest, std::fabs(e));
        for (std::size_t i = 0; i < expected[r].elements.size(); ++i)
            ASSERT_NEAR(actual[r].elements[i], expected[r].elements[i], 1e-5 * largest)
                << "result " << r << " element " << i;
    }
}

// Steps, channels and states at and around the edges of tiles, workgroups and dispatches.
constexpr std::array shapes{Extents{1, 1, 1, 1},    Extents{2, 1, 3, 5},  Extents{1, 17, 65, 16},
                            Extents{3, 37, 3, 1},   Extents{1, 8, 33, 4}, Extents{2, 16, 8, 16},
                            Extents{1, 33, 10, 37}, Extents{2, 5, 2, 32}};

std::string text(const Extents& e, Discretization kind) {
    return Shape{e.batch, e.steps, e.channels, e.states}.text() +
           (kind == Discretization::euler ? " euler" : " hold");
}

// What the kernels of the gradient hand to each other is longer than any value of the graph.
TEST(VulkanSelectiveScan, TemporariesAreNoLongerThanAKernelCounts) {
    const auto backend = make_vulkan_backend(unfused(Math::fast));
    const Extents extents{1, 64, 64, 16};
    const Graph graph = graph_of(extents, Discretization::euler, true);
    std::int64_t widest = 0;
    for (std::uint32_t value = 0; value < graph.value_count(); ++value)
        widest = std::max(widest, graph.value(ValueId{value}).shape.elements());
    const std::int64_t population = (std::int64_t{1} << 30) / widest;
    const auto program = backend->compile(graph);
    EXPECT_THAT([&] { program->run(population, {}, {}); },
                testing::ThrowsMessage<DeviceError>(
                    testing::HasSubstr("evaluate fewer individuals at once")));
}

TEST(VulkanSelectiveScan, TilesAndTheirEdgesEqualTheLowering) {
    const auto backend = make_vulkan_backend(unfused(Math::fast));
    const auto exact = make_reference_backend(Precision::f64);
    for (const Discretization kind : kinds)
        for (const Extents& e : shapes)
            for (const std::int64_t population : {1, 3}) {
                SCOPED_TRACE(text(e, kind));
                const Graph graph = graph_of(e, kind, true);
                const std::vector<Tensor> inputs = inputs_of(graph, population);
                expect_close(evaluate(*backend, graph, population, inputs),
                             evaluate(*exact, graph, population, inputs));
            }
}

TEST(VulkanSelectiveScan, StrictMathGivesTheBitsOfTheCpu) {
    const auto backend = make_vulkan_backend(unfused(Math::strict));
    const auto cpu = make_cpu_backend({.math = Math::strict});
    for (const Discretization kind : kinds)
        for (const Extents& e : shapes)
            for (const double largest : {1.0, 12.0}) {
                SCOPED_TRACE(text(e, kind));
                const Graph graph = graph_of(e, kind, false);
                const std::vector<Tensor> inputs = inputs_of(graph, 3, largest);
                expect_bits(evaluate(*backend, graph, 3, inputs), evaluate(*cpu, graph, 3, inputs));
            }
}

TEST(VulkanSelectiveScan, EveryClassOfFloatsGivesTheBitsOfTheCpu) {
    const Extents e{1, 2, 17, 1};
    const Graph graph = graph_of(e, Discretization::zero_order_hold, false);
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> values{0.0,  -0.0,  1.0,      -1.0,      100.0,       -100.0,
                                     1e30, -1e30, 1e-38,    -1e-45,    0.25,        -0.25,
                                     88.0, -3e38, infinity, -infinity, std::nan("")};
    const auto backend = make_vulkan_backend(unfused(Math::strict));
    const auto cpu = make_cpu_backend({.math = Math::strict});
    for (std::size_t operand = 0; operand < 7; ++operand) {
        SCOPED_TRACE("operand " + std::to_string(operand));
        std::vector<Tensor> inputs = inputs_of(graph, 1);
        std::vector<double>& elements = inputs[operand].elements;
        for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = values[i % values.size()];
        expect_bits(evaluate(*backend, graph, 1, inputs), evaluate(*cpu, graph, 1, inputs));
    }
}

TEST(VulkanSelectiveScan, WhatIsNoNumberStaysNone) {
    const Graph graph = graph_of({1, 3, 2, 2}, Discretization::zero_order_hold, true);
    const auto backend = make_vulkan_backend(unfused(Math::fast));
    const auto has_none = [](const Tensor& tensor) {
        return std::ranges::any_of(tensor.elements, [](double x) { return std::isnan(x); });
    };
    for (std::size_t operand = 0; operand < 7; ++operand) {
        SCOPED_TRACE("operand " + std::to_string(operand));
        std::vector<Tensor> inputs = inputs_of(graph, 1);
        inputs[operand].elements[0] = std::nan("");
        const std::vector<Tensor> results = evaluate(*backend, graph, 1, inputs);
        EXPECT_TRUE(has_none(results[0]));
        EXPECT_TRUE(std::any_of(results.begin() + 2, results.end(), has_none));
    }
}

TEST(VulkanSelectiveScan, AnIndividualDoesNotDependOnThePopulation) {
    const Graph graph = graph_of({2, 21, 9, 17}, Discretization::zero_order_hold, true);
    const auto backend = make_vulkan_backend(unfused(Math::fast));
    const std::vector<Tensor> inputs = inputs_of(graph, 3);
    const std::vector<Tensor> together = evaluate(*backend, graph, 3, inputs);
    for (std::ptrdiff_t individual = 0; individual < 3; ++individual) {
        const auto own = [&](const Tensor& tensor, const ValueInfo& info) {
            if (!info.per_individual) return tensor;
            std::vector<std::int64_t> extents{1};
            const auto of_one = info.shape.extents();
            extents.insert(extents.end(), of_one.begin(), of_one.end());
            const auto words = static_cast<std::ptrdiff_t>(info.shape.elements());
            const auto begin = tensor.elements.begin() + individual * words;
            return Tensor(tensor.type, Shape(std::span<const std::int64_t>(extents)),
                          {begin, begin + words});
        };
        std::vector<Tensor> alone;
        std::vector<Tensor> part;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            alone.push_back(own(inputs[i], graph.value(graph.inputs()[i])));
        for (std::size_t i = 0; i < together.size(); ++i)
            part.push_back(own(together[i], graph.value(graph.outputs()[i])));
        expect_bits(evaluate(*backend, graph, 1, alone), part);
    }
}

TEST(VulkanSelectiveScan, LongWalksGoOnFromWhatTheyStored) {
    for (const Extents& e : {Extents{2, 67, 9, 20}, Extents{1, 35, 3, 2}}) {
        SCOPED_TRACE(text(e, Discretization::zero_order_hold));
        const Graph graph = graph_of(e, Discretization::zero_order_hold, true);
        const std::vector<Tensor> inputs = inputs_of(graph, 2);
        VulkanOptions options = unfused(Math::fast);
        const auto whole = make_vulkan_backend(options);
        const std::vector<Tensor> expected = evaluate(*whole, graph, 2, inputs);
        // A tile at a time back, and two of them forward.
        options.max_turns = 600;
        const auto cut = make_vulkan_backend(options);
        expect_bits(evaluate(*cut, graph, 2, inputs), expected);
    }
}

TEST(VulkanSelectiveScan, ManyStepsStayWithinWhatADeviceDoesAtOnce) {
    const Graph graph = graph_of({1, 5000, 1, 1}, Discretization::zero_order_hold, true);
    const std::vector<Tensor> inputs = inputs_of(graph, 1);
    const auto backend = make_vulkan_backend(unfused(Math::fast));
    const auto exact = make_reference_backend(Precision::f64);
    expect_close(evaluate(*backend, graph, 1, inputs), evaluate(*exact, graph, 1, inputs));
}

TEST(VulkanSelectiveScan, TheStateOfOnePartBeginsTheNext) {
    const Extents e{1, 6, 3, 5};
    Graph graph = graph_of(e, Discretization::zero_order_hold, false);
    Graph parts;
    std::vector<Var> operands;
    for (const ValueId id : graph.inputs()) {
        const ValueInfo& info = graph.value(id);
        operands.push_back(parts.input("operand", info.type, info.shape, info.per_individual));
    }
    Var state = operands[6];
    for (std::int64_t step = 0; step < e.steps; ++step) {
        const auto at = [&](std::size_t i) { return slice(operands[i], 1, step, 1); };
        const SelectiveScan next = selective_scan({.u = at(0),
                                                   .raw_delta = at(1),
                                                   .log_decay = operands[2],
                                                   .b = at(3),
                                                   .c = at(4),
                                                   .skip = operands[5],
                                                   .state = state});
        state = next.state;
    }
    parts.output(state);
    const std::vector<Tensor> inputs = inputs_of(graph, 2);
    for (const Math math : {Math::strict, Math::fast}) {
        const auto backend = make_vulkan_backend(unfused(math));
        const std::vector<Tensor> whole = evaluate(*backend, graph, 2, inputs);
        expect_bits(evaluate(*backend, parts, 2, inputs), {whole[1]});
    }
}

TEST(VulkanSelectiveScan, APopulationIsOneDispatch) {
    VulkanOptions options = unfused(Math::strict);
    options.profile = true;
    const auto backend = make_vulkan_backend(options);
    const Graph graph = graph_of({2, 40, 9, 16}, Discretization::zero_order_hold, false);
    static_cast<void>(evaluate(*backend, graph, 3, inputs_of(graph, 3)));
    const std::vector<KernelTime> profile = backend->take_profile();
    const auto is_scan = [](const KernelTime& kernel) {
        return kernel.kernel.starts_with("selective_scan(");
    };
    const auto scan = std::ranges::find_if(profile, is_scan);
    ASSERT_NE(scan, profile.end());
    EXPECT_EQ(scan->dispatches, 1);
    // Nothing else but the transfers of the test.
    for (const KernelTime& kernel : profile)
        EXPECT_TRUE(is_scan(kernel) || kernel.kernel == "copy" || kernel.kernel == "fill")
            << kernel.kernel;
}

TEST(SelectiveScanTile, FitsEveryDevice) {
    for (const std::int64_t states : {1, 4, 5, 16, 17, 1000}) {
        const SelectiveScanTile& tile = choose_selective_scan_tile(states);
        EXPECT_LE(SelectiveScanTile::threads, 128U);  // The limits that Vulkan guarantees.
        EXPECT_LE(tile.shared_bytes(), 16384);
        EXPECT_EQ(SelectiveScanTile::threads % tile.states, 0U);
        // The gradient takes the steps of a tile in pairs.
        EXPECT_EQ(tile.steps % 2, 0U);
    }
}

}  // namespace
}  // namespace cambrian::gpu::selective_scan_test

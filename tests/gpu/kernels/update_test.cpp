#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/engine/backend/update_support.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian {
namespace {

using test::Bound;
using test::run_updates;
using test::test_vulkan_options;

VulkanOptions strict() {
    VulkanOptions options = test_vulkan_options();
    options.math = Math::strict;
    return options;
}

TEST(VulkanUpdate, InPlaceEqualsApartOnRandomGraphs) {
    const auto backend = make_vulkan_backend(strict());
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        // Of the graphs of random_graphs_test.cpp, whose fusion groups and scans are compiled.
        test::RandomGraph random(7000 + seed);
        test::declare_updates(random.graph);
        const auto inputs = random.inputs(5);
        const auto apart = run_updates(*backend, random.graph, 5, inputs, 3, Bound::apart);
        const auto in_place = run_updates(*backend, random.graph, 5, inputs, 3, Bound::in_place);
        for (std::size_t i = 0; i < apart.size(); ++i)
            EXPECT_EQ(test::first_difference(in_place[i].elements, apart[i].elements), -1)
                << "output " << i;
    }
}

TEST(VulkanUpdate, ARowIsPutInPlace) {
    const auto backend = make_vulkan_backend(test_vulkan_options());
    for (const bool per_individual : {false, true}) {
        const std::int64_t individuals = per_individual ? 3 : 1;
        const Graph graph = test::cached_row(per_individual);
        const auto inputs = test::cached_row_inputs(individuals);
        const auto apart = run_updates(*backend, graph, individuals, inputs, 3, Bound::apart);
        const auto in_place = run_updates(*backend, graph, individuals, inputs, 3, Bound::in_place);
        for (std::size_t i = 0; i < apart.size(); ++i)
            EXPECT_EQ(in_place[i].elements, apart[i].elements) << "output " << i;
    }
}

TEST(VulkanUpdate, SwapsInputsAndReplacesCarries) {
    const auto backend = make_vulkan_backend(strict());
    Graph body;
    const Var a = body.input("a", ValueType::real, {3});
    body.output(a * 2.0);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3}, true);
    const Var y = graph.input("y", ValueType::real, {3}, true);
    const Var z = graph.input("z", ValueType::real, {3}, true);
    graph.update(x, y);
    graph.update(y, x);
    graph.update(z, scan(std::move(body), std::array{z}, {}, {}, {.length = 3}).carries[0]);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {1, 3}, {1, 2, 3}),
                                     Tensor(ValueType::real, {1, 3}, {4, 5, 6}),
                                     Tensor(ValueType::real, {1, 3}, {1, -1, 0.5})};
    const auto results = run_updates(*backend, graph, 1, inputs, 1, Bound::in_place);
    EXPECT_EQ(results[0].elements, (std::vector<double>{4, 5, 6}));
    EXPECT_EQ(results[1].elements, (std::vector<double>{1, 2, 3}));
    EXPECT_EQ(results[2].elements, (std::vector<double>{8, -8, 4}));
}

TEST(VulkanUpdate, BindingOneBufferTwiceNeedsTheDeclaration) {
    const auto backend = make_vulkan_backend(strict());
    Graph plain;
    const Var x = plain.input("x", ValueType::real, {4});
    plain.output(x * 2.0);
    Graph declared;
    const Var y = declared.input("y", ValueType::real, {4});
    declared.update(y, y * 2.0);
    const auto buffer = backend->allocate(ValueType::real, 6);
    const auto run = [&](const Graph& graph, std::int64_t from, std::int64_t to) {
        const std::array in{Binding{buffer.get(), from}};
        const std::array out{Binding{buffer.get(), to}};
        backend->compile(graph)->run(1, in, out);
    };
    EXPECT_THROW(run(plain, 0, 0), ContractViolation);
    EXPECT_THROW(run(declared, 0, 2), ContractViolation);
    EXPECT_NO_THROW(run(declared, 1, 1));
}

TEST(VulkanUpdate, ARunAboveTheLimitFailsBeforeItAllocates) {
    VulkanOptions options = test_vulkan_options();
    options.memory_limit = std::int64_t{1} << 20;
    const auto backend = make_vulkan_backend(options);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {10}, true);
    graph.output(reduce_sum(matmul(reshape(x, {10, 1}), reshape(x, {1, 10})), 1));
    const auto program = backend->compile(graph);
    const auto input = backend->allocate(ValueType::real, 10 * 5000);
    const auto output = backend->allocate(ValueType::real, 10 * 5000);
    const std::int64_t before = backend->memory().used;
    const auto run = [&] {
        program->run(5000, std::vector<Binding>{{input.get()}},
                     std::vector<Binding>{{output.get()}});
    };
    EXPECT_THAT(run, testing::ThrowsMessage<OutOfMemoryError>(testing::AllOf(
                         testing::HasSubstr("limit of 1048576"),
                         testing::HasSubstr(std::to_string(program->peak_bytes(5000))))));
    EXPECT_EQ(backend->memory().used, before);
}

}  // namespace
}  // namespace cambrian

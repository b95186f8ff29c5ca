#include <gtest/gtest.h>

#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/gpu/support/program_support.hpp"

namespace cambrian::test {
namespace {

/// Vulkan against the CPU, strict, for one population.
void expect_cpu_bits(const Graph& graph, std::int64_t population, const std::vector<Tensor>& inputs,
                     bool fuse = true) {
    VulkanOptions options = test_vulkan_options(Math::strict);
    options.fuse = fuse;
    const auto actual = evaluate(*make_vulkan_backend(options), graph, population, inputs);
    const auto expected =
        evaluate(*make_cpu_backend({.math = Math::strict}), graph, population, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1) << "output " << i;
}

Tensor wave(const Shape& shape) {
    Tensor tensor(ValueType::real, shape);
    for (std::size_t i = 0; i < tensor.elements.size(); ++i)
        tensor.elements[i] = static_cast<double>(static_cast<int>(i * 7919 % 2003) - 1001) / 64.0;
    return tensor;
}

// A software device ends the loops of an invocation after 65,535 turns without a word.
TEST(VulkanExtremeShapes, ProductsOverLongAxesAreWhole) {
    for (const std::int64_t k : {65536, 100001, 300000})
        for (const bool transposed : {false, true}) {
            Graph graph;
            const Var left = graph.input("left", ValueType::real, {2, k}, true);
            const Var right =
                graph.input("right", ValueType::real, transposed ? Shape{3, k} : Shape{k, 3});
            graph.output(matmul(left, right, false, transposed));
            expect_cpu_bits(graph, 1, {wave({1, 2, k}), wave(right.shape())});
        }
}

TEST(VulkanExtremeShapes, RowsOfAnyLengthAreWholeUnderFastMath) {
    for (const std::int64_t length : {70000, 300001}) {
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {2, length});
        const Var centred = x - reduce_max(x, 1, true);
        graph.output(reduce_sum(centred * 0.0 + 1.0, 1));
        graph.output(reduce_sum(exp(centred), 1, true) * 0.0 + reduce_max(x, 1, true));
        const auto vulkan = make_vulkan_backend(test_vulkan_options(Math::fast));
        const auto actual = evaluate(*vulkan, graph, 1, std::vector{wave({2, length})});
        EXPECT_EQ(actual[0].elements, std::vector<double>(2, static_cast<double>(length)));
        const auto cpu = evaluate(*make_cpu_backend({}), graph, 1, std::vector{wave({2, length})});
        EXPECT_EQ(actual[1].elements, cpu[1].elements);
    }
}

TEST(VulkanExtremeShapes, NothingComesOfNothing) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 0, 2}, true);
    const Var y = graph.input("y", ValueType::real, {2}, true);
    graph.output(tanh(x) + y);
    graph.output(reduce_sum(x, 1));
    graph.output(permute(x, {2, 0, 1}));
    graph.output(matmul(reshape(x, {6, 0}), reshape(x, {0, 4})) + 1.0);
    graph.output(concat(std::vector<Var>{x, x}, 2));
    graph.output(x);
    graph.output(y * 2.0);
    for (const std::int64_t population : {1, 7})
        for (const bool fuse : {false, true})
            expect_cpu_bits(graph, population,
                            {Tensor(ValueType::real, {population, 3, 0, 2}), wave({population, 2})},
                            fuse);
}

TEST(VulkanExtremeShapes, EveryRankFromScalarsToSixAxes) {
    Shape shape{};
    Graph graph;
    std::vector<Tensor> inputs;
    std::vector<std::int64_t> extents;
    for (int rank = 0; rank <= Shape::max_rank; ++rank) {
        if (rank > 0) extents.push_back(rank % 2 == 0 ? 2 : 3);
        shape = Shape(std::span<const std::int64_t>(extents));
        const Var x = graph.input("x" + std::to_string(rank), ValueType::real, shape);
        inputs.push_back(wave(shape));
        graph.output(tanh(x) * x + 0.5);
        for (int axis = 0; axis < rank; ++axis) {
            graph.output(reduce_sum(x, axis));
            graph.output(reduce_max(x, axis, true) - x);
            graph.output(pad(slice(x, axis, 1, 1), axis, 1, 0));
        }
        if (rank > 1) graph.output(transpose(x) * 2.0);
        if (rank == 6) graph.output(permute(x, {5, 2, 4, 0, 3, 1}) + 1.0);
    }
    for (const bool fuse : {false, true}) expect_cpu_bits(graph, 1, inputs, fuse);
}

TEST(VulkanExtremeShapes, OneBufferMayBeSeveralInputsAndUnusedResultsOfScansGoNowhere) {
    Graph body;
    const Var a = body.input("a", ValueType::real, {3});
    const Var b = body.input("b", ValueType::real, {3});
    const Var row = body.input("row", ValueType::real, {3});
    body.output(b);
    body.output(a + row);
    body.output(a * b);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3}, true);
    const Var y = graph.input("y", ValueType::real, {3}, true);
    const Var rows = graph.input("rows", ValueType::real, {5, 3}, true);
    const ScanResult result =
        scan(std::move(body), std::vector{x, y}, std::vector{rows}, {}, {.length = 5});
    graph.output(result.carries[1]);
    for (const bool fuse : {false, true}) {
        VulkanOptions options = test_vulkan_options(Math::strict);
        options.fuse = fuse;
        std::vector<std::vector<float>> results;
        for (const auto& backend :
             {make_cpu_backend({.math = Math::strict}), make_vulkan_backend(options)}) {
            const auto program = backend->compile(graph);
            const auto shared = backend->allocate(ValueType::real, 2 * 15);
            backend->upload(*shared, 0, std::span<const float>(numbers(30)));
            const auto output = backend->allocate(ValueType::real, 20);
            program->run(2, std::vector<Binding>{{shared.get()}, {shared.get()}, {shared.get()}},
                         std::vector<Binding>{{output.get(), 7}});
            results.emplace_back(20);
            backend->download(*output, 0, std::span<float>(results.back()));
        }
        EXPECT_EQ(results[0], results[1]);
    }
}

}  // namespace
}  // namespace cambrian::test

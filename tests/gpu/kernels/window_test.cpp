#include <gtest/gtest.h>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/tests/gpu/support/word_support.hpp"

// Windows on the device in every bit of the CPU backend, for a population.
namespace cambrian {
namespace {

class VulkanWindow : public test::UnfusedTest {
  protected:
    void expect_bits_of_the_cpu(const Graph& graph, std::int64_t population, const char* what) {
        std::vector<test::Words> inputs;
        for (const ValueId id : graph.inputs())
            inputs.push_back(
                test::uniform_words(test::bound_words(graph, id, population), inputs.size()));
        test::expect_equal_to_cpu(backend(Math::strict), graph, population, inputs, what);
    }
};

TEST_F(VulkanWindow, PadsBelowAllNumbers) {
    for (const bool own : {false, true}) {
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {3, 5, 7}, own);
        graph.output(
            im2col(x, {3, 2}, {.stride = 2, .before = {1, 1}, .after = {2, 0}}, Padding::lowest));
        const Var y = max_pool(x, {3, 3}, {.stride = {1, 2}, .before = 1, .after = 1});
        graph.output(y);
        graph.output(gradient(sum_all(square(y)), std::array{x})[0]);
        expect_bits_of_the_cpu(graph, own ? 5 : 1, "max_pool");
    }
}

TEST_F(VulkanWindow, CompositionsAndTheirGradientsHaveTheBitsOfTheCpu) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 4, 6, 5}, true);
    const Var w = graph.input("w", ValueType::real, {6, 2, 3, 3});
    const Var v = graph.input("v", ValueType::real, {6, 2, 2, 3}, true);
    const Var b = graph.input("b", ValueType::real, {6}, true);
    const ConvOptions options{.stride = {1, 2}, .before = 1, .after = {0, 1}, .groups = 2};
    const Var down = conv(x, w, b, options);
    const Var up = conv_transpose(down, v, {.stride = 2, .groups = 2}, {1, 0});
    const Var pooled = average_pool(up, {2, 2}, {.before = 1}, false);
    const Var repeated = upsample_nearest(pooled, {2, 3});
    graph.output(repeated);
    for (const Var g : gradient(sum_all(square(repeated)), std::array{x, w, v, b})) graph.output(g);
    expect_bits_of_the_cpu(graph, 3, "conv and back");
}

TEST_F(VulkanWindow, ManyTapsAreAddedInSeveralDispatches) {
    // More taps than the software device turns a loop.
    constexpr std::int64_t kernel = 40000;
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {7, 3}, true);
    const Var taps = im2col(x, {kernel, 1}, {.before = {kernel - 1, 0}, .after = {2, 0}});
    graph.output(col2im(taps, {kernel, 1}, {7, 3}, {.before = {kernel - 1, 0}, .after = {2, 0}}));
    expect_bits_of_the_cpu(graph, 2, "many taps");
}

TEST_F(VulkanWindow, CausalFiltersHaveTheBitsOfTheCpu) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 65, 17}, true);
    const Var w = graph.input("w", ValueType::real, {17, 4}, true);
    const Var b = graph.input("b", ValueType::real, {17});
    const Var y = causal_conv1d(x, w, b);
    graph.output(y);
    for (const Var g : gradient(sum_all(square(y)), std::array{x, w, b})) graph.output(g);
    expect_bits_of_the_cpu(graph, 3, "causal_conv1d");
}

}  // namespace
}  // namespace cambrian

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/gpu/support/word_support.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Reductions on the device. Under strict math, and for everything but sums of reals, no bit differs
// from the CPU backend.
namespace cambrian {
namespace {

using test::Words;

class VulkanReduce : public test::UnfusedTest {};

constexpr std::uint32_t not_a_number = 0x7FC00000U;

struct ReduceCase {
    Shape shape;
    int axis;
    std::int64_t population = 0;  ///< 0: shared by all.
    [[nodiscard]] std::string label() const {
        return shape.text() + " axis " + std::to_string(axis) + " population " +
               std::to_string(population);
    }
};

/// Odd extents, few and many results, columns, rows, and axes that need several passes.
std::vector<ReduceCase> reduce_cases() {
    std::vector<ReduceCase> cases;
    for (const std::int64_t length : {1, 2, 3, 5, 17, 65, 257, 1000, 1024})
        for (const std::int64_t population : {0, 1, 7}) {
            cases.push_back({Shape{length}, 0, population});
            cases.push_back({Shape{3, length}, 1, population});
            cases.push_back({Shape{length, 3}, 0, population});
            cases.push_back({Shape{2, length, 5}, 1, population});
        }
    cases.push_back({Shape{65535}, 0, 0});
    cases.push_back({Shape{65537}, 0, 3});
    cases.push_back({Shape{300001}, 0, 0});
    cases.push_back({Shape{70001, 2}, 0, 2});
    cases.push_back({Shape{70000, 3}, 1, 0});
    cases.push_back({Shape{3, 1, 2, 1, 3, 2}, 4, 5});
    cases.push_back({Shape{4}, 0, 70001});
    return cases;
}

Graph reduce_graph(Op op, ValueType type, const ReduceCase& reduce, bool keep) {
    Graph graph;
    const Var x = graph.input("x", type, reduce.shape, reduce.population > 0);
    graph.output(graph.add(op, std::vector{x}, AxisAttribute{reduce.axis, keep}));
    return graph;
}

void expect_cases_equal(Backend& vulkan, Op op, ValueType type,
                        Words (*words)(std::size_t count, std::uint64_t seed)) {
    for (const ReduceCase& reduce : reduce_cases()) {
        const Graph graph = reduce_graph(op, type, reduce, reduce.axis == 0);
        const std::int64_t population = std::max<std::int64_t>(reduce.population, 1);
        const std::size_t count = test::bound_words(graph, graph.inputs()[0], population);
        test::expect_equal_to_cpu(vulkan, graph, population, {words(count, count)},
                                  std::string(name(op)) + " of " + reduce.label());
    }
}

/// Few different values, so that the first of many equal ones must be found; zeros of both signs,
/// subnormal numbers, infinities and NaN among them.
Words crowded_words(std::size_t count, std::uint64_t seed) {
    constexpr std::array values{0x00000000U, 0x80000000U, 0x3F800000U, 0xBF800000U,
                                0x00000001U, 0x80000005U, 0x00800000U, not_a_number,
                                0xFF800000U, 0xC0000000U, 0x40000000U, 0x7F800000U};
    Words words = test::index_words(count, values.size(), seed);
    for (std::uint32_t& word : words) word = values[word];
    return words;
}

TEST_F(VulkanReduce, StrictSumsHaveTheBitsOfTheCpu) {
    expect_cases_equal(backend(Math::strict), Op::reduce_sum, ValueType::real, test::uniform_words);
}

TEST_F(VulkanReduce, IntegerSumsHaveTheBitsOfTheCpu) {
    expect_cases_equal(backend(Math::fast), Op::reduce_sum, ValueType::integer, test::hashed_words);
}

TEST_F(VulkanReduce, LargestElementsHaveTheBitsOfTheCpu) {
    expect_cases_equal(backend(Math::fast), Op::reduce_max, ValueType::real, test::hashed_words);
    expect_cases_equal(backend(Math::strict), Op::reduce_max, ValueType::real, crowded_words);
    expect_cases_equal(backend(Math::fast), Op::reduce_max, ValueType::integer, test::hashed_words);
}

TEST_F(VulkanReduce, LargestElementsInDispatchesOfFewTurnsHaveTheBitsOfTheCpu) {
    VulkanOptions options = test::test_vulkan_options(Math::strict);
    options.max_turns = 64;
    options.fuse = false;
    const auto vulkan = make_vulkan_backend(options);
    for (const bool with_nan : {false, true}) {
        const ReduceCase reduce{Shape{300, 3}, 0};
        Words words = crowded_words(900, 3);
        if (with_nan) words[1] = not_a_number;
        for (const Op op : {Op::reduce_max, Op::argmax})
            test::expect_equal_to_cpu(*vulkan, reduce_graph(op, ValueType::real, reduce, false), 1,
                                      {words}, std::string(name(op)) + " in five dispatches");
    }
}

TEST_F(VulkanReduce, TheFirstLargestElementIsFound) {
    expect_cases_equal(backend(Math::fast), Op::argmax, ValueType::real, crowded_words);
    expect_cases_equal(
        backend(Math::fast), Op::argmax, ValueType::integer,
        [](std::size_t count, std::uint64_t seed) { return test::index_words(count, 9, seed); });
}

TEST_F(VulkanReduce, OnlyALeadingNanIsTheLargest) {
    Backend& vulkan = backend(Math::fast);
    for (const std::int64_t length : {2, 100, 70000})
        for (const std::int64_t at : {std::int64_t{0}, length / 2, length - 1}) {
            Words words = test::uniform_words(static_cast<std::size_t>(length), 5);
            words[static_cast<std::size_t>(at)] = not_a_number;
            Graph graph;
            const Var x = graph.input("x", ValueType::real, Shape{length});
            graph.output(reduce_max(x, 0));
            graph.output(argmax(x, 0));
            test::expect_equal_to_cpu(vulkan, graph, 1, {words}, "NaN at " + std::to_string(at));
        }
}

TEST_F(VulkanReduce, FastSumsAreWithinRoundingOfTheSum) {
    Backend& vulkan = backend(Math::fast);
    for (const ReduceCase& reduce : reduce_cases()) {
        if (reduce.shape.rank() > 1) continue;
        const Graph graph = reduce_graph(Op::reduce_sum, ValueType::real, reduce, false);
        const std::int64_t population = std::max<std::int64_t>(reduce.population, 1);
        const Words words =
            test::uniform_words(test::bound_words(graph, graph.inputs()[0], population), 6);
        const Words sums = test::run_words(vulkan, graph, population, {words})[0];
        const auto length = static_cast<std::size_t>(reduce.shape[0]);
        for (std::size_t i = 0; i < sums.size(); ++i) {
            double exact = 0.0;
            double magnitude = 0.0;
            for (std::size_t k = 0; k < length; ++k) {
                const auto x = static_cast<double>(std::bit_cast<float>(words[i * length + k]));
                exact += x;
                magnitude += std::fabs(x);
            }
            // Depth of the tree and of the lanes' own sums.
            ASSERT_NEAR(static_cast<double>(std::bit_cast<float>(sums[i])), exact,
                        magnitude * 0x1p-24 * 80.0)
                << reduce.label();
        }
    }
}

TEST_F(VulkanReduce, FastSumsDoNotDependOnThePopulation) {
    Backend& vulkan = backend(Math::fast);
    for (const ReduceCase& reduce : reduce_cases()) {
        if (reduce.population < 2 || reduce.population > 100) continue;
        const Graph graph = reduce_graph(Op::reduce_sum, ValueType::real, reduce, false);
        const auto own = static_cast<std::ptrdiff_t>(reduce.shape.elements());
        const Words words =
            test::uniform_words(test::bound_words(graph, graph.inputs()[0], reduce.population), 8);
        const Words all = test::run_words(vulkan, graph, reduce.population, {words})[0];
        const Words last(words.end() - own, words.end());
        const Words alone = test::run_words(vulkan, graph, 1, {last})[0];
        const Words of_last(all.end() - static_cast<std::ptrdiff_t>(alone.size()), all.end());
        test::expect_same_words(of_last, alone, ValueType::real, reduce.label());
    }
}

TEST_F(VulkanReduce, AnEmptyAxisSumsToZero) {
    Backend& vulkan = backend(Math::strict);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, Shape{2, 0, 3}, true);
    graph.output(reduce_sum(x, 1));
    test::expect_equal_to_cpu(vulkan, graph, 2, {{}}, "empty");
}

}  // namespace
}  // namespace cambrian

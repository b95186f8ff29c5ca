#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/gpu/support/word_support.hpp"

// Sort, topk, cumsum, flip and indexing along an axis on the device against the CPU backend, at
// lengths that take more than one dispatch.
namespace cambrian::order_test {
namespace {

using test::Words;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

class VulkanOrder : public test::UnfusedTest {};
class VulkanCumsum : public test::UnfusedTest {};
class VulkanAlong : public test::UnfusedTest {};

struct AxisCase {
    Shape shape;
    int axis;
};

// A workgroup sorts 1024 elements of an axis; topk keeps up to 256 of them, and sorts all for more.
const std::vector<AxisCase> axis_cases{{{1}, 0},          {{2}, 0},         {{1024}, 0},
                                       {{1025}, 0},       {{5000}, 0},      {{70, 17}, 1},
                                       {{2, 2100, 3}, 1}, {{3, 1, 300}, 2}, {{2, 3, 5}, 0}};

TEST_F(VulkanOrder, SortsEveryBitPattern) {
    for (const AxisCase& axis : axis_cases)
        for (const ValueType type : {ValueType::real, ValueType::integer})
            for (const bool descending : {false, true}) {
                Graph graph;
                const Var x = graph.input("x", type, axis.shape, true);
                const Ordered result = sort(x, axis.axis, descending);
                graph.output(result.values);
                graph.output(result.indices);
                test::expect_equal_to_cpu(
                    backend(Math::fast), graph, 3,
                    {test::hashed_words(test::bound_words(graph, x.id, 3), 1)},
                    "sort " + axis.shape.text());
            }
}

TEST_F(VulkanOrder, KeepsEqualElementsInPlace) {
    for (const AxisCase& axis : axis_cases)
        for (const bool descending : {false, true}) {
            Graph graph;
            const Var x = graph.input("x", ValueType::integer, axis.shape);
            graph.output(argsort(x, axis.axis, descending));
            test::expect_equal_to_cpu(backend(Math::strict), graph, 1,
                                      {test::index_words(test::bound_words(graph, x.id, 1), 3, 1)},
                                      "argsort " + axis.shape.text());
        }
}

TEST_F(VulkanOrder, TakesFewAndManyOfLongAxes) {
    for (const AxisCase& axis : axis_cases)
        for (const std::int64_t wanted : {1, 5, 256, 257}) {
            const std::int64_t count = std::min(wanted, axis.shape[axis.axis]);
            Graph graph;
            const Var x = graph.input("x", ValueType::real, axis.shape, true);
            const Ordered result = topk(x, count, axis.axis);
            graph.output(result.values);
            graph.output(result.indices);
            test::expect_equal_to_cpu(backend(Math::fast), graph, 3,
                                      {test::hashed_words(test::bound_words(graph, x.id, 3), 1)},
                                      std::to_string(count) + " of " + axis.shape.text());
        }
}

// Lengths above what one workgroup sums, and above what one invocation may walk in a dispatch.
const std::vector<AxisCase> sum_cases{{{1}, 0},        {{3, 5}, 1},      {{1024}, 0},
                                      {{1025}, 0},     {{2, 70001}, 1},  {{2, 600, 3}, 1},
                                      {{70001, 2}, 0}, {{66, 2, 40}, 2}, {{1100000}, 0}};

template <class Expect>
void for_each_cumsum(ValueType type, Expect expect) {
    for (const AxisCase& axis : sum_cases)
        for (const bool exclusive : {false, true})
            for (const bool reverse : {false, true}) {
                Graph graph;
                const bool own = axis.shape.elements() < 5000;
                const Var x = graph.input("x", type, axis.shape, own);
                graph.output(cumsum(x, axis.axis, exclusive, reverse));
                expect(graph, own ? 3 : 1,
                       "cumsum " + axis.shape.text() + (exclusive ? " exclusive" : "") +
                           (reverse ? " reverse" : ""));
            }
}

TEST_F(VulkanCumsum, StrictSumsAreThoseOfTheCpu) {
    for_each_cumsum(
        ValueType::real, [&](const Graph& graph, std::int64_t population, const std::string& what) {
            const std::size_t words = test::bound_words(graph, graph.inputs()[0], population);
            test::expect_equal_to_cpu(backend(Math::strict), graph, population,
                                      {test::uniform_words(words, 1)}, what);
        });
}

TEST_F(VulkanCumsum, SumsOfIntegersAreExactInAnyMath) {
    for_each_cumsum(ValueType::integer, [&](const Graph& graph, std::int64_t population,
                                            const std::string& what) {
        const std::size_t words = test::bound_words(graph, graph.inputs()[0], population);
        for (const Math math : {Math::strict, Math::fast})
            test::expect_equal_to_cpu(backend(math), graph, population,
                                      {test::hashed_words(words, 1)}, what);
    });
}

// A tree of additions is at least as near to the sum as one addition after the other is bound to
// be.
TEST_F(VulkanCumsum, FastSumsAreWithinRounding) {
    const auto cpu = make_cpu_backend({.math = Math::strict});
    for_each_cumsum(ValueType::real, [&](const Graph& graph, std::int64_t population,
                                         const std::string& what) {
        const std::size_t words = test::bound_words(graph, graph.inputs()[0], population);
        Words inputs = test::uniform_words(words, 1);
        for (std::uint32_t& word : inputs) word &= 0x7FFFFFFFU;
        const Words actual = test::run_words(backend(Math::fast), graph, population, {inputs})[0];
        const Words expected = test::run_words(*cpu, graph, population, {inputs})[0];
        double worst = 0.0;
        for (std::size_t i = 0; i < actual.size(); ++i) {
            const auto a = static_cast<double>(std::bit_cast<float>(actual[i]));
            const auto b = static_cast<double>(std::bit_cast<float>(expected[i]));
            worst = std::max(worst, std::fabs(a - b) / std::max(1.0, b));
        }
        EXPECT_LE(worst, 3e-4) << what;
    });
}

struct AlongCase {
    Shape values;
    int axis;
    std::int64_t extent;
};

// The last ones add more values to one index than an invocation may walk in a dispatch.
const std::vector<AlongCase> along_cases{
    {{1}, 0, 1},          {{65}, 0, 17},   {{3, 17}, 0, 5},   {{2, 300, 3}, 1, 40},
    {{4, 1, 20}, 2, 200}, {{70001}, 0, 1}, {{40000, 2}, 0, 3}};

/// All ways to share two operands.
template <class Expect>
void for_each_sharing(Expect expect) {
    for (const bool first_own : {false, true})
        for (const bool second_own : {false, true})
            expect(first_own, second_own, first_own || second_own ? 3 : 1);
}

TEST_F(VulkanAlong, AddsInOrderOfPosition) {
    for (const Math math : {Math::strict, Math::fast})
        for (const AlongCase& along : along_cases)
            for_each_sharing([&](bool own_values, bool own_indices, std::int64_t population) {
                Graph graph;
                const Var values = graph.input("values", ValueType::real, along.values, own_values);
                const Var indices =
                    graph.input("indices", ValueType::integer, along.values, own_indices);
                graph.output(scatter_add_along_axis(values, indices, along.extent, along.axis));
                test::expect_equal_to_cpu(
                    backend(math), graph, population,
                    {test::uniform_words(test::bound_words(graph, values.id, population), 1),
                     test::index_words(test::bound_words(graph, indices.id, population),
                                       static_cast<std::uint32_t>(along.extent), 2)},
                    "scatter_add_along_axis " + along.values.text());
            });
}

TEST_F(VulkanAlong, GathersAndTurns) {
    for (const AlongCase& along : along_cases)
        for_each_sharing([&](bool own_values, bool own_indices, std::int64_t population) {
            Graph graph;
            const Var x = graph.input("x", ValueType::real, along.values, own_values);
            const Var indices =
                graph.input("indices", ValueType::integer, along.values, own_indices);
            graph.output(take_along_axis(x, indices, along.axis));
            graph.output(flip(x, along.axis));
            test::expect_equal_to_cpu(
                backend(Math::fast), graph, population,
                {test::hashed_words(test::bound_words(graph, x.id, population), 1),
                 test::index_words(test::bound_words(graph, indices.id, population),
                                   static_cast<std::uint32_t>(along.values[along.axis]), 2)},
                "take_along_axis " + along.values.text());
        });
}

TEST_F(VulkanAlong, AnIndexOutOfRangeIsTheInputErrorOfTheCpu) {
    const auto cpu = make_cpu_backend({});
    for (const std::uint32_t bad : {4U, 0xFFFFFFFFU, 0x80000000U, 0x7FFFFFFFU})
        for (Var (*build)(Var, Var) :
             {+[](Var x, Var i) { return take_along_axis(x, i, 0); },
              +[](Var x, Var i) { return scatter_add_along_axis(x, i, 4, 0); },
              +[](Var x, Var i) { return scatter_add(x, i, 4); },
              +[](Var x, Var i) { return one_hot(i, 4) + x; },
              +[](Var x, Var i) { return gather(x, i); }}) {
            Graph graph;
            const Var x = graph.input("x", ValueType::real, {4});
            const Var indices = graph.input("indices", ValueType::integer, {4});
            graph.output(build(x, indices));
            const std::vector<Words> inputs{test::uniform_words(4, 1), {0, bad, 2, 1}};
            std::string expected;
            try {
                (void)test::run_words(*cpu, graph, 1, inputs);
            } catch (const InputError& error) {
                expected = error.what();
            }
            EXPECT_THAT(expected, testing::HasSubstr("is out of range"));
            EXPECT_THAT([&] { (void)test::run_words(backend(Math::fast), graph, 1, inputs); },
                        ThrowsMessage<InputError>(StrEq(expected)));
            test::expect_equal_to_cpu(backend(Math::fast), graph, 1,
                                      {test::uniform_words(4, 1), {0, 3, 2, 1}}, "after the error");
        }
}

}  // namespace
}  // namespace cambrian::order_test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/gpu/support/word_support.hpp"

// Gather, scatter_add, iota and random on the device against the CPU backend.
namespace cambrian {
namespace {

using test::Words;

class VulkanIndex : public test::UnfusedTest {};
class VulkanRandom : public test::UnfusedTest {};
using ::testing::HasSubstr;

struct IndexCase {
    Shape row;
    std::uint32_t rows;
    Shape indices;
};

const std::vector<IndexCase> index_cases{{Shape{}, 1, Shape{1}},       {Shape{}, 17, Shape{65}},
                                         {Shape{3}, 5, Shape{2, 3}},   {Shape{8}, 3, Shape{17}},
                                         {Shape{16}, 257, Shape{300}}, {Shape{2, 3}, 4, Shape{}},
                                         {Shape{2}, 3, Shape{70001}}};

Shape joined(std::initializer_list<std::int64_t> first, const Shape& rest) {
    std::vector<std::int64_t> extents(first);
    extents.insert(extents.end(), rest.extents().begin(), rest.extents().end());
    return Shape(std::span<const std::int64_t>(extents));
}

Shape joined(const Shape& first, const Shape& rest) {
    std::vector<std::int64_t> extents(first.extents().begin(), first.extents().end());
    extents.insert(extents.end(), rest.extents().begin(), rest.extents().end());
    return Shape(std::span<const std::int64_t>(extents));
}

/// All ways to share two operands.
template <class Expect>
void for_each_sharing(Expect expect) {
    for (const bool first_own : {false, true})
        for (const bool second_own : {false, true})
            expect(first_own, second_own, first_own || second_own ? 5 : 1);
}

TEST_F(VulkanIndex, GathersRows) {
    Backend& vulkan = backend(Math::fast);
    for (const IndexCase& index : index_cases)
        for_each_sharing([&](bool own_table, bool own_indices, std::int64_t population) {
            Graph graph;
            const Var table =
                graph.input("table", ValueType::real, joined({index.rows}, index.row), own_table);
            const Var indices =
                graph.input("indices", ValueType::integer, index.indices, own_indices);
            graph.output(gather(table, indices));
            test::expect_equal_to_cpu(
                vulkan, graph, population,
                {test::hashed_words(test::bound_words(graph, table.id, population), 1),
                 test::index_words(test::bound_words(graph, indices.id, population), index.rows,
                                   2)},
                "gather " + table.shape().text() + " at " + index.indices.text());
        });
}

TEST_F(VulkanIndex, AddsRowsInTheOrderOfTheirIndices) {
    for (const Math math : {Math::strict, Math::fast}) {
        Backend& vulkan = backend(math);
        for (const IndexCase& index : index_cases)
            for (const ValueType type : {ValueType::real, ValueType::integer})
                for_each_sharing([&](bool own_rows, bool own_indices, std::int64_t population) {
                    Graph graph;
                    const Var rows =
                        graph.input("rows", type, joined(index.indices, index.row), own_rows);
                    const Var indices =
                        graph.input("indices", ValueType::integer, index.indices, own_indices);
                    graph.output(scatter_add(rows, indices, index.rows));
                    test::expect_equal_to_cpu(
                        vulkan, graph, population,
                        {test::uniform_words(test::bound_words(graph, rows.id, population), 1),
                         test::index_words(test::bound_words(graph, indices.id, population),
                                           index.rows, 2)},
                        "scatter_add " + rows.shape().text());
                });
    }
}

TEST_F(VulkanIndex, AnIndexOutOfRangeIsAnInputErrorAndDoesNoHarm) {
    Backend& vulkan = backend(Math::fast);
    for (const std::uint32_t bad : {5U, 0xFFFFFFFFU, 0x80000000U}) {
        Graph graph;
        const Var table = graph.input("table", ValueType::real, Shape{5, 3});
        const Var indices = graph.input("indices", ValueType::integer, Shape{4});
        graph.output(gather(table, indices));
        graph.output(scatter_add(gather(table, iota(graph, 4)), indices, 5));
        const Words words = test::uniform_words(15, 1);
        try {
            (void)test::run_words(vulkan, graph, 1, {words, {0, bad, 2, 1}});
            FAIL() << "index " << static_cast<std::int32_t>(bad) << " was taken";
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(),
                        HasSubstr("index " + std::to_string(static_cast<std::int32_t>(bad)) +
                                  " is out of range"));
        }
        test::expect_equal_to_cpu(vulkan, graph, 1, {words, {0, 4, 2, 1}}, "after the error");
    }
}

TEST_F(VulkanIndex, IndicesOfRowsWithoutElementsAreNotLookedAt) {
    Graph graph;
    const Var table = graph.input("table", ValueType::real, Shape{5, 0});
    const Var rows = graph.input("rows", ValueType::real, Shape{2, 0});
    const Var indices = graph.input("indices", ValueType::integer, Shape{2}, true);
    graph.output(gather(table, indices));
    graph.output(reduce_sum(gather(table, indices), 1));
    graph.output(scatter_add(rows, indices, 3));
    graph.output(reduce_sum(scatter_add(rows, indices, 3), 1));
    test::expect_equal_to_cpu(backend(Math::fast), graph, 2, {{}, {}, {99, 0xFFFFFFFFU, 5, 0}},
                              "rows without elements");
}

TEST_F(VulkanIndex, CountsFromZero) {
    Backend& vulkan = backend(Math::fast);
    for (const std::int64_t length : {1, 65, 70001}) {
        Graph graph;
        graph.output(iota(graph, length));
        test::expect_equal_to_cpu(vulkan, graph, 1, {}, "iota");
    }
}

TEST_F(VulkanRandom, DrawsAreThoseOfTheStream) {
    Backend& vulkan = backend(Math::fast);
    for (const std::int64_t draws : {1, 2, 3, 4, 5, 64, 65, 257})
        for_each_sharing([&](bool own_key, bool own_ids, std::int64_t population) {
            Graph graph;
            const Var key = graph.input("key", ValueType::integer, Shape{2}, own_key);
            const Var ids = graph.input("ids", ValueType::integer, Shape{3, 2}, own_ids);
            graph.output(random(key, ids, draws));
            test::expect_equal_to_cpu(
                vulkan, graph, population,
                {test::hashed_words(test::bound_words(graph, key.id, population), 1),
                 test::hashed_words(test::bound_words(graph, ids.id, population), 2)},
                std::to_string(draws) + " draws");
        });
}

}  // namespace
}  // namespace cambrian

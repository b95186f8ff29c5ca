#include <gtest/gtest.h>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/gpu/support/word_support.hpp"

// Movement on the device: words arrive where the CPU backend puts them, with all their bits.
namespace cambrian {
namespace {

using test::Words;

class VulkanMovement : public test::UnfusedTest {};

/// A graph with one input of a shape, own or shared, and what `body` makes of it.
template <class Body>
void expect_moved(Backend& backend, const Shape& shape, Body body, const std::string& what) {
    for (const std::int64_t population : {0, 1, 5}) {
        Graph graph;
        const Var x = graph.input("x", ValueType::real, shape, population > 0);
        graph.output(body(x));
        const std::int64_t individuals = std::max<std::int64_t>(population, 1);
        const Words words = test::hashed_words(test::bound_words(graph, x.id, individuals), 1);
        test::expect_equal_to_cpu(backend, graph, individuals, {words},
                                  what + " of " + shape.text());
    }
}

const std::vector<Shape> shapes{{1},          {3, 17},         {65, 4},           {5, 3, 8},
                                {2, 3, 4, 5}, {2, 1, 3, 4, 2}, {2, 3, 1, 2, 4, 3}};

TEST_F(VulkanMovement, PermutesEveryRank) {
    Backend& vulkan = backend(Math::fast);
    for (const Shape& shape : shapes) {
        PermuteAttribute reversed;
        PermuteAttribute rotated;
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const auto at = static_cast<std::size_t>(axis);
            reversed.order[at] = static_cast<std::int8_t>(shape.rank() - 1 - axis);
            rotated.order[at] = static_cast<std::int8_t>((axis + 1) % shape.rank());
        }
        for (const PermuteAttribute& order : {reversed, rotated})
            expect_moved(
                vulkan, shape,
                [&](Var x) { return x.graph->add(Op::permute, std::vector{x}, order); }, "permute");
    }
}

TEST_F(VulkanMovement, TransposesLargeMatrices) {
    Backend& vulkan = backend(Math::fast);
    for (const Shape& shape :
         {Shape{257, 1023}, Shape{1024, 64}, Shape{3, 33, 65}, Shape{5, 8, 31}, Shape{7, 400}})
        expect_moved(
            vulkan, shape, [](Var x) { return transpose(x); }, "transpose");
}

TEST_F(VulkanMovement, BroadcastsAlongEveryAxis) {
    Backend& vulkan = backend(Math::fast);
    const Shape target{3, 5, 8};
    for (const Shape& shape : {Shape{}, Shape{8}, Shape{5, 1}, Shape{3, 1, 8}, Shape{1, 5, 8},
                               Shape{3, 5, 1}, Shape{3, 5, 8}})
        expect_moved(
            vulkan, shape, [&](Var x) { return broadcast(x, target); }, "broadcast");
}

TEST_F(VulkanMovement, SlicesAndPadsEveryAxis) {
    Backend& vulkan = backend(Math::fast);
    for (const Shape& shape : shapes)
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::int64_t extent = shape[axis];
            expect_moved(
                vulkan, shape,
                [&](Var x) { return slice(x, axis, extent / 3, extent - extent / 3); }, "slice");
            for (const std::int64_t before : {0, 3})
                for (const std::int64_t after : {0, 4})
                    expect_moved(
                        vulkan, shape, [&](Var x) { return pad(x, axis, before, after); }, "pad");
        }
}

TEST_F(VulkanMovement, ReshapesKeepTheOrderOfWords) {
    Backend& vulkan = backend(Math::fast);
    expect_moved(
        vulkan, Shape{6, 35},
        [](Var x) {
            return reshape(x, {5, -1, 2}) * 1.0;
        },
        "reshape");
    expect_moved(
        vulkan, Shape{6, 35}, [](Var x) { return reshape(x, {210}); }, "reshape");
}

TEST_F(VulkanMovement, JoinsOwnAndSharedParts) {
    Backend& vulkan = backend(Math::fast);
    for (const int axis : {0, 1, 2})
        for (const std::size_t own : {0U, 1U, 2U, 5U, 7U}) {
            Graph graph;
            std::vector<Var> parts;
            for (const std::int64_t extent : {1, 4, 3}) {
                std::vector<std::int64_t> extents{2, 4, 8};
                extents[static_cast<std::size_t>(axis)] = extent;
                const bool is_own = (own >> parts.size() & 1U) != 0;
                parts.push_back(graph.input("part" + std::to_string(parts.size()),
                                            ValueType::integer,
                                            Shape(std::span<const std::int64_t>(extents)), is_own));
            }
            graph.output(concat(parts, axis));
            const std::int64_t population = own == 0 ? 1 : 3;
            std::vector<Words> inputs;
            for (const Var& part : parts)
                inputs.push_back(test::hashed_words(test::bound_words(graph, part.id, population),
                                                    inputs.size()));
            test::expect_equal_to_cpu(vulkan, graph, population, inputs,
                                      "concat along " + std::to_string(axis));
        }
}

TEST_F(VulkanMovement, EmptyValuesAreNoWork) {
    Backend& vulkan = backend(Math::fast);
    expect_moved(
        vulkan, Shape{0, 3}, [](Var x) { return pad(x, 0, 1, 1); }, "pad");
    expect_moved(
        vulkan, Shape{3, 0}, [](Var x) { return transpose(x); }, "transpose");
}

}  // namespace
}  // namespace cambrian

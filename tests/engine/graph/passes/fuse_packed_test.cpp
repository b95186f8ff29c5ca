#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian::fuse_packed_test {
namespace {

constexpr PackedAttribute packed{.dtype = Dtype::uint4, .length = 40};

/// The numbers of a matrix of so many rows.
Var matrix(Graph& graph, std::int64_t rows) {
    const std::array parts{
        graph.input("words", ValueType::integer, {rows, packed_words(packed)}),
        graph.input("scales", ValueType::real, {rows, scales_of_row(packed)}),
        graph.input("zero points", ValueType::integer, {rows, zero_point_words(packed)})};
    return unpack(parts, packed);
}

std::int64_t count(const Graph& graph, Op op) {
    return std::ranges::count(graph.nodes(), op, &Node::op);
}

TEST(FusePacked, LeavesNoValueOfTheNumbersOfAMatrixThatRowsAreMultipliedWith) {
    Graph graph;
    const Var weights = matrix(graph, 3);
    const Var x = graph.input("x", ValueType::real, {5, 40});
    graph.output(matmul(x, weights, false, true) + matmul(x * 2.0, weights, false, true));
    const Graph fused = fuse_packed(graph);
    EXPECT_EQ(count(fused, Op::packed_matmul), 2);
    EXPECT_EQ(count(fused, Op::unpack), 0);
    EXPECT_EQ(count(fused, Op::matmul), 0);
}

TEST(FusePacked, ProductsThatLackOperandsAreRefused) {
    MatmulEpilogueAttribute epilogue{{false, true}, false, false};
    epilogue.packed = packed;
    Graph graph;
    const std::array x{graph.input("x", ValueType::real, {5, 40})};
    for (const std::size_t count : {0U, 1U}) {
        const auto operands = std::span(x).first(count);
        EXPECT_THROW(static_cast<void>(graph.add(Op::packed_matmul, operands, packed)), ShapeError);
        EXPECT_THROW(static_cast<void>(graph.add(Op::matmul_epilogue, operands, epilogue)),
                     ShapeError);
    }
}

TEST(FusePacked, GathersRowsOfATableAsCodes) {
    Graph graph;
    const Var rows = gather(matrix(graph, 100), graph.input("ids", ValueType::integer, {2, 3}));
    EXPECT_EQ(rows.shape(), (Shape{2, 3, 40}));
    graph.output(rows);
    const Graph fused = fuse_packed(graph);
    ASSERT_EQ(count(fused, Op::unpack), 1);
    const auto found = std::ranges::find(fused.nodes(), Op::unpack, &Node::op);
    EXPECT_EQ(fused.value(ValueId{found->first_result}).shape, (Shape{2, 3, 40}));
}

TEST(FusePacked, DecodesWhatIsReadInAnotherWay) {
    Graph graph;
    const Var weights = matrix(graph, 3);
    graph.output(matmul(graph.input("x", ValueType::real, {5, 3}), weights));
    graph.output(matmul(weights, graph.input("y", ValueType::real, {7, 40}), false, true));
    const Graph fused = fuse_packed(graph);
    EXPECT_EQ(count(fused, Op::packed_matmul), 0);
    EXPECT_EQ(count(fused, Op::unpack), 1);
}

TEST(FusePacked, ReachesTheBodiesOfScans) {
    Graph body;
    const Var state = body.input("state", ValueType::real, {1, 40});
    const Var weights = matrix(body, 40);
    body.output(matmul(state, weights, false, true));
    Graph graph;
    const Var carry = graph.input("carry", ValueType::real, {1, 40});
    const std::array invariants{
        graph.input("words", ValueType::integer, {40, packed_words(packed)}),
        graph.input("scales", ValueType::real, {40, scales_of_row(packed)}),
        graph.input("zero points", ValueType::integer, {40, zero_point_words(packed)})};
    graph.output(
        scan(std::move(body), std::array{carry}, {}, invariants, {.length = 3}).carries[0]);
    const Graph optimized = optimize(graph, {.has_kernel = [](Op) { return true; }});
    EXPECT_EQ(count(optimized, Op::unpack), 0);
    const auto found = std::ranges::find(optimized.nodes(), Op::scan, &Node::op);
    ASSERT_NE(found, optimized.nodes().end());
    const Graph& inner = *std::get<ScanAttribute>(found->attributes).body;
    EXPECT_EQ(count(inner, Op::packed_matmul), 1);
    EXPECT_EQ(count(inner, Op::unpack), 0);
}

TEST(FusePacked, ConvolutionsReadCodes) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 10, 9});
    const Var bias = graph.input("bias", ValueType::real, {6});
    graph.output(conv(x, reshape(matrix(graph, 6), {6, 10, 4}), bias, {}));
    const Graph fused = fuse_packed(graph);
    EXPECT_EQ(count(fused, Op::unpack), 0);
    const auto found = std::ranges::find(fused.nodes(), Op::conv, &Node::op);
    ASSERT_NE(found, fused.nodes().end());
    EXPECT_EQ(std::get<ConvAttribute>(found->attributes).packed, packed);
    EXPECT_EQ(fused.operands(*found).size(), 5U);
    verify(fused);
    // Without a kernel of its own it is a product of codes.
    const Graph lowered = optimize(graph, {.has_kernel = [](Op op) { return op != Op::conv; }});
    EXPECT_EQ(count(lowered, Op::matmul_epilogue), 1);
    EXPECT_EQ(count(lowered, Op::unpack), 0);
}

TEST(FusePacked, ConvolutionsOfStepsReadCodes) {
    Graph body;
    const Var state = body.input("state", ValueType::real, {1, 10, 4});
    const Var weights = body.input("weights", ValueType::real, {10, 10, 4});
    body.output(conv(state, weights, {.before = {1}, .after = {2}}));
    Graph graph;
    const Var carry = graph.input("carry", ValueType::real, {1, 10, 4});
    const std::array invariants{reshape(matrix(graph, 10), {10, 10, 4})};
    graph.output(
        scan(std::move(body), std::array{carry}, {}, invariants, {.length = 3}).carries[0]);
    const Graph fused = fuse_packed(graph);
    EXPECT_EQ(count(fused, Op::unpack), 0);
    const auto found = std::ranges::find(fused.nodes(), Op::scan, &Node::op);
    const Graph& inner = *std::get<ScanAttribute>(found->attributes).body;
    EXPECT_EQ(count(inner, Op::unpack), 0);
    EXPECT_EQ(count(inner, Op::conv), 1);
}

/// The most numbers that a node decodes.
std::int64_t max_decoded(const Graph& graph) {
    std::int64_t most = 0;
    for (const Node& node : graph.nodes())
        if (node.op == Op::unpack)
            most = std::max(most, graph.value(ValueId{node.first_result}).shape.elements());
    return most;
}

TEST(FusePacked, TransposedConvolutionsDecodeAPartAtATime) {
    constexpr PackedAttribute many{.dtype = Dtype::int8, .length = 1024 * 3};
    for (const std::int64_t groups : {1, 4, 40}) {
        Graph graph;
        const std::array parts{graph.input("words", ValueType::integer, {80, packed_words(many)}),
                               graph.input("scales", ValueType::real, {80, 1})};
        const Var weights = reshape(unpack(parts, many), {80, 1024, 3});
        const Var x = graph.input("x", ValueType::real, {2, 80, 5});
        for (const std::int64_t stride : {1, 2}) {
            const Var y = conv_transpose(x, weights, {.stride = {stride}, .groups = groups});
            EXPECT_EQ(y.shape(), (Shape{2, groups * 1024, (5 - 1) * stride + 3}));
            graph.output(y);
        }
        const Graph fused = fuse_packed(graph);
        EXPECT_LE(max_decoded(fused), 80 * 1024 * 3 / (groups == 4 ? 4 : 13)) << groups;
        verify(fused);
    }
}

TEST(FusePacked, TransposedConvolutionsOfStepsDecodeAPartAtATime) {
    constexpr PackedAttribute many{.dtype = Dtype::int8, .length = 80 * 3};
    Graph body;
    const Var state = body.input("state", ValueType::real, {1, 80, 7});
    const std::array parts{body.input("words", ValueType::integer, {80, packed_words(many)}),
                           body.input("scales", ValueType::real, {80, 1})};
    const Var weights = reshape(unpack(parts, many), {80, 80, 3});
    body.output(conv_transpose(state, weights, {.before = {1}, .after = {1}}));
    Graph graph;
    const Var carry = graph.input("carry", ValueType::real, {1, 80, 7});
    const std::array codes{graph.input("words", ValueType::integer, {80, packed_words(many)}),
                           graph.input("scales", ValueType::real, {80, 1})};
    graph.output(scan(std::move(body), std::array{carry}, {}, codes, {.length = 3}).carries[0]);
    const Graph optimized =
        optimize(graph, {.has_kernel = [](Op) { return true; }, .evaluate = {}});
    EXPECT_EQ(count(optimized, Op::unpack), 0) << "all numbers before the first step";
    const auto found = std::ranges::find(optimized.nodes(), Op::scan, &Node::op);
    const Graph& inner = *std::get<ScanAttribute>(found->attributes).body;
    EXPECT_EQ(count(inner, Op::unpack), 3);
    EXPECT_LE(max_decoded(inner), 80 * 32 * 3);
}

/// A state that is multiplied with a matrix in every step, and what else a step does with that.
Graph walk(const std::function<Var(Var state, Var weights)>& step) {
    Graph body;
    const Var state = body.input("state", ValueType::real, {1, 40});
    body.output(step(state, body.input("weights", ValueType::real, {40, 40})));
    Graph graph;
    const Var carry = graph.input("carry", ValueType::real, {1, 40});
    const std::array invariants{matrix(graph, 40)};
    graph.output(
        scan(std::move(body), std::array{carry}, {}, invariants, {.length = 3}).carries[0]);
    return graph;
}

TEST(FusePacked, MatricesThatStepsReadRowByRowEnterAScanAsCodes) {
    const Graph graph =
        walk([](Var state, Var weights) { return tanh(matmul(state, weights, false, true)); });
    const Graph fused = fuse_packed(graph);
    EXPECT_EQ(count(fused, Op::unpack), 0);
    const auto found = std::ranges::find(fused.nodes(), Op::scan, &Node::op);
    ASSERT_NE(found, fused.nodes().end());
    EXPECT_EQ(fused.operands(*found).size(), 4U);
    const Graph& inner = *std::get<ScanAttribute>(found->attributes).body;
    EXPECT_EQ(count(inner, Op::packed_matmul), 1);
    EXPECT_EQ(count(inner, Op::unpack), 0);
    EXPECT_EQ(inner.inputs().size(), 4U);
}

TEST(FusePacked, MatricesThatStepsReadInAnotherWayAreDecodedOnce) {
    for (const Graph& graph : {walk([](Var state, Var weights) { return matmul(state, weights); }),
                               walk([](Var state, Var weights) {
                                   return matmul(state, weights, false, true) +
                                          reduce_sum(weights, 0);
                               })}) {
        const Graph fused = fuse_packed(graph);
        EXPECT_EQ(count(fused, Op::unpack), 1);
        const auto found = std::ranges::find(fused.nodes(), Op::scan, &Node::op);
        const Graph& inner = *std::get<ScanAttribute>(found->attributes).body;
        EXPECT_EQ(count(inner, Op::packed_matmul), 0);
    }
}

}  // namespace
}  // namespace cambrian::fuse_packed_test

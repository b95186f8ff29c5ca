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

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/tests/engine/graph/value_support.hpp"

namespace cambrian::rope_test {
namespace {

using test::expect_near;
using test::run;

TEST(Rope, TurnsPairsByTheirPosition) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 5});
    const RotaryTables tables = rotary_tables(graph, 2, 4, 100.0);
    graph.output(rope(x, tables));
    const auto results =
        run(graph, {Tensor(ValueType::real, {2, 5}, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5})});
    const double c = std::cos(1.0);
    const double s = std::sin(1.0);
    const double c_2 = std::cos(0.1);
    const double s_2 = std::sin(0.1);
    expect_near(results[0],
                {1, 2, 3, 4, 5, c - 3 * s, 2 * c_2 - 4 * s_2, 3 * c + s, 4 * c_2 + 2 * s_2, 5});
}

TEST(Rope, SlowWavesOfALongerSequenceAreScaled) {
    Graph graph;
    const RotaryTables tables = rotary_tables(
        graph, 2, 128, 500000.0, {.factor = 32.0, .original = 8192.0, .low = 1.0, .high = 4.0});
    graph.output(tables.sine);
    const std::vector<double> sines = run(graph, {})[0].elements;
    // Worked out by the wave length of each pair.
    const std::vector<std::pair<std::size_t, double>> angles{{0, 1.0},
                                                             {28, 0.003211445994752591},
                                                             {29, 0.002118406996779608},
                                                             {31, 0.0007625412033563571},
                                                             {34, 9.70828780262767e-05},
                                                             {35, 2.3890530884911708e-05},
                                                             {63, 7.672314972286278e-08}};
    for (const auto& [pair, angle] : angles)
        EXPECT_NEAR(sines[64 + pair], std::sin(angle), 1e-12 * angle) << pair;
}

/// Sines at the first position after 0 of pairs of 128 elements as Qwen 2.5 scales them.
std::vector<double> yarn_sines(bool truncate) {
    Graph graph;
    const RotaryTables tables = rotary_tables(graph, 2, 128, 1e6,
                                              {.factor = 4.0,
                                               .original = 32768.0,
                                               .low = 1.0,
                                               .high = 32.0,
                                               .yarn = true,
                                               .truncate = truncate,
                                               .gain = 1.138629436111989});
    graph.output(tables.sine);
    graph.output(tables.cosine);
    const std::vector<Tensor> results = run(graph, {});
    EXPECT_EQ(results[1].elements[0], 1.138629436111989);  // The gain, at position 0.
    return results[0].elements;
}

TEST(Rope, YarnGoesOverPairByPair) {
    using Angles = std::vector<std::pair<std::size_t, double>>;
    const auto expect = [](const std::vector<double>& sines, const Angles& angles) {
        for (const auto& [pair, angle] : angles)
            EXPECT_NEAR(sines[64 + pair], 1.138629436111989 * std::sin(angle), 1e-12 * angle)
                << pair;
    };
    // Worked out by the formulas of the paper: pairs 23.6 and 39.7 turn 32 times and once.
    expect(yarn_sines(true), {{0, 1.0},
                              {23, 0.006978305848598663},
                              {24, 0.005375321490790101},
                              {30, 0.001064360981247002},
                              {39, 6.490394320837029e-05},
                              {40, 4.445698525097307e-05},
                              {63, 3.102344401879299e-07}});
    expect(yarn_sines(false), {{23, 0.006978305848598663},
                               {24, 0.0055172704751341225},
                               {39, 6.187806812450695e-05},
                               {40, 4.445698525097307e-05}});
}

TEST(Rope, BackwardTurnsBack) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 2, 4});
    const RotaryTables all = rotary_tables(graph, 9, 4);
    const RotaryTables tables =
        at_positions(all, graph.constant(Tensor(ValueType::integer, {2}, {3, 8})));
    const Var turned = rope(x, tables);
    // Rotations keep lengths, so the gradient of half the squared length is x itself.
    graph.output(gradient(sum_all(square(turned)) * 0.5, std::array{x})[0]);
    Tensor input(ValueType::real, {3, 2, 4});
    for (std::size_t i = 0; i < input.elements.size(); ++i)
        input.elements[i] = static_cast<double>(i) - 7.5;
    expect_near(run(graph, {input})[0], input.elements);
}

TEST(QkNormRope, NormalisesEveryHeadFirst) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {2, 1, 2});
    const Var gain = graph.input("gain", ValueType::real, {2});
    const auto [queries, keys] = qk_norm_rope(q, q, gain, gain, rotary_tables(graph, 1, 2), 0.0);
    graph.output(queries);
    graph.output(keys);
    const auto results = run(graph, {Tensor(ValueType::real, {2, 1, 2}, {3, 4, 0, 2}),
                                     Tensor(ValueType::real, {2}, {1, 10})});
    const double root = std::sqrt(12.5);
    for (const Tensor& result : results)
        expect_near(result, {3 / root, 40 / root, 0, 10 * std::sqrt(2.0)});
}

}  // namespace
}  // namespace cambrian::rope_test

#include "cambrian/engine/graph/builders/builders.hpp"

#include <gmock/gmock.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/engine/graph/function_support.hpp"

namespace cambrian {
namespace {

using test::expect_gradients;
using test::integers;
using test::reals;
using test::value_of;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Vars = std::span<const Var>;

Tensor scalar_id(double id) {
    return {ValueType::integer, Shape{}, {id}};
}

TEST(RandomVariables, NormalsHaveMeanZeroAndVarianceOne) {
    const auto drawn = [](Vars v) { return normal(v[0], v[1], 50001); };
    const Tensor values = value_of(drawn, {integers({5, -3}), integers({1, 2})});
    ASSERT_EQ(values.shape, (Shape{2, 50001}));
    double sum = 0.0;
    double squares = 0.0;
    double fourths = 0.0;
    for (const double x : values.elements) {
        ASSERT_TRUE(std::isfinite(x));
        sum += x;
        squares += x * x;
        fourths += x * x * x * x;
    }
    const auto count = static_cast<double>(values.elements.size());
    EXPECT_NEAR(sum / count, 0.0, 4.0 / std::sqrt(count));
    EXPECT_NEAR(squares / count, 1.0, 4.0 * std::sqrt(2.0 / count));
    EXPECT_NEAR(fourths / count, 3.0, 4.0 * std::sqrt(96.0 / count));
}

TEST(RandomVariables, NormalsOfAnIdDoNotDependOnTheOthers) {
    const auto drawn = [](Vars v) { return normal(v[0], v[1], 5); };
    const Tensor both = value_of(drawn, {integers({5, -3}), integers({7, 9})});
    const Tensor alone = value_of(drawn, {integers({5, -3}), integers({9})});
    const std::vector<double> second(both.elements.begin() + 5, both.elements.end());
    EXPECT_EQ(second, alone.elements);
    EXPECT_NE(both.elements[0], both.elements[5]);
}

TEST(RandomVariables, CategoriesComeAsOftenAsTheirProbabilities) {
    constexpr std::int64_t rows = 20000;
    const auto drawn = [](Vars v) {
        const Var logits = broadcast(v[0], Shape{rows, 3});
        return categorical(logits, v[1], iota(*v[0].graph, rows));
    };
    const std::vector<double> probabilities{0.7, 0.25, 0.05};
    std::vector<double> logits;
    for (const double p : probabilities) logits.push_back(std::log(p) + 2.0);
    const Tensor chosen = value_of(drawn, {reals(logits), integers({1, 2})});
    ASSERT_EQ(chosen.shape, Shape{rows});
    std::vector<double> counts(3, 0.0);
    for (const double index : chosen.elements) counts.at(static_cast<std::size_t>(index)) += 1.0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const double p = probabilities[i];
        EXPECT_NEAR(counts[i] / rows, p, 4.0 * std::sqrt(p * (1.0 - p) / rows)) << i;
    }
    Graph graph;
    EXPECT_THAT(
        [&] {
            categorical(graph.input("logits", ValueType::real, {4, 3}),
                        graph.input("key", ValueType::integer, {2}),
                        graph.input("ids", ValueType::integer, {3}));
        },
        ThrowsMessage<ShapeError>(HasSubstr("one id for each row")));
}

TEST(RandomVariables, DropoutKeepsTheMeanAndMasksItsGradient) {
    constexpr double p = 0.3;
    const auto dropped = [](Vars v) { return dropout(v[0], v[1], v[2], p); };
    const std::vector<double> ones(20000, 1.0);
    const Tensor y = value_of(dropped, {reals(ones), integers({1, 2}), scalar_id(4)});
    double kept = 0.0;
    for (const double value : y.elements) {
        ASSERT_TRUE(value == 0.0 || std::fabs(value - 1.0 / (1.0 - p)) < 1e-12) << value;
        kept += value != 0.0 ? 1.0 : 0.0;
    }
    const auto count = static_cast<double>(ones.size());
    EXPECT_NEAR(kept / count, 1.0 - p, 4.0 * std::sqrt(p * (1.0 - p) / count));
    const Tensor other = value_of(dropped, {reals(ones), integers({1, 2}), scalar_id(5)});
    EXPECT_NE(other.elements, y.elements);
    expect_gradients(dropped,
                     {reals({2, 3}, {1, -2, 3, 4, 5, -6}), integers({1, 2}), scalar_id(4)});
}

TEST(RandomVariables, DropoutOfNothingIsTheIdentity) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3});
    const Var key = graph.input("key", ValueType::integer, {2});
    const Var id = graph.input("id", ValueType::integer, {});
    EXPECT_EQ(dropout(x, key, id, 0.0).id, x.id);
    for (const double p : {1.0, -0.1, std::nan("")})
        EXPECT_THAT([&] { dropout(x, key, id, p); },
                    ThrowsMessage<ShapeError>(HasSubstr("probability")));
    EXPECT_THAT([&] { dropout(x, key, key, 0.5); }, ThrowsMessage<ShapeError>(HasSubstr("scalar")));
}

}  // namespace
}  // namespace cambrian

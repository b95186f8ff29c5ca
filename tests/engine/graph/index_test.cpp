#include "cambrian/engine/graph/builders/builders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/reference/reference.hpp"

// Order along an axis and elements by their index: results that are known, and what is refused.
namespace cambrian::index_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StrEq;
using testing::ThrowsMessage;

using Elements = std::vector<double>;

/// Evaluates on every backend of this module and expects them to agree; NaN equals NaN.
std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
    const auto reference = make_reference_backend(Precision::f32);
    const std::vector<Tensor> expected = evaluate(*reference, graph, 1, inputs);
    for (const Math math : {Math::strict, Math::fast}) {
        const auto backend = make_cpu_backend({.math = math});
        const std::vector<Tensor> actual = evaluate(*backend, graph, 1, inputs);
        for (std::size_t i = 0; i < expected.size(); ++i)
            for (std::size_t k = 0; k < expected[i].elements.size(); ++k) {
                const double a = actual[i].elements[k];
                const double b = expected[i].elements[k];
                EXPECT_TRUE(std::isnan(a) ? std::isnan(b)
                                          : a == b && std::signbit(a) == std::signbit(b))
                    << "output " << i << ", element " << k << ": " << a << " is not " << b;
            }
    }
    return expected;
}

Elements run_one(const Graph& graph, const std::vector<Tensor>& inputs) {
    return run(graph, inputs)[0].elements;
}

Tensor reals(const Shape& shape, Elements elements) {
    return {ValueType::real, shape, std::move(elements)};
}

Tensor integers(const Shape& shape, Elements elements) {
    return {ValueType::integer, shape, std::move(elements)};
}

TEST(Order, PutsNotANumberAboveAllAndKeepsEqualElementsInPlace) {
    const double nan = std::nan("");
    const double infinity = std::numeric_limits<double>::infinity();
    const Tensor x = reals({9}, {0.0, nan, -infinity, 2.0, -0.0, infinity, 2.0, nan, -3.0});
    Graph graph;
    const Var value = graph.input("x", ValueType::real, {9});
    graph.output(argsort(value));
    graph.output(argsort(value, -1, true));
    graph.output(topk(value, 4).indices);
    graph.output(sort(value).values);
    const std::vector<Tensor> results = run(graph, {x});
    EXPECT_THAT(results[0].elements, ElementsAre(2, 8, 0, 4, 3, 6, 5, 1, 7));
    EXPECT_THAT(results[1].elements, ElementsAre(1, 7, 5, 3, 6, 0, 4, 8, 2));
    EXPECT_THAT(results[2].elements, ElementsAre(1, 7, 5, 3));
    EXPECT_FALSE(std::signbit(results[3].elements[2]));
    EXPECT_TRUE(std::signbit(results[3].elements[3]));
}

TEST(Order, OfTheLowestAndTheHighestIntegers) {
    constexpr double low = -2147483648.0;
    constexpr double high = 2147483647.0;
    Graph graph;
    const Var x = graph.input("x", ValueType::integer, {5});
    graph.output(sort(x).values);
    graph.output(sort(x, 0, true).indices);
    const std::vector<Tensor> results = run(graph, {integers({5}, {high, 0, low, high, -1})});
    EXPECT_THAT(results[0].elements, ElementsAre(low, -1, 0, high, high));
    EXPECT_THAT(results[1].elements, ElementsAre(0, 3, 1, 4, 2));
}

TEST(Order, LongAxesAreSortedLikeShortOnes) {
    // 300 elements take another way than 200 on the CPU.
    for (const std::int64_t length : {200, 300, 5000})
        for (const std::int64_t count : {std::int64_t{7}, std::int64_t{40}, length / 2, length}) {
            Graph graph;
            const Var x = graph.input("x", ValueType::real, {length});
            graph.output(topk(x, count).values);
            graph.output(topk(x, count).indices);
            Elements elements;
            for (std::int64_t i = 0; i < length; ++i)
                elements.push_back(static_cast<double>(i * 7919 % 101) - 50.0);
            const std::vector<Tensor> results = run(graph, {reals({length}, elements)});
            EXPECT_EQ(results[0].elements[0], 50.0);
            EXPECT_TRUE(std::ranges::is_sorted(results[0].elements, std::greater<>{}));
        }
}

TEST(Order, GradientGoesWhereTheValuesCameFrom) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    const Var upstream = graph.constant(reals({2}, {10, 20}));
    graph.output(gradient(topk(x, 2).values, upstream, std::array{x})[0]);
    EXPECT_THAT(run_one(graph, {reals({4}, {1, 5, 2, 7})}), ElementsAre(0, 20, 0, 10));
}

TEST(Cumsum, CountsFromEitherEndWithAndWithoutTheElement) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    graph.output(cumsum(x, 0));
    graph.output(cumsum(x, 0, true));
    graph.output(cumsum(x, -1, false, true));
    graph.output(cumsum(x, -1, true, true));
    const std::vector<Tensor> results = run(graph, {reals({4}, {-0.0, 2, 4, 8})});
    EXPECT_THAT(results[0].elements, ElementsAre(0, 2, 6, 14));
    EXPECT_TRUE(std::signbit(results[0].elements[0]));
    EXPECT_THAT(results[1].elements, ElementsAre(0, 0, 2, 6));
    EXPECT_THAT(results[2].elements, ElementsAre(14, 14, 12, 8));
    EXPECT_THAT(results[3].elements, ElementsAre(14, 12, 8, 0));
}

TEST(Cumsum, IntegersWrapAround) {
    Graph graph;
    graph.output(cumsum(graph.input("x", ValueType::integer, {2}), 0));
    EXPECT_THAT(run_one(graph, {integers({2}, {2147483647, 1})}),
                ElementsAre(2147483647, -2147483648.0));
}

TEST(IndexAlong, AddsRepeatedIndicesInOrderOfPosition) {
    Graph graph;
    const Var values = graph.input("values", ValueType::real, {2, 4});
    const Var indices = graph.input("indices", ValueType::integer, {2, 4});
    graph.output(scatter_add_along_axis(values, indices, 3, 1));
    graph.output(take_along_axis(values, indices, 1));
    // 1e8 + 1 - 1e8 is 0 in single precision, in any other order it is 1.
    const std::vector<Tensor> results = run(graph, {reals({2, 4}, {1e8, 1, -1e8, 5, 1, 2, 3, 4}),
                                                    integers({2, 4}, {2, 2, 2, 0, 1, 1, 0, 1})});
    EXPECT_THAT(results[0].elements, ElementsAre(5, 0, 0, 3, 7, 0));
    EXPECT_THAT(results[1].elements, ElementsAre(-1e8, -1e8, -1e8, 1e8, 2, 2, 1, 2));
}

TEST(IndexAlong, OneHotHasADepthAsItsLastAxis) {
    Graph graph;
    const Var indices = graph.input("indices", ValueType::integer, {2, 2});
    const Var result = one_hot(indices, 3);
    EXPECT_EQ(result.shape(), (Shape{2, 2, 3}));
    EXPECT_EQ(result.info().type, ValueType::real);
    graph.output(result);
    EXPECT_THAT(run_one(graph, {integers({2, 2}, {2, 0, 1, 1})}),
                ElementsAre(0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0));
}

TEST(Flip, TurnsOneAxis) {
    Graph graph;
    graph.output(flip(graph.input("x", ValueType::real, {2, 3}), 1));
    EXPECT_THAT(run_one(graph, {reals({2, 3}, {1, 2, 3, 4, 5, 6})}), ElementsAre(3, 2, 1, 6, 5, 4));
}

TEST(IndexAlong, AnIndexOutOfRangeIsTheSameInputErrorEverywhere) {
    struct Case {
        std::string op;
        Var (*build)(Var values, Var indices);
        std::string message;
    };
    const std::vector<Case> cases{
        {"gather",
         [](Var x, Var i) {
             return gather(reshape(x, {4, 1}), i);
         },
         "index {} is out of range (gather over 4 rows) use indices from 0 to 3"},
        {"scatter_add", [](Var x, Var i) { return scatter_add(x, i, 4); },
         "index {} is out of range (scatter_add over 4 rows) use indices from 0 to 3"},
        {"take_along_axis", [](Var x, Var i) { return take_along_axis(x, i, 0); },
         "index {} is out of range (take_along_axis over 4 rows) use indices from 0 to 3"},
        {"scatter_add_along_axis", [](Var x, Var i) { return scatter_add_along_axis(x, i, 4, 0); },
         "index {} is out of range (scatter_add_along_axis over 4 rows) use indices from 0 to 3"}};
    for (const Case& wrong : cases)
        for (const double bad : {4.0, -1.0, -2147483648.0}) {
            Graph graph;
            const Var x = graph.input("x", ValueType::real, {4});
            graph.output(wrong.build(x, graph.input("indices", ValueType::integer, {4})));
            std::string message = wrong.message;
            message.replace(message.find("{}"), 2, std::to_string(static_cast<long>(bad)));
            const std::vector<Tensor> inputs{reals({4}, {1, 2, 3, 4}),
                                             integers({4}, {0, 3, bad, 1})};
            std::vector<std::unique_ptr<Backend>> backends;
            backends.push_back(make_reference_backend(Precision::f64));
            backends.push_back(make_cpu_backend({}));
            for (const auto& backend : backends)
                EXPECT_THAT([&] { (void)evaluate(*backend, graph, 1, inputs); },
                            ThrowsMessage<InputError>(StrEq(message)))
                    << wrong.op;
        }
}

TEST(IndexAlong, WhatDoesNotFitIsRefusedWhereItIsWritten) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 5});
    const Var flag = graph.input("flag", ValueType::boolean, {3, 5});
    const Var indices = graph.input("indices", ValueType::integer, {2, 5});
    const Var empty = graph.input("empty", ValueType::real, {0, 5});
    const auto expect_refused = [](auto build, const char* part) {
        EXPECT_THAT(build, ThrowsMessage<ShapeError>(HasSubstr(part)));
        EXPECT_THAT(build, ThrowsMessage<ShapeError>(HasSubstr("index_test.cpp")));
    };
    expect_refused([&] { (void)cumsum(x, 2); }, "axis 2 is not one of its 2 axes");
    expect_refused([&] { (void)cumsum(flag, 0); }, "booleans are not numbers");
    expect_refused([&] { (void)sort(x, -3); }, "axis -3 is not one of its 2 axes");
    expect_refused([&] { (void)sort(flag, 0); }, "booleans are not numbers");
    expect_refused([&] { (void)topk(x, 6); },
                   "axis 1 does not have 6 elements to take) take from 0 to 5");
    expect_refused([&] { (void)topk(x, -1); }, "does not have -1 elements");
    expect_refused([&] { (void)flip(x, 5); }, "axis 5 is not one of its 2 axes");
    expect_refused([&] { (void)take_along_axis(x, indices, 1); },
                   "the indices [2, 5] differ beside axis 1");
    expect_refused([&] { (void)take_along_axis(x, x, 1); }, "an index is real, not integer");
    expect_refused([&] { (void)take_along_axis(empty, indices, 0); }, "no index fits");
    expect_refused([&] { (void)scatter_add_along_axis(x, indices, 4, 0); },
                   "the indices [2, 5] are not of the shape of the values");
    expect_refused(
        [&] {
            (void)scatter_add_along_axis(flag, graph.input("i", ValueType::integer, {3, 5}), 4, 0);
        },
        "booleans cannot be added");
    expect_refused([&] { (void)gather(empty, indices); }, "no index fits an axis of extent 0");
    expect_refused([&] { (void)scatter_add(indices, indices, 0); }, "no index fits");
    expect_refused([&] { (void)one_hot(indices, -1); }, "the extent -1 is negative");
    expect_refused([&] { (void)one_hot(x, 3); }, "an index is real, not integer");
}

TEST(IndexAlong, NoIndexFitsNothing) {
    Graph graph;
    const Var table = graph.input("table", ValueType::real, {0, 2});
    const Var none = graph.input("none", ValueType::integer, {0});
    graph.output(gather(table, none));
    graph.output(scatter_add(table, none, 0));
    graph.output(scatter_add(table, none, 1));
    const std::vector<Tensor> results = run(graph, {reals({0, 2}, {}), integers({0}, {})});
    EXPECT_EQ(results[0].shape, (Shape{0, 2}));
    EXPECT_EQ(results[1].shape, (Shape{0, 2}));
    EXPECT_THAT(results[2].elements, ElementsAre(0, 0));
}

TEST(IndexAlong, IndicesOfRowsWithoutElementsAreNotLookedAt) {
    Graph graph;
    const Var table = graph.input("table", ValueType::real, {5, 0});
    const Var rows = graph.input("rows", ValueType::real, {2, 0});
    const Var indices = graph.input("indices", ValueType::integer, {2});
    graph.output(reduce_sum(gather(table, indices), 1));
    graph.output(reduce_sum(scatter_add(rows, indices, 3), 1));
    const std::vector<Tensor> results =
        run(graph, {reals({5, 0}, {}), reals({2, 0}, {}), integers({2}, {99, -1})});
    EXPECT_THAT(results[0].elements, ElementsAre(0, 0));
    EXPECT_THAT(results[1].elements, ElementsAre(0, 0, 0));
}

TEST(IndexAlong, PositionsAreIntegers) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {most + 1});
    const Var fits = graph.input("fits", ValueType::real, {most});
    const Var one = graph.input("one", ValueType::integer, {1});
    const Var number = graph.input("number", ValueType::real, {1});
    const auto expect_refused = [](auto build) {
        EXPECT_THAT(build, ThrowsMessage<ShapeError>(
                               AllOf(HasSubstr("extent 2147483648 are no 32-bit integers"),
                                     HasSubstr("index_test.cpp"))));
    };
    expect_refused([&] { (void)sort(x); });
    expect_refused([&] { (void)argsort(x); });
    expect_refused([&] { (void)topk(x, 1); });
    expect_refused([&] { (void)argmax(x, 0); });
    expect_refused([&] { (void)gather(x, one); });
    expect_refused([&] { (void)scatter_add(number, one, most + 1); });
    expect_refused([&] { (void)take_along_axis(x, one, 0); });
    expect_refused([&] { (void)scatter_add_along_axis(number, one, most + 1, 0); });
    expect_refused([&] { (void)one_hot(one, most + 1); });
    expect_refused([&] { (void)iota(graph, most + 1); });
    EXPECT_EQ(argsort(fits).shape(), Shape{most});
    EXPECT_EQ(argmax(fits, 0).rank(), 0);
    EXPECT_EQ(iota(graph, most).shape(), Shape{most});
    EXPECT_EQ(reduce_max(x, 0).rank(), 0) << "it has no positions";
}

}  // namespace
}  // namespace cambrian::index_test

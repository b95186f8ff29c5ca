#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/graph/value_support.hpp"

namespace cambrian::attention_test {
namespace {

using test::expect_near;
using test::run;

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Attention, IsASoftmaxOfScaledScores) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {1, 1, 2});
    const Var k = graph.input("k", ValueType::real, {1, 2, 2});
    const Var v = graph.input("v", ValueType::real, {1, 2, 1});
    const Attention a = attention(q, k, v, {.scale = 0.5});
    graph.output(a.output);
    graph.output(a.log_sum_exp);
    // Scores 0.5 × (1 × 2 + 1 × 0) = 1 and 0.5 × (1 × 0 + 1 × 6) = 3.
    const auto results = run(graph, {Tensor(ValueType::real, {1, 1, 2}, {1, 1}),
                                     Tensor(ValueType::real, {1, 2, 2}, {2, 0, 0, 6}),
                                     Tensor(ValueType::real, {1, 2, 1}, {10, 20})});
    const double weight = 1.0 / (1.0 + std::exp(-2.0));
    expect_near(results[0], {10 * (1 - weight) + 20 * weight});
    expect_near(results[1], {3 + std::log(1 + std::exp(-2.0))});
}

TEST(Attention, ScalesByTheRootOfTheWidth) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {1, 2, 16});
    const Var a = attention(q, q, q).output;
    const auto& attribute = std::get<AttentionAttribute>(graph.producer(a.id).attributes);
    EXPECT_EQ(attribute.scale, 0.25);
}

TEST(Attention, QueryHeadsShareTheirKeyHead) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {4, 1, 1});
    const Var k = graph.input("k", ValueType::real, {2, 1, 1});
    const Var v = graph.input("v", ValueType::real, {2, 1, 1});
    graph.output(attention(q, k, v).output);
    const auto results = run(graph, {Tensor(ValueType::real, {4, 1, 1}, {1, 2, 3, 4}),
                                     Tensor(ValueType::real, {2, 1, 1}, {1, 1}),
                                     Tensor(ValueType::real, {2, 1, 1}, {5, 7})});
    expect_near(results[0], {5, 5, 7, 7});
}

TEST(Attention, TheLastQueryIsAsLateAsTheLastKeyThatCounts) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {1, 2, 1});
    const Var k = graph.input("k", ValueType::real, {1, 4, 1});
    const Var v = graph.input("v", ValueType::real, {1, 4, 1});
    const Var valid = graph.input("valid", ValueType::integer, {});
    graph.output(attention(q, k, v, {.causal = true, .valid = valid}).output);
    // Equal scores: a mean of the values seen, the first 2 and the first 3.
    const auto results = run(graph, {Tensor(ValueType::real, {1, 2, 1}, {0, 0}),
                                     Tensor(ValueType::real, {1, 4, 1}, {1, 2, 3, 4}),
                                     Tensor(ValueType::real, {1, 4, 1}, {2, 4, 9, 100}),
                                     Tensor(ValueType::integer, {}, {3})});
    expect_near(results[0], {3, 5});
}

/// Output, log-sum-exp and the gradients of q, k and v for a number of keys that count.
std::vector<Tensor> with_valid(Backend& backend, std::int32_t valid, double behind, bool causal) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {1, 2, 2});
    const Var k = graph.input("k", ValueType::real, {1, 3, 2});
    const Var v = graph.input("v", ValueType::real, {1, 3, 2});
    const Var count = graph.input("valid", ValueType::integer, {});
    const Attention a = attention(q, k, v, {.causal = causal, .valid = count});
    graph.output(a.output);
    graph.output(a.log_sum_exp);
    for (const Var g : gradient(sum_all(a.output), std::array{q, k, v})) graph.output(g);
    return evaluate(backend, graph, 1,
                    std::array{Tensor(ValueType::real, {1, 2, 2}, {1, 2, -1, 0.5}),
                               Tensor(ValueType::real, {1, 3, 2}, {1, 0, 0.5, 2, behind, behind}),
                               Tensor(ValueType::real, {1, 3, 2}, {1, 2, 3, 4, behind, behind}),
                               Tensor(ValueType::integer, {}, {static_cast<double>(valid)})});
}

std::vector<std::unique_ptr<Backend>> backends() {
    std::vector<std::unique_ptr<Backend>> all;
    all.push_back(make_reference_backend(Precision::f64));
    all.push_back(make_cpu_backend({.math = Math::strict}));
    all.push_back(make_cpu_backend({.math = Math::fast}));
    return all;
}

/// What a query of ones sees at a position of a cache of three keys, then its own row.
std::vector<double> at_position(Backend& backend, std::int32_t position, std::int64_t window,
                                double later) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {1, 1, 1});
    const Var keys = graph.input("keys", ValueType::real, {1, 3, 1});
    const Var values = graph.input("values", ValueType::real, {1, 3, 1});
    const Var k = graph.input("k", ValueType::real, {1, 1, 1});
    const Var v = graph.input("v", ValueType::real, {1, 1, 1});
    const Var at = graph.input("position", ValueType::integer, {});
    graph.output(cached_attention(q, {keys, values}, {k, v}, at, {.window = window}));
    const auto one = [](double x) { return Tensor(ValueType::real, {1, 1, 1}, {x}); };
    return evaluate(backend, graph, 1,
                    std::array{one(0), Tensor(ValueType::real, {1, 3, 1}, {1, 2, later}),
                               Tensor(ValueType::real, {1, 3, 1}, {2, 4, later}), one(1), one(9),
                               Tensor(ValueType::integer, {}, {static_cast<double>(position)})})[0]
        .elements;
}

TEST(CachedAttention, SeesWhatCameBeforeAndItsOwnRow) {
    // Equal scores: a mean of the values seen.
    for (const auto& backend : backends()) {
        EXPECT_EQ(at_position(*backend, 0, 0, 1), std::vector{9.0});
        EXPECT_EQ(at_position(*backend, -3, 0, 1), std::vector{9.0});
        EXPECT_EQ(at_position(*backend, 2, 0, 1), std::vector{5.0});
        EXPECT_EQ(at_position(*backend, 3, 0, 1), std::vector{4.0});
        EXPECT_EQ(at_position(*backend, 7, 0, 1), std::vector{4.0});
        EXPECT_EQ(at_position(*backend, 2, 1, 1), std::vector{9.0});
        EXPECT_EQ(at_position(*backend, 2, 2, 1), std::vector{6.5});
    }
}

TEST(CachedAttention, WhatTheCacheHoldsLaterDoesNotMatter) {
    for (const auto& backend : backends())
        for (const double later : {infinity, std::nan("")})
            EXPECT_EQ(at_position(*backend, 2, 0, later), std::vector{5.0});
}

TEST(CachedAttention, GradientsDoNotDependOnWhatIsNotSeen) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {1, 1, 2});
    const Var keys = graph.input("keys", ValueType::real, {1, 3, 2});
    const Var values = graph.input("values", ValueType::real, {1, 3, 2});
    const Var at = constant(graph, 1.0, ValueType::integer);
    const Var output = cached_attention(q, {keys, values}, {q, q}, at);
    for (const Var g : gradient(sum_all(square(output)), std::array{q, keys, values}))
        graph.output(g);
    const auto gradients = [&](double later) {
        const std::vector<double> rows{1, 2, later, later, later, later};
        return run(graph, {Tensor(ValueType::real, {1, 1, 2}, {1, -1}),
                           Tensor(ValueType::real, {1, 3, 2}, rows),
                           Tensor(ValueType::real, {1, 3, 2}, rows)});
    };
    const std::vector<Tensor> expected = gradients(0.0);
    const std::vector<Tensor> actual = gradients(std::nan(""));
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(actual[i].elements, expected[i].elements) << i;
}

TEST(PutRow, RefusesShapesThatDoNotFit) {
    Graph graph;
    const Var rows = graph.input("rows", ValueType::real, {2, 3, 4, 5});
    const Var row = graph.input("row", ValueType::real, {2, 3, 1, 5});
    const Var at = graph.input("at", ValueType::integer, {2});
    EXPECT_NO_THROW(put_row(rows, row, at));
    EXPECT_THROW(put_row(rows, rows, at), ShapeError);
    EXPECT_THROW(put_row(rows, row, reshape(at, {2, 1})), ShapeError);
    EXPECT_THROW(put_row(rows, row, cast(at, ValueType::real)), ShapeError);
    const Var empty = graph.input("empty", ValueType::real, {2, 3, 4, 0});
    EXPECT_THROW(put_row(empty, graph.input("none", ValueType::real, {2, 3, 1, 0}), at),
                 ShapeError);
}

TEST(CachedAttention, RefusesShapesThatDoNotFit) {
    Graph graph;
    const auto rows = [&](std::int64_t heads, std::int64_t count) {
        return graph.input("x", ValueType::real, {heads, count, 4});
    };
    const Var at = graph.input("position", ValueType::integer, {});
    const KeysAndValues cache{rows(2, 5), rows(2, 5)};
    const KeysAndValues own{rows(2, 1), rows(2, 1)};
    EXPECT_NO_THROW(cached_attention(rows(4, 1), cache, own, at));
    EXPECT_THROW(cached_attention(rows(3, 1), cache, own, at), ShapeError);
    EXPECT_THROW(cached_attention(rows(4, 2), cache, own, at), ShapeError);
    EXPECT_THROW(cached_attention(rows(4, 1), cache, {rows(2, 1), rows(1, 1)}, at), ShapeError);
    EXPECT_THROW(cached_attention(rows(4, 1), cache, own, reshape(at, {1})), ShapeError);
    for (const std::int64_t window : {std::int64_t{-1}, std::int64_t{1} << 31})
        EXPECT_THROW(cached_attention(rows(4, 1), cache, own, at, {.window = window}), ShapeError);
}

TEST(Attention, WithoutKeysGivesZerosAndGradientsOfZero) {
    for (const auto& backend : backends())
        for (const std::int32_t valid : {0, -5}) {
            const auto results = with_valid(*backend, valid, 6.0, false);
            EXPECT_EQ(results[0].elements, std::vector<double>(4, 0.0));
            EXPECT_EQ(results[1].elements, std::vector<double>(2, -infinity));
            for (std::size_t i = 2; i < 5; ++i)
                EXPECT_EQ(results[i].elements,
                          std::vector<double>(results[i].elements.size(), 0.0));
        }
}

TEST(Attention, AQueryBeforeTheFirstKeySeesNone) {
    // One key counts, so that the first of two queries is too early for it.
    for (const auto& backend : backends()) {
        const auto results = with_valid(*backend, 1, 6.0, true);
        EXPECT_EQ(results[0].elements, (std::vector<double>{0, 0, 1, 2}));
        EXPECT_EQ(results[1].elements[0], -infinity);
        EXPECT_EQ(results[4].elements, (std::vector<double>{1, 1, 0, 0, 0, 0}));
    }
}

TEST(Attention, NothingBehindTheValidKeysReachesAResult) {
    for (const auto& backend : backends())
        for (const bool causal : {false, true}) {
            const auto zeros = with_valid(*backend, 2, 0.0, causal);
            const auto garbage =
                with_valid(*backend, 2, std::numeric_limits<double>::quiet_NaN(), causal);
            for (std::size_t i = 0; i < zeros.size(); ++i)
                EXPECT_EQ(zeros[i].elements, garbage[i].elements) << "result " << i;
        }
}

TEST(Attention, GradientOfTheLogSumExpAloneIsThatOfTheScores) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {1, 1, 1});
    const Var k = graph.input("k", ValueType::real, {1, 2, 1});
    const Var v = graph.input("v", ValueType::real, {1, 2, 1});
    const Attention a = attention(q, k, v, {.scale = 1.0});
    for (const Var g : gradient(sum_all(a.log_sum_exp), std::array{q, k, v})) graph.output(g);
    const auto results = run(
        graph, {Tensor(ValueType::real, {1, 1, 1}, {1}), Tensor(ValueType::real, {1, 2, 1}, {0, 2}),
                Tensor(ValueType::real, {1, 2, 1}, {8, 9})});
    const double weight = 1.0 / (1.0 + std::exp(-2.0));
    expect_near(results[0], {2 * weight});
    expect_near(results[1], {1 - weight, weight});
    expect_near(results[2], {0, 0});
}

TEST(Attention, RejectsOperandsThatDoNotFit) {
    Graph graph;
    const auto real = [&](const Shape& shape) { return graph.input("x", ValueType::real, shape); };
    const Var q = real({3, 2, 4});
    EXPECT_THROW((void)attention(q, real({2, 5, 4}), real({2, 5, 4})), ShapeError);
    EXPECT_THROW((void)attention(q, real({3, 5, 3}), real({3, 5, 4})), ShapeError);
    EXPECT_THROW((void)attention(q, real({3, 5, 4}), real({3, 6, 4})), ShapeError);
    EXPECT_THROW((void)attention(q, real({3, 0, 4}), real({3, 0, 4})), ShapeError);
    EXPECT_THROW((void)attention(q, real({1, 3, 5, 4}), real({1, 3, 5, 4})), ShapeError);
    EXPECT_THROW((void)attention(real({2, 4}), real({5, 4}), real({5, 4})), ShapeError);
    EXPECT_THROW((void)attention(q, q, graph.input("v", ValueType::integer, {3, 2, 4})),
                 ShapeError);
    EXPECT_THROW((void)attention(q, q, q, {.valid = real({})}), ShapeError);
    EXPECT_THROW((void)attention(q, q, q, {.valid = graph.input("valid", ValueType::integer, {1})}),
                 ShapeError);
}

/// Fast kernels against the lowering in f64, over more than one tile in each direction.
TEST(Attention, TilesOfTheCpuEqualTheLowering) {
    Graph graph;
    const Var q = graph.input("q", ValueType::real, {4, 150, 24}, true);
    const Var k = graph.input("k", ValueType::real, {2, 300, 24});
    const Var v = graph.input("v", ValueType::real, {2, 300, 40}, true);
    const Attention a = attention(q, k, v, {.causal = true});
    graph.output(a.output);
    graph.output(a.log_sum_exp);
    const Var loss = sum_all(square(a.output)) + sum_all(a.log_sum_exp);
    for (const Var g : gradient(loss, std::array{q, k, v})) graph.output(g);
    std::vector<Tensor> inputs;
    for (const Shape& shape : {Shape{3, 4, 150, 24}, Shape{2, 300, 24}, Shape{3, 2, 300, 40}}) {
        inputs.emplace_back(ValueType::real, shape);
        for (std::size_t i = 0; i < inputs.back().elements.size(); ++i)
            inputs.back().elements[i] = static_cast<double>(
                static_cast<float>(std::sin(static_cast<double>(i * (inputs.size() + 3)))));
    }
    const auto exact = evaluate(*make_reference_backend(Precision::f64), graph, 3, inputs);
    const auto fast = evaluate(*make_cpu_backend({.threads = 2}), graph, 3, inputs);
    for (std::size_t r = 0; r < exact.size(); ++r)
        for (std::size_t i = 0; i < exact[r].elements.size(); ++i)
            ASSERT_NEAR(fast[r].elements[i], exact[r].elements[i],
                        2e-5 * std::max(1.0, std::fabs(exact[r].elements[i])))
                << "result " << r << " element " << i;
}

TEST(Softmax, MasksGiveZerosAndNothingGivesZeros) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 2});
    const Var mask = graph.input("mask", ValueType::boolean, {2, 2});
    const Var y = masked_softmax(x, mask);
    graph.output(y);
    graph.output(causal_softmax(x));
    graph.output(scaled_softmax(x, 2.0));
    graph.output(gradient(sum_all(square(y)), std::array{x})[0]);
    const auto results = run(graph, {Tensor(ValueType::real, {2, 2}, {1, 900, 3, 3}),
                                     Tensor(ValueType::boolean, {2, 2}, {1, 0, 0, 0})});
    expect_near(results[0], {1, 0, 0, 0});
    expect_near(results[1], {1, 0, 0.5, 0.5});
    expect_near(results[2], {0, 1, 0.5, 0.5});
    expect_near(results[3], {0, 0, 0, 0});
}

TEST(SwigluGate, IsSiluTimesTheOther) {
    Graph graph;
    const Var gate = graph.input("gate", ValueType::real, {2});
    const Var up = graph.input("up", ValueType::real, {2});
    graph.output(swiglu_gate(gate, up));
    const auto results =
        run(graph, {Tensor(ValueType::real, {2}, {0, 2}), Tensor(ValueType::real, {2}, {7, 3})});
    expect_near(results[0], {0, 6 / (1 + std::exp(-2.0))});
}

std::vector<Tensor> appended(std::int64_t count, double position) {
    Graph graph;
    const Var cache = graph.input("cache", ValueType::real, {2, 4, 1});
    const Var rows = graph.input("rows", ValueType::real, {2, count, 1});
    const Var at = graph.input("position", ValueType::integer, {});
    graph.output(append_rows(cache, rows, at));
    Tensor values(ValueType::real, {2, count, 1});
    for (std::size_t i = 0; i < values.elements.size(); ++i)
        values.elements[i] = 10.0 + static_cast<double>(i);
    return run(graph, {Tensor(ValueType::real, {2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8}), values,
                       Tensor(ValueType::integer, {}, {position})});
}

TEST(AppendRows, PutsRowsWhereThePositionSays) {
    expect_near(appended(1, 0)[0], {10, 2, 3, 4, 11, 6, 7, 8});
    expect_near(appended(1, 3)[0], {1, 2, 3, 10, 5, 6, 7, 11});
    expect_near(appended(2, 1)[0], {1, 10, 11, 4, 5, 12, 13, 8});
    expect_near(appended(4, 0)[0], {10, 11, 12, 13, 14, 15, 16, 17});
}

TEST(AppendRows, RefusesRowsThatDoNotFit) {
    EXPECT_THROW(appended(2, 3), InputError);
    EXPECT_THROW(appended(1, -1), InputError);
}

/// Step by step with a cache, a sequence attends as it does at once.
TEST(AppendRows, ACacheGivesWhatTheWholeSequenceGives) {
    constexpr std::int64_t length = 4;
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, length, 2});
    Var cache = broadcast(constant(graph, 0.0), {1, length, 2});
    std::vector<Var> steps;
    for (std::int64_t i = 0; i < length; ++i) {
        const Var row = slice(x, 1, i, 1);
        cache =
            append_rows(cache, row, constant(graph, static_cast<double>(i), ValueType::integer));
        const Var valid = constant(graph, static_cast<double>(i + 1), ValueType::integer);
        steps.push_back(attention(row, cache, cache, {.causal = true, .valid = valid}).output);
    }
    graph.output(concat(steps, 1));
    graph.output(attention(x, x, x, {.causal = true}).output);
    const auto results =
        run(graph, {Tensor(ValueType::real, {1, length, 2}, {1, -2, 0.5, 3, 2, 2, -1, 0.25})});
    expect_near(results[0], results[1].elements);
}

/// The same as a loop whose state is the cache.
TEST(AppendRows, ACacheIsTheStateOfAScan) {
    constexpr std::int64_t length = 5;
    Graph body;
    const Var cache = body.input("cache", ValueType::real, {2, length, 4});
    const Var position = body.input("position", ValueType::integer, {});
    const Var row = body.input("row", ValueType::real, {2, 1, 4});
    const Var next = append_rows(cache, row, position);
    body.output(next);
    body.output(position + 1.0);
    body.output(attention(row, next, next, {.causal = true, .valid = position + 1.0}).output);

    Graph graph;
    const Var x = graph.input("x", ValueType::real, {length, 2, 1, 4}, true);
    const std::array carries{broadcast(constant(graph, 0.0), {2, length, 4}),
                             constant(graph, 0.0, ValueType::integer)};
    const Var steps =
        scan(std::move(body), carries, std::array{x}, {}, {.length = length}).stacked[0];
    const Var whole = permute(reshape(x, {length, 2, 4}), {1, 0, 2});
    const Var at_once = attention(whole, whole, whole, {.causal = true}).output;
    graph.output(permute(reshape(steps, {length, 2, 4}), {1, 0, 2}));
    graph.output(at_once);
    graph.output(gradient(sum_all(square(steps)), std::array{x})[0]);
    graph.output(gradient(sum_all(square(at_once)), std::array{x})[0]);
    Tensor input(ValueType::real, {3, length, 2, 1, 4});
    for (std::size_t i = 0; i < input.elements.size(); ++i)
        input.elements[i] =
            static_cast<double>(static_cast<float>(std::sin(1.3 * static_cast<double>(i))));
    for (const auto& backend : backends()) {
        const auto results = evaluate(*backend, graph, 3, std::array{input});
        for (const std::size_t r : {0U, 2U})
            for (std::size_t i = 0; i < results[r].elements.size(); ++i)
                ASSERT_NEAR(results[r].elements[i], results[r + 1].elements[i], 1e-5)
                    << "result " << r << " element " << i;
    }
}

}  // namespace
}  // namespace cambrian::attention_test

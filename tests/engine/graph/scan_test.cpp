#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// sum' = sum * decay + x, stacked too.
Graph decaying_sum() {
    Graph body;
    const Var sum = body.input("sum", ValueType::real, {});
    const Var x = body.input("x", ValueType::real, {});
    const Var decay = body.input("decay", ValueType::real, {});
    const Var next = sum * decay + x;
    body.output(next);
    body.output(next);
    return body;
}

struct SumGraph {
    Graph graph;
    Var start = graph.input("start", ValueType::real, {});
    Var steps = graph.input("steps", ValueType::real, {3});
    Var decay = graph.input("decay", ValueType::real, {});
    ScanResult result;

    explicit SumGraph(bool reverse)
        : result(scan(decaying_sum(), std::array{start}, std::array{steps}, std::array{decay},
                      {.length = 3, .reverse = reverse})) {
        graph.output(result.carries[0]);
        graph.output(result.stacked[0]);
    }

    [[nodiscard]] std::vector<Tensor> run() const {
        const auto backend = make_reference_backend(Precision::f64);
        const std::array inputs{Tensor::scalar(8.0), Tensor(ValueType::real, {3}, {1, 2, 3}),
                                Tensor::scalar(0.5)};
        return evaluate(*backend, graph, 1, inputs);
    }
};

TEST(Scan, CarriesAndStacks) {
    const std::vector<Tensor> results = SumGraph(false).run();

    EXPECT_THAT(results[0].elements, ElementsAre(5.25));
    EXPECT_THAT(results[1].elements, ElementsAre(5, 4.5, 5.25));
}

TEST(Scan, InReverseKeepsThePositionsOfTheSteps) {
    const std::vector<Tensor> results = SumGraph(true).run();

    EXPECT_THAT(results[0].elements, ElementsAre(3.75));
    EXPECT_THAT(results[1].elements, ElementsAre(3.75, 5.5, 7));
}

/// value' = value * factor, a number of times.
Var power(Var start, Var factor, std::int64_t times) {
    Graph body;
    const Var value = body.input("value", ValueType::real, {});
    const Var by = body.input("factor", ValueType::real, {});
    body.output(value * by);
    return scan(std::move(body), std::array{start}, {}, std::array{factor}, {.length = times})
        .carries[0];
}

TEST(Scan, DifferentiatesThroughManySteps) {
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {});
    const Var factor = graph.input("factor", ValueType::real, {});
    for (const Var g : gradient(power(start, factor, 100), std::array{start, factor}))
        graph.output(g);
    const auto backend = make_reference_backend(Precision::f64);

    const auto results =
        evaluate(*backend, graph, 1, std::array{Tensor::scalar(2.0), Tensor::scalar(1.01)});

    EXPECT_NEAR(results[0].elements[0], std::pow(1.01, 100), 1e-12);
    EXPECT_NEAR(results[1].elements[0], 2.0 * 100.0 * std::pow(1.01, 99), 1e-10);
}

TEST(Scan, HasASecondDerivative) {
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {});
    const Var factor = graph.input("factor", ValueType::real, {});
    const Var first = gradient(power(start, factor, 5), std::array{factor})[0];
    graph.output(gradient(first, std::array{factor})[0]);
    verify(graph);
    const auto backend = make_reference_backend(Precision::f64);

    const auto results =
        evaluate(*backend, graph, 1, std::array{Tensor::scalar(2.0), Tensor::scalar(1.5)});

    EXPECT_NEAR(results[0].elements[0], 2.0 * 5.0 * 4.0 * std::pow(1.5, 3), 1e-12);
}

TEST(Scan, SpreadsThePopulationThroughItsCarries) {
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {});
    const Var factor = graph.input("factor", ValueType::real, {}, true);
    const Var result = power(start, factor, 3);

    EXPECT_TRUE(result.info().per_individual);
    const Graph& body = *std::get<ScanAttribute>(graph.producer(result.id).attributes).body;
    EXPECT_TRUE(body.value(body.inputs()[0]).per_individual);
    EXPECT_TRUE(body.value(body.inputs()[1]).per_individual);
    EXPECT_FALSE(power(start, start, 3).info().per_individual);
    verify(graph);
}

/// Divides by a counter that ends at 0, and looks up a row at it: of an individual, or in a scan
/// inside. Individual i is alive for i + 1 steps; after them both would fail.
Graph failing_afterwards(bool inside) {
    Graph inner;
    {
        const Var sum = inner.input("sum", ValueType::integer, {});
        const Var count = inner.input("count", ValueType::integer, {});
        const Var table = inner.input("table", ValueType::integer, {4});
        const Var twelve = constant(inner, 12.0, ValueType::integer);
        inner.output(sum + twelve / count + gather(table, count - 1.0));
        inner.output(count);
        inner.output(table);
    }
    Graph body;
    const Var alive = body.input("alive", ValueType::boolean, {});
    const Var count = body.input("count", ValueType::integer, {});
    const Var sum = body.input("sum", ValueType::integer, {});
    const Var table = body.input("table", ValueType::integer, {4});
    const std::array step{sum, count, table};
    const Var next = inside ? scan(inner, step, {}, {}, {.length = 2}).carries[0]
                            : inline_graph(body, inner, step)[0];
    const Var less_count = count - cast(alive, ValueType::integer);
    body.output(less(0.0, less_count));
    body.output(less_count);
    body.output(select(alive, next, sum));

    Graph graph;
    const Var start = graph.input("start", ValueType::integer, {}, true);
    const Var rows = graph.input("rows", ValueType::integer, {4});
    const Var zero = constant(graph, 0.0, ValueType::integer);
    const ScanResult result = scan(body, std::array{less(0.0, start), start, zero}, {},
                                   std::array{rows}, {.length = 4, .alive_carry = 0});
    graph.output(result.carries[2]);
    return graph;
}

TEST(Scan, AnIndividualThatIsDoneFailsForNobody) {
    const Tensor starts(ValueType::integer, Shape{4}, {1, 2, 3, 4});
    const Tensor rows(ValueType::integer, Shape{4}, {1, 10, 100, 1000});
    const auto backend = make_cpu_backend({});
    for (const bool inside : {false, true}) {
        const auto results =
            evaluate(*backend, failing_afterwards(inside), 4, std::array{starts, rows});
        const double rounds = inside ? 2.0 : 1.0;
        EXPECT_THAT(results[0].elements,
                    ElementsAre(rounds * 13, rounds * 29, rounds * 133, rounds * 1136));
    }
    const Tensor none(ValueType::integer, Shape{1}, {0});
    EXPECT_EQ(
        evaluate(*backend, failing_afterwards(false), 1, std::array{none, rows})[0].elements[0], 0);
    const Tensor beyond(ValueType::integer, Shape{1}, {5});
    EXPECT_THROW((void)evaluate(*backend, failing_afterwards(true), 1, std::array{beyond, rows}),
                 InputError);
}

class ScanErrors : public ::testing::Test {
  protected:
    Graph graph_;
    Var number_ = graph_.input("number", ValueType::real, {});
    Var flag_ = graph_.input("flag", ValueType::boolean, {});
    Var steps_ = graph_.input("steps", ValueType::real, {3});

    static std::string message_of(const std::function<void()>& action) {
        try {
            action();
        } catch (const ShapeError& error) {
            return error.what();
        }
        return "no error";
    }
};

TEST_F(ScanErrors, SayWhatTheBodyLacks) {
    EXPECT_THAT(message_of([&] {
                    scan(decaying_sum(), std::array{number_}, std::array{steps_}, {},
                         {.length = 3});
                }),
                HasSubstr("the body has 3 inputs and there are 2 operands"));
    EXPECT_THAT(message_of([&] {
                    scan(decaying_sum(), std::array{number_}, std::array{steps_},
                         std::array{number_}, {.length = 4});
                }),
                HasSubstr("sequence [3] does not have 4 steps"));
    EXPECT_THAT(message_of([&] {
                    scan(decaying_sum(), std::array{flag_}, std::array{steps_}, std::array{number_},
                         {.length = 3});
                }),
                HasSubstr("body input 0 is real [] and receives boolean []"));
    EXPECT_THAT(message_of([&] {
                    scan(decaying_sum(), std::array{number_}, std::array{steps_},
                         std::array{number_}, {});
                }),
                HasSubstr("at least one step"));
}

TEST_F(ScanErrors, KeepCarriesAsTheyAre) {
    Graph body;
    const Var x = body.input("x", ValueType::real, {});
    body.output(broadcast(x, {2}));

    EXPECT_THAT(message_of([&] { scan(body, std::array{number_}, {}, {}, {.length = 3}); }),
                HasSubstr("carry 0 leaves the body as real [2]"));
}

TEST_F(ScanErrors, AllowAnEarlyStopOnlyWithoutStackedResults) {
    Graph body;
    const Var alive = body.input("alive", ValueType::boolean, {});
    body.output(alive);
    body.output(alive);

    EXPECT_THAT(
        message_of([&] { scan(body, std::array{flag_}, {}, {}, {.length = 3, .alive_carry = 0}); }),
        HasSubstr("stacked results"));
    EXPECT_THAT(
        message_of([&] { scan(body, std::array{flag_}, {}, {}, {.length = 3, .alive_carry = 1}); }),
        HasSubstr("not a boolean carry"));
}

TEST_F(ScanErrors, LetNothingSharedChangeWhileIndividualsEnd) {
    Graph body;
    const Var alive = body.input("alive", ValueType::boolean, {});
    const Var count = body.input("count", ValueType::real, {});
    body.output(logical_and(alive, less(count, 3.0)));
    body.output(count + 1.0);
    const Var own = graph_.input("own", ValueType::boolean, {}, true);

    EXPECT_THAT(message_of([&] {
                    scan(body, std::array{own, number_}, {}, {}, {.length = 5, .alive_carry = 0});
                }),
                HasSubstr("carry 1 of a scan cannot be shared"));
    EXPECT_EQ(message_of([&] {
                  scan(body, std::array{flag_, number_}, {}, {}, {.length = 5, .alive_carry = 0});
              }),
              "no error");
}

TEST_F(ScanErrors, KnowWhatPassesThroughUnchanged) {
    const Var own = graph_.input("own", ValueType::boolean, {}, true);
    const auto message = [&](const std::function<Var(Var, Var)>& next) {
        Graph body;
        const Var alive = body.input("alive", ValueType::boolean, {});
        const Var first = body.input("first", ValueType::real, {});
        const Var second = body.input("second", ValueType::real, {});
        body.output(alive);
        body.output(next(first, second));
        body.output(second);
        return message_of([&] {
            scan(std::move(body), std::array{own, number_, number_}, {}, {},
                 {.length = 5, .alive_carry = 0});
        });
    };
    const auto flag = [](Var value) { return less(value, 0.0); };
    const auto inner = [](std::size_t result) {
        return [result](Var first, Var second) {
            Graph body;
            const Var a = body.input("a", ValueType::real, {});
            const Var b = body.input("b", ValueType::real, {});
            body.output(a);
            body.output(a + b);
            return scan(std::move(body), std::array{first, second}, {}, {}, {.length = 2})
                .carries[result];
        };
    };
    EXPECT_EQ(message([](Var first, Var) { return stop_gradient(first); }), "no error");
    EXPECT_EQ(message([&](Var first, Var second) {
                  return select(flag(second), stop_gradient(first), first);
              }),
              "no error");
    EXPECT_EQ(message(inner(0)), "no error");
    const std::string refusal = "carry 1 of a scan cannot be shared";
    EXPECT_THAT(message(inner(1)), HasSubstr(refusal));
    EXPECT_THAT(message([](Var, Var second) { return second; }), HasSubstr(refusal));
    EXPECT_THAT(message([&](Var first, Var second) { return select(flag(second), first, second); }),
                HasSubstr(refusal));
}

}  // namespace
}  // namespace cambrian

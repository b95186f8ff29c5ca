#include "cambrian/engine/graph/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/tests/engine/graph/plan/plan_walk.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian {
namespace {

using Kind = Placement::Kind;
using test::PlanWalk;
using test::RandomGraph;

const Placement& placement(const Plan& plan, Var value) {
    return plan.values[static_cast<std::size_t>(value.id)];
}

TEST(Plan, IsSoundOnTwoThousandRandomGraphs) {
    std::int64_t planned = 0;
    std::int64_t unshared = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const RandomGraph random(seed);
        const Plan reused = plan(random.graph);
        const Plan separate = plan_without_reuse(random.graph);
        ASSERT_EQ(find_overlap(random.graph, reused), std::nullopt) << dump(random.graph);
        ASSERT_EQ(find_overlap(random.graph, separate), std::nullopt);
        ASSERT_TRUE(PlanWalk(random.graph, reused).every_read_is_intact()) << dump(random.graph);
        ASSERT_LE(separate.per_individual_elements, computed_elements(random.graph));
        planned += reused.per_individual_elements;
        unshared += separate.per_individual_elements;
    }
    EXPECT_LT(planned * 10, unshared * 9) << "reuse saves memory";
}

/// A plan in which one arena value was moved onto another that is alive with it.
TEST(Plan, BrokenPlansAreFound) {
    std::size_t broken = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const RandomGraph random(seed);
        Plan moved = plan_without_reuse(random.graph);
        std::vector<Placement*> arena;
        for (Placement& value : moved.values)
            if (value.kind == Kind::arena) arena.push_back(&value);
        if (arena.size() < 2) continue;
        RandomStream rng(random_key(seed, "move"), 0);
        const std::size_t from = rng.index(static_cast<std::uint32_t>(arena.size() - 1));
        arena[from + 1]->offset = arena[from]->offset;
        if (PlanWalk(random.graph, moved).every_read_is_intact()) continue;
        ++broken;
        EXPECT_NE(find_overlap(random.graph, moved), std::nullopt) << "seed " << seed;
    }
    EXPECT_GT(broken, 5U);
}

TEST(Plan, OverlapNamesBothValues) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3}, true);
    const Var a = exp(x);
    const Var b = sin(x);
    graph.output(a + b);
    Plan broken = plan(graph);
    ASSERT_EQ(placement(broken, a).kind, Kind::arena);

    broken.values[static_cast<std::size_t>(b.id)].offset = placement(broken, a).offset + 2;
    broken.per_individual_elements += 3;

    EXPECT_EQ(find_overlap(graph, broken), "v1 [3] and v2 [3] overlap while both are alive");
    broken.values[static_cast<std::size_t>(b.id)].offset = 1000;
    EXPECT_EQ(find_overlap(graph, broken), "v2 [3] leaves the arena");
    broken.values[static_cast<std::size_t>(b.id)].kind = Kind::unused;
    EXPECT_EQ(find_overlap(graph, broken), "v2 [3] is read and has no place");
}

TEST(Plan, AChainNeedsTwoPlaces) {
    Graph graph;
    Var x = graph.input("x", ValueType::real, {10}, true);
    for (int i = 0; i < 100; ++i) x = tanh(x);
    graph.output(x);

    EXPECT_EQ(plan(graph).per_individual_elements, 20);
    EXPECT_EQ(plan_without_reuse(graph).per_individual_elements, 990)
        << "the last goes to the output";
    EXPECT_EQ(plan(graph).shared_elements, 0);
}

TEST(Plan, CountsWhatIsComputed) {
    Graph body;
    const Var carry = body.input("carry", ValueType::real, {10});
    body.output(tanh(carry) * carry);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 5}, true);
    static_cast<void>(exp(x));  // Nothing needs it.
    const Var start = reshape(tanh(x), {10});
    const ScanResult result = scan(std::move(body), std::array{start}, {}, {}, {.length = 3});
    graph.output(sum_all(result.carries[0]));
    EXPECT_EQ(computed_elements(graph), 10 + 10 + 1 + 2 * 10)
        << "tanh, the scan, the sum, and two nodes of the body";
}

TEST(Plan, MovementThatKeepsElementsTogetherIsAnAlias) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4, 6}, true);
    const Var y = exp(x);
    const Var row = slice(y, 0, 2, 1);
    const Var part = slice(reshape(stop_gradient(row), {6}), 0, 3, 2);
    const Var column = slice(y, 1, 2, 1);
    const Var turned = permute(row, {1, 0});
    graph.output(part + 1.0);
    graph.output(column + 1.0);
    graph.output(turned + 1.0);
    const Plan planned = plan(graph);

    EXPECT_EQ(placement(planned, part), (Placement{Kind::alias, 0, y.id, 15}));
    EXPECT_EQ(placement(planned, turned), (Placement{Kind::alias, 0, y.id, 12}));
    EXPECT_EQ(placement(planned, column).kind, Kind::arena);
    EXPECT_EQ(placement(planned, row).kind, Kind::unused) << "only read by other aliases";
}

TEST(Plan, OutputsGoToTheirBindingWhenTheyCan) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2}, true);
    const Var c = constant(graph, 3.0);
    const Var y = exp(x);
    const Var view = reshape(y, {2, 1});
    for (const Var value : {x, y, c, y, view}) graph.output(value);
    const Plan planned = plan(graph);

    EXPECT_EQ(placement(planned, x), (Placement{Kind::input, 0, {}, 0}));
    EXPECT_EQ(placement(planned, y), (Placement{Kind::output, 1, {}, 0}));
    EXPECT_EQ(placement(planned, c).kind, Kind::constant);
    EXPECT_EQ(placement(planned, view), (Placement{Kind::alias, 0, y.id, 0}));
    EXPECT_EQ(planned.per_individual_elements, 0);
}

TEST(Plan, AViewOfAWholeValueIsWrittenToItsBinding) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {6}, true);
    const Var y = exp(x);
    graph.output(reshape(y, {2, 3}));
    const Plan planned = plan(graph);

    EXPECT_EQ(placement(planned, y), (Placement{Kind::output, 0, {}, 0}));
    EXPECT_EQ(planned.per_individual_elements, 0);
}

TEST(Plan, AnAliasKeepsItsBaseAlive) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {8}, true);
    const Var base = exp(x);
    const Var view = slice(base, 0, 0, 4);
    Var y = x;
    for (int i = 0; i < 10; ++i) y = tanh(y);
    graph.output(y);
    graph.output(view);
    const Plan planned = plan(graph);

    EXPECT_EQ(placement(planned, base).kind, Kind::arena);
    EXPECT_EQ(planned.per_individual_elements, 24) << "the base beside two places of the chain";
}

TEST(Plan, LeavesOutWhatNothingNeeds) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2}, true);
    const Var dead = sin(exp(x));
    graph.output(x + 1.0);
    const Plan planned = plan(graph);

    EXPECT_EQ(placement(planned, dead).kind, Kind::unused);
    EXPECT_EQ(planned.per_individual_elements, 0);
}

TEST(Plan, ScansThatRunHaveAPlaceForEveryResult) {
    Graph body;
    const Var a = body.input("a", ValueType::real, {3});
    const Var b = body.input("b", ValueType::real, {5});
    body.output(a * 2.0);
    body.output(b * 3.0);
    Graph graph;
    const Var first = graph.input("first", ValueType::real, {3}, true);
    const Var second = graph.input("second", ValueType::real, {5});
    const ScanResult result =
        scan(std::move(body), std::array{first, second}, {}, {}, {.length = 4});
    graph.output(result.carries[0]);
    const Plan planned = plan(graph);

    EXPECT_EQ(placement(planned, result.carries[0]).kind, Kind::output);
    EXPECT_EQ(placement(planned, result.carries[1]).kind, Kind::arena);
    EXPECT_EQ(planned.shared_elements, Plan::shared_alignment);
}

}  // namespace
}  // namespace cambrian

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/tests/engine/backend/update_support.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian {
namespace {

using Kind = Placement::Kind;
using test::Bound;
using test::RandomGraph;
using test::run_updates;
using testing::HasSubstr;
using testing::ThrowsMessage;

Graph optimized(const Graph& graph) {
    return optimize(graph, {.has_kernel = [](Op) { return true; },
                            .evaluate = evaluate_node,
                            .fuse_matmul_epilogue = true,
                            .groups = FusionRules{}});
}

/// Where the value of an output lies.
const Placement& placement_of(const Graph& graph, const Plan& plan, std::size_t output) {
    const Placement& own = plan.values[static_cast<std::size_t>(graph.outputs()[output])];
    return own.kind == Kind::alias ? plan.values[static_cast<std::size_t>(own.base)] : own;
}

bool is_direct(const Graph& graph, std::size_t output) {
    const Plan planned = plan(graph);
    EXPECT_EQ(find_overlap(graph, planned), std::nullopt);
    const Placement& place = placement_of(graph, planned, output);
    return place.kind == Kind::output && place.index == output;
}

/// x [4] for each individual and what `build` makes of it as its new content.
template <class Build>
Graph replacing(const Build& build) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4}, true);
    graph.update(x, build(x));
    return graph;
}

TEST(Update, RefusesWhatDoesNotFit) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    const Var own = graph.input("own", ValueType::real, {4}, true);
    const Var y = x * 2.0;
    EXPECT_THAT([&] { graph.update(y, x); }, ThrowsMessage<ShapeError>(HasSubstr("is no input")));
    EXPECT_THAT([&] { graph.update(x, slice(x, 0, 0, 2)); },
                ThrowsMessage<ShapeError>(HasSubstr("cannot become real [2]")));
    EXPECT_THAT([&] { graph.update(x, cast(x, ValueType::integer)); },
                ThrowsMessage<ShapeError>(HasSubstr("cannot become integer [4]")));
    EXPECT_THAT([&] { graph.update(x, own * 2.0); },
                ThrowsMessage<ShapeError>(HasSubstr("all individuals share the input")));
    EXPECT_TRUE(graph.outputs().empty()) << "a refused update leaves no output";
    graph.update(x, y);
    EXPECT_THAT([&] { graph.update(x, x * 3.0); },
                ThrowsMessage<ShapeError>(HasSubstr("has a new content already")));
    EXPECT_NO_THROW((void)vmap(graph, std::array{std::size_t{1}}));
}

TEST(Update, RefusesBatchAxesThatComeApart) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    const Var w = graph.input("w", ValueType::real, {4});
    graph.update(x, x * w);
    EXPECT_THAT([&] { (void)vmap(graph, std::array{std::size_t{1}}); },
                ThrowsMessage<ShapeError>(HasSubstr("each would have its own value")));
}

TEST(Update, IsNoPartOfAScan) {
    Graph body;
    const Var a = body.input("a", ValueType::real, {});
    body.update(a, a * 2.0);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    EXPECT_THROW((void)scan(std::move(body), std::array{x}, {}, {}, {.length = 3}), ShapeError);
}

TEST(UpdatePlan, ElementwiseResultsAreWrittenInPlace) {
    EXPECT_TRUE(is_direct(replacing([](Var x) { return x * 2.0; }), 0));
    EXPECT_TRUE(is_direct(replacing([](Var x) { return x * sum_all(x); }), 0));
    EXPECT_TRUE(is_direct(replacing([](Var x) {
                              return reshape(reshape(x, {2, 2}) * 2.0, {4});
                          }),
                          0));
    EXPECT_TRUE(is_direct(optimized(replacing([](Var x) { return exp(x * 2.0) + x; })), 0))
        << "a chain of elementwise nodes";
}

TEST(UpdatePlan, OtherReadersOfTheOldContentGoFirstOrGetACopy) {
    EXPECT_FALSE(is_direct(replacing([](Var x) {
                               return reshape(matmul(reshape(x, {2, 2}), reshape(x, {2, 2})), {4});
                           }),
                           0))
        << "a product reads other elements than it writes";
    EXPECT_TRUE(is_direct(replacing([](Var x) {
                              const Var square_form = reshape(x, {2, 2});
                              return reshape(transpose(square_form) + square_form, {4}) * 1.5;
                          }),
                          0))
        << "the transposed copy is made before";

    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4}, true);
    graph.update(x, x * 2.0);
    graph.output(sum_all(exp(x)));
    EXPECT_FALSE(is_direct(graph, 0)) << "exp comes later";
    EXPECT_TRUE(is_direct(schedule(graph), 0)) << "exp need not come later";

    Graph shown;
    const Var old = shown.input("old", ValueType::real, {4}, true);
    shown.update(old, old * 2.0);
    shown.output(old);
    EXPECT_FALSE(is_direct(schedule(shown), 0)) << "another output shows the old content";

    Graph bound;
    const Var a = bound.input("a", ValueType::real, {4}, true);
    const Var next = a * 2.0;
    bound.update(a, next);
    bound.output(sum_all(next * a));
    EXPECT_FALSE(is_direct(schedule(bound), 0)) << "a reader of both";
}

TEST(UpdatePlan, ARowIsPutWhereItsRowsLie) {
    EXPECT_TRUE(is_direct(schedule(test::cached_row(true)), 0)) << "what sees the rows goes first";
    Graph moved;
    const Var rows = moved.input("rows", ValueType::real, {1, 4, 2});
    const Var at = moved.input("at", ValueType::integer, {});
    moved.update(rows, put_row(rows, slice(rows, 1, 2, 1), at));
    EXPECT_FALSE(is_direct(schedule(moved), 0)) << "the row is one of them";

    Graph single;  // A row replaces itself by rows as many as it is.
    const Var row = single.input("row", ValueType::real, {2, 1, 3});
    const Var other = single.input("other", ValueType::real, {2, 1, 3});
    const Var place = single.input("place", ValueType::integer, {});
    single.update(row, put_row(other, row, place));
    EXPECT_FALSE(is_direct(schedule(single), 0)) << "the row is read after rows were copied";
}

TEST(UpdatePlan, ChainsWithReductionsAreNotWrittenInPlace) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 4}, true);
    graph.update(x, softmax(x * 2.0));
    const Graph fused = eliminate_dead_code(fuse_elementwise(graph, {.reductions = true}));
    ASSERT_EQ(std::ranges::count(fused.nodes(), Op::fused, &Node::op), 1);
    EXPECT_FALSE(is_direct(fused, 0));
}

TEST(UpdatePlan, FindsAnInputThatIsReplacedTooEarly) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4}, true);
    const Var next = x * 2.0;
    graph.update(x, next);
    graph.output(sum_all(exp(x)));
    Plan planned = plan(graph);
    EXPECT_EQ(find_overlap(graph, planned), std::nullopt);
    planned.values[static_cast<std::size_t>(next.id)] = {Kind::output, 0, {}, 0};
    EXPECT_THAT(find_overlap(graph, planned).value_or(""), HasSubstr("before it is read by node"));
}

TEST(UpdatePlan, AnOptimizerStepCopiesNothing) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {8, 5});
    std::vector<Var> weights{graph.input("w0", ValueType::real, {5, 6}, true),
                             graph.input("w1", ValueType::real, {6, 3}, true)};
    std::vector<Var> moments;
    for (const Var weight : weights)
        for (const char* name : {"m", "v"})
            moments.push_back(graph.input(name, ValueType::real, weight.shape(), true));
    const StepScalars scalars{graph.input("rate", ValueType::real, {}),
                              graph.input("step", ValueType::real, {})};
    const Var loss = sum_all(square(matmul(tanh(matmul(x, weights[0])), weights[1])));
    graph.output(loss);
    const std::vector<Var> gradients = gradient(loss, weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const UpdatedParameter next =
            cambrian::update(Adam{}, scalars, weights[i], gradients[i],
                             std::span<const Var>(moments).subspan(2 * i, 2));
        graph.update(weights[i], next.value);
        for (std::size_t m = 0; m < 2; ++m) graph.update(moments[2 * i + m], next.moments[m]);
    }
    const Graph step = optimized(graph);
    for (std::size_t output = 1; output < step.outputs().size(); ++output)
        EXPECT_TRUE(is_direct(step, output)) << "output " << output << "\n" << dump(step);
}

std::vector<std::unique_ptr<Backend>> backends() {
    std::vector<std::unique_ptr<Backend>> result;
    result.push_back(make_cpu_backend({.math = Math::strict}));
    result.push_back(make_cpu_backend({.threads = 3, .math = Math::strict}));
    result.push_back(make_reference_backend(Precision::f32));
    return result;
}

void expect_in_place_equals_apart(const Graph& graph, std::int64_t population,
                                  std::span<const Tensor> inputs) {
    for (const auto& backend : backends()) {
        const auto apart = run_updates(*backend, graph, population, inputs, 3, Bound::apart);
        const auto in_place = run_updates(*backend, graph, population, inputs, 3, Bound::in_place);
        for (std::size_t i = 0; i < apart.size(); ++i)
            EXPECT_EQ(test::first_difference(in_place[i].elements, apart[i].elements), -1)
                << "output " << i << " on " << backend->describe().kind << "\n"
                << dump(graph);
    }
}

TEST(UpdateRun, InPlaceEqualsApartOnRandomGraphs) {
    std::size_t updates = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomGraph random(seed);
        test::declare_updates(random.graph);
        updates += random.graph.updates().size();
        const std::int64_t population = seed % 3 == 0 ? 300 : 3;
        expect_in_place_equals_apart(random.graph, population, random.inputs(population));
    }
    EXPECT_GT(updates, 100U);
}

TEST(UpdateRun, ARowIsPutInPlace) {
    for (const bool per_individual : {false, true}) {
        const std::int64_t individuals = per_individual ? 3 : 1;
        expect_in_place_equals_apart(test::cached_row(per_individual), individuals,
                                     test::cached_row_inputs(individuals));
    }
    const auto cpu = make_cpu_backend({});
    const std::vector<Tensor> inputs = test::cached_row_inputs(1);
    std::vector<double> expected = inputs[0].elements;
    // Heads of text 0 have it at position 1, those of text 1 at 5.
    for (const std::size_t head : {0U, 1U, 2U, 3U})
        for (std::size_t i = 0; i < 4; ++i)
            expected[head * 24 + (head < 2 ? 4 : 20) + i] = inputs[1].elements[head * 4 + i];
    EXPECT_EQ(run_updates(*cpu, test::cached_row(false), 1, inputs, 1, Bound::in_place)[0].elements,
              expected);
}

TEST(UpdateRun, SwapsTwoInputs) {
    Graph graph;
    const Var a = graph.input("a", ValueType::real, {}, true);
    const Var b = graph.input("b", ValueType::real, {}, true);
    graph.update(a, b);
    graph.update(b, a);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {2}, {1, 2}),
                                     Tensor(ValueType::real, {2}, {3, 4})};
    expect_in_place_equals_apart(graph, 2, inputs);
    const auto cpu = make_cpu_backend({});
    EXPECT_EQ(run_updates(*cpu, graph, 2, inputs, 1, Bound::in_place)[0].elements,
              (std::vector<double>{3, 4}));
}

TEST(UpdateRun, AnInputBecomesTheContentOfAnother) {
    Graph graph;
    const Var target = graph.input("target", ValueType::real, {2}, true);
    const Var online = graph.input("online", ValueType::real, {2}, true);
    graph.output(target * 3.0);
    graph.update(target, online);
    EXPECT_EQ(optimized(graph).inputs().size(), 2U);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {1, 2}, {1, 2}),
                                     Tensor(ValueType::real, {1, 2}, {3, 4})};
    expect_in_place_equals_apart(graph, 1, inputs);
    const auto cpu = make_cpu_backend({});
    const auto results = run_updates(*cpu, graph, 1, inputs, 1, Bound::in_place);
    EXPECT_EQ(results[0].elements, (std::vector<double>{3, 6}));
    EXPECT_EQ(results[1].elements, (std::vector<double>{3, 4}));
}

TEST(UpdateRun, SharedContentChangesAfterEveryIndividualHasReadIt) {
    Graph graph;
    const Var shared = graph.input("shared", ValueType::real, {3});
    const Var own = graph.input("own", ValueType::real, {3}, true);
    graph.update(shared, shared * 2.0);
    graph.output(shared + own);
    std::vector<Tensor> inputs{Tensor(ValueType::real, {3}, {1, 2, 3}),
                               Tensor(ValueType::real, {900, 3})};
    const auto cpu = make_cpu_backend({.threads = 3});
    const auto results = run_updates(*cpu, graph, 900, inputs, 1, Bound::in_place);
    EXPECT_EQ(results[0].elements, (std::vector<double>{2, 4, 6}));
    for (std::size_t i = 0; i < results[1].elements.size(); ++i)
        ASSERT_EQ(results[1].elements[i], 1.0 + static_cast<double>(i % 3)) << i;
    expect_in_place_equals_apart(graph, 900, inputs);
}

TEST(UpdateRun, CarriesOfAScanAreReplaced) {
    Graph body;
    const Var a = body.input("a", ValueType::real, {3});
    const Var b = body.input("b", ValueType::real, {3});
    body.output(b);
    body.output(a + b);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3}, true);
    const Var y = graph.input("y", ValueType::real, {3}, true);
    const ScanResult result = scan(std::move(body), std::array{x, y}, {}, {}, {.length = 5});
    graph.update(y, result.carries[0]);
    graph.update(x, result.carries[1]);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {1, 3}, {1, 2, 3}),
                                     Tensor(ValueType::real, {1, 3}, {0, 1, -1})};
    expect_in_place_equals_apart(graph, 1, inputs);
}

TEST(UpdateRun, BindingOneBufferTwiceNeedsTheDeclaration) {
    for (const auto& backend : backends()) {
        Graph plain;
        const Var x = plain.input("x", ValueType::real, {4});
        plain.output(x * 2.0);
        Graph declared;
        const Var y = declared.input("y", ValueType::real, {4});
        declared.update(y, y * 2.0);
        const auto buffer = backend->allocate(ValueType::real, 6);
        const auto run = [&](const Graph& graph, std::int64_t from, std::int64_t to) {
            const std::array in{Binding{buffer.get(), from}};
            const std::array out{Binding{buffer.get(), to}};
            backend->compile(graph)->run(1, in, out);
        };
        EXPECT_THROW(run(plain, 0, 0), ContractViolation);
        EXPECT_THROW(run(declared, 0, 2), ContractViolation) << "neither the same nor apart";
        EXPECT_NO_THROW(run(declared, 1, 1));
    }
}

TEST(UpdateRun, BindingsWithoutElementsMeetNothing) {
    for (const auto& backend : backends()) {
        Graph graph;
        const Var none = graph.input("none", ValueType::real, {0});
        const Var x = graph.input("x", ValueType::real, {4});
        graph.output(none * 2.0);
        graph.output(x * 2.0);
        const auto program = backend->compile(graph);
        const auto buffer = backend->allocate(ValueType::real, 4);
        const auto doubled = backend->allocate(ValueType::real, 4);
        const std::array in{Binding{buffer.get(), 2}, Binding{buffer.get(), 0}};
        // Empty ranges right inside an input and inside another output.
        for (const Binding& empty : {Binding{buffer.get(), 2}, Binding{doubled.get(), 2}}) {
            const std::array out{empty, Binding{doubled.get(), 0}};
            EXPECT_NO_THROW(program->run(1, in, out));
        }
    }
}

}  // namespace
}  // namespace cambrian

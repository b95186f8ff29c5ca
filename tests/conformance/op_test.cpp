#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/conformance/op_conformance.hpp"

namespace cambrian::test {
namespace {

TEST(OpTable, EveryOpHasAConformanceCase) {
    const std::vector<OpCase> cases = op_cases();
    for (const OpInfo& row : op_table())
        EXPECT_TRUE(std::ranges::any_of(cases, [&](const OpCase& c) { return c.op == row.op; }))
            << row.name;
}

TEST(OpTable, EveryRowHasItsRules) {
    for (const OpInfo& row : op_table()) {
        SCOPED_TRACE(row.name);
        EXPECT_NE(row.shape, nullptr);
        EXPECT_NE(row.type, nullptr);
        // A fused op may have no gradient, but none has one of its own that does not count.
        EXPECT_TRUE(!row.differentiable || row.gradient != nullptr || row.lowering != nullptr);
        EXPECT_TRUE(row.differentiable || row.gradient == nullptr);
        EXPECT_TRUE(row.batch != BatchRule::body || row.result_count != nullptr);
        EXPECT_FALSE(row.meaning.empty());
    }
}

TEST(OpTable, ResultsHaveTheDeclaredShapesAndTypes) {
    for (const OpCase& op_case : op_cases()) {
        SCOPED_TRACE(op_case.label());
        const Graph graph = case_graph(op_case, true);
        verify(graph);
        for (std::size_t i = 0; i < op_case.results.size(); ++i) {
            const ValueInfo& info = graph.value(graph.outputs()[i]);
            EXPECT_EQ(info.shape, op_case.results[i].shape) << info.shape.text();
            EXPECT_EQ(info.type, op_case.results[i].type);
        }
    }
}

/// Checks the plan of a graph and of every scan body in it.
void expect_sound_plans(const Graph& graph) {
    EXPECT_EQ(find_overlap(graph, plan(graph)), std::nullopt) << dump(graph);
    for (const Node& node : graph.nodes())
        if (node.op == Op::scan) expect_sound_plans(*std::get<ScanAttribute>(node.attributes).body);
}

TEST(OpTable, PlansOfCasesAndTheirGradientsAreSound) {
    for (const OpCase& op_case : op_cases()) {
        SCOPED_TRACE(op_case.label());
        for (const auto& variant : population_variants(op_case)) {
            const Graph graph = vmap(case_graph(op_case, true), variant);
            verify(graph);
            expect_sound_plans(graph);
            expect_sound_plans(eliminate_dead_code(graph));
        }
    }
}

/// Sum of all real results of a case, weighted as case_graph weighs them for the gradients.
double weighted_sum(Backend& backend, const OpCase& op_case, std::span<const Tensor> inputs) {
    double total = 0.0;
    std::uint64_t weight = 77;
    for (const Tensor& result : evaluate(backend, case_graph(op_case, false), 1, inputs)) {
        if (result.type != ValueType::real) continue;
        const Tensor upstream = draw_operand({Range::wide, result.shape}, ++weight);
        for (std::size_t i = 0; i < result.elements.size(); ++i)
            total += result.elements[i] * upstream.elements[i];
    }
    return total;
}

double central_difference(Backend& backend, const OpCase& op_case, std::vector<Tensor>& inputs,
                          double& element) {
    const double kept = element;
    const double step = 1e-6 * std::max(1.0, std::fabs(kept));
    element = kept + step;
    const double above = weighted_sum(backend, op_case, inputs);
    element = kept - step;
    const double below = weighted_sum(backend, op_case, inputs);
    element = kept;
    return (above - below) / (2.0 * step);
}

TEST(OpTable, GradientsMatchCentralDifferences) {
    const auto backend = make_reference_backend(Precision::f64);
    constexpr std::size_t elements_tried = 12;
    RandomStream rng(random_key(7, "elements"), 0);
    for (const OpCase& op_case : op_cases()) {
        if (!op_case.differentiable()) continue;
        SCOPED_TRACE(op_case.label());
        const Graph graph = case_graph(op_case, true);
        std::vector<Tensor> inputs = case_inputs(graph, op_case, 1);
        const std::vector<Tensor> outputs = evaluate(*backend, graph, 1, inputs);
        std::size_t next = op_case.results.size();
        for (Tensor& input : inputs) {
            if (input.type != ValueType::real) continue;
            const Tensor& gradient = outputs[next++];
            for (std::size_t n = 0; n < std::min(elements_tried, input.elements.size()); ++n) {
                const std::size_t i = rng.index(static_cast<std::uint32_t>(input.elements.size()));
                const double difference =
                    central_difference(*backend, op_case, inputs, input.elements[i]);
                ASSERT_NEAR(gradient.elements[i], difference, 1e-7 + 1e-5 * std::fabs(difference))
                    << "element " << i;
            }
        }
        EXPECT_EQ(next, outputs.size());
    }
}

TEST(OpTable, SinglePrecisionReferenceIsCloseToDouble) {
    const auto exact = make_reference_backend(Precision::f64);
    for (const OpCase& op_case : op_cases()) expect_equal_to_reference(*exact, op_case, 2e-5);
}

TEST(ReferenceBackend, IndividualsDoNotDependOnTheirPopulation) {
    const auto backend = make_reference_backend(Precision::f32);
    for (const OpCase& op_case : op_cases()) expect_batch_independent(*backend, op_case);
}

}  // namespace
}  // namespace cambrian::test

#include "cambrian/tests/conformance/op_conformance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/support/all_cases.hpp"

namespace cambrian::test {
namespace {

constexpr std::int64_t population_size = 7;

std::vector<Var> results_of(Graph& graph, const OpCase& op_case, std::span<const Var> operands) {
    if (op_case.op == Op::input) return {operands.begin(), operands.end()};
    const Var first = graph.add(op_case.op, operands, op_case.attributes);
    std::vector<Var> results;
    for (std::uint32_t i = 0; i < graph.producer(first.id).result_count; ++i)
        results.push_back({&graph, ValueId{static_cast<std::uint32_t>(first.id) + i}});
    return results;
}

void output_gradients(Graph& graph, std::span<const Var> operands, std::span<const Var> results) {
    std::vector<Var> values;
    std::vector<Var> upstream;
    std::vector<Var> with_respect_to;
    for (const Var result : results) {
        if (result.info().type != ValueType::real) continue;
        values.push_back(result);
        upstream.push_back(
            graph.constant(draw_operand({Range::wide, result.shape()}, 77 + values.size())));
    }
    for (const Var operand : operands)
        if (operand.info().type == ValueType::real) with_respect_to.push_back(operand);
    for (const Var g : gradient(values, upstream, with_respect_to)) graph.output(g);
}

/// The part of a per-individual tensor that belongs to one individual.
Tensor of_individual(const Tensor& tensor, const ValueInfo& info, std::int64_t individual) {
    if (!info.per_individual) return tensor;
    const auto count = static_cast<std::ptrdiff_t>(info.shape.elements());
    const auto begin = tensor.elements.begin() + individual * count;
    std::vector<std::int64_t> extents{1};
    extents.insert(extents.end(), info.shape.extents().begin(), info.shape.extents().end());
    return {tensor.type, Shape(std::span<const std::int64_t>(extents)), {begin, begin + count}};
}

}  // namespace

Graph case_graph(const OpCase& op_case, bool with_gradients) {
    Graph graph;
    std::vector<Var> operands;
    for (const OperandCase& operand : op_case.operands)
        operands.push_back(graph.input("operand", operand.type(), operand.shape));
    const std::vector<Var> results = results_of(graph, op_case, operands);
    for (const Var result : results) graph.output(result);
    if (with_gradients && op_case.differentiable()) output_gradients(graph, operands, results);
    return graph;
}

PopulationVariants population_variants(const OpCase& op_case) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < op_case.operands.size(); ++i) all.push_back(i);
    if (all.size() < 2) return {all, {}};
    return {all, {}, {0}, {all.begin() + 1, all.end()}};
}

std::vector<Tensor> case_inputs(const Graph& graph, const OpCase& op_case,
                                std::int64_t population) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < op_case.operands.size(); ++i) {
        const OperandCase& operand = op_case.operands[i];
        if (!graph.value(graph.inputs()[i]).per_individual) {
            inputs.push_back(draw_operand(operand, i));
            continue;
        }
        std::vector<std::int64_t> extents{population};
        extents.insert(extents.end(), operand.shape.extents().begin(),
                       operand.shape.extents().end());
        Tensor whole(operand.type(), Shape(std::span<const std::int64_t>(extents)));
        whole.elements.clear();
        for (std::int64_t individual = 0; individual < population; ++individual) {
            const Tensor one =
                draw_operand(operand, i + 100 * static_cast<std::uint64_t>(individual));
            whole.elements.insert(whole.elements.end(), one.elements.begin(), one.elements.end());
        }
        inputs.push_back(std::move(whole));
    }
    return inputs;
}

void expect_elements_equal(const std::vector<double>& actual, const std::vector<double>& expected,
                           double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i])))
            continue;
        const double allowed = tolerance * std::max(1.0, std::fabs(expected[i]));
        ASSERT_LE(std::fabs(actual[i] - expected[i]), allowed)
            << "element " << i << ": " << actual[i] << " is not " << expected[i];
    }
}

void expect_batch_independent(Backend& backend, const OpCase& op_case) {
    expect_batch_independent(backend, op_case, population_variants(op_case));
}

void expect_batch_independent(Backend& backend, const OpCase& op_case,
                              const PopulationVariants& variants) {
    SCOPED_TRACE(op_case.label());
    for (const auto& variant : variants) {
        const Graph graph = vmap(case_graph(op_case, true), variant);
        const std::vector<Tensor> inputs = case_inputs(graph, op_case, population_size);
        const std::vector<Tensor> together = evaluate(backend, graph, population_size, inputs);
        // Alone: by day the first, one between and the last.
        for (std::int64_t individual = 0; individual < population_size;
             individual += all_cases() ? 1 : 3) {
            std::vector<Tensor> own;
            for (std::size_t i = 0; i < inputs.size(); ++i)
                own.push_back(of_individual(inputs[i], graph.value(graph.inputs()[i]), individual));
            const std::vector<Tensor> alone = evaluate(backend, graph, 1, own);
            for (std::size_t i = 0; i < alone.size(); ++i)
                expect_elements_equal(
                    of_individual(together[i], graph.value(graph.outputs()[i]), individual)
                        .elements,
                    alone[i].elements, 0.0);
        }
    }
}

void expect_equal_to_reference(Backend& backend, const OpCase& op_case, double tolerance) {
    expect_equal_to_reference(backend, op_case, tolerance, population_variants(op_case));
}

void expect_equal_to_reference(Backend& backend, const OpCase& op_case, double tolerance,
                               const PopulationVariants& variants) {
    SCOPED_TRACE(op_case.label());
    const auto reference = make_reference_backend(Precision::f32);
    for (const auto& variant : variants) {
        const Graph graph = vmap(case_graph(op_case, true), variant);
        const std::vector<Tensor> inputs = case_inputs(graph, op_case, population_size);
        const std::vector<Tensor> actual = evaluate(backend, graph, population_size, inputs);
        const std::vector<Tensor> expected = evaluate(*reference, graph, population_size, inputs);
        for (std::size_t i = 0; i < actual.size(); ++i) {
            SCOPED_TRACE("output " + std::to_string(i));
            expect_elements_equal(actual[i].elements, expected[i].elements, tolerance);
        }
    }
}

}  // namespace cambrian::test

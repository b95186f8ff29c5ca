#pragma once

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/tests/conformance/cases/op_cases.hpp"

// What every backend must fulfil for every case of the op table. A backend's test calls these for
// each case of op_cases().
namespace cambrian::test {

/// The graph of a case: an input for each operand, every result an output. With gradients, also the
/// gradients of all real results, weighted by constants, with respect to all real operands.
[[nodiscard]] Graph case_graph(const OpCase& op_case, bool with_gradients);

/// Every way to share operands that is tested: all per individual, none, only the first, all but
/// the first.
using PopulationVariants = std::vector<std::vector<std::size_t>>;
[[nodiscard]] PopulationVariants population_variants(const OpCase& op_case);

/// Inputs of a case for a population; shared operands are those of individual 0.
[[nodiscard]] std::vector<Tensor> case_inputs(const Graph& graph, const OpCase& op_case,
                                              std::int64_t population);

/// An individual's results are the same bits in a population of seven and alone.
void expect_batch_independent(Backend& backend, const OpCase& op_case);
void expect_batch_independent(Backend& backend, const OpCase& op_case,
                              const PopulationVariants& variants);

/// Results and gradients equal the f32 reference: in every bit when tolerance is 0, else within
/// tolerance times max(1, |expected|).
void expect_equal_to_reference(Backend& backend, const OpCase& op_case, double tolerance);
void expect_equal_to_reference(Backend& backend, const OpCase& op_case, double tolerance,
                               const PopulationVariants& variants);

/// Equal elements; NaN equals NaN. See expect_equal_to_reference for the tolerance.
void expect_elements_equal(const std::vector<double>& actual, const std::vector<double>& expected,
                           double tolerance);

}  // namespace cambrian::test

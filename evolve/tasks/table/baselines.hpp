#pragma once

#include <string_view>

#include "cambrian/evolve/tasks/table/data.hpp"

namespace cambrian::evolve {

/// What a simple predictor reaches on the rows of a phase, in the units of the file:
/// - persistence: the loss of answering with the target's value at row t;
/// - mean: the loss of always answering with the mean of the target over the train rows;
/// - least_squares: the loss of the linear function of the inputs, with a constant, that fits the
///   train rows best;
/// - majority: the accuracy (share of rows) of always naming the commonest class of the train rows;
/// - frequencies: the cross entropy of always answering with the class frequencies of the train
///   rows.
[[nodiscard]] double table_baseline(std::string_view name, const TableData& data, Phase phase,
                                    TableLoss loss);

}  // namespace cambrian::evolve

#pragma once

#include "cambrian/evolve/tasks/table/data.hpp"

namespace cambrian::evolve {

/// The rows of a phase, all series end to end: inputs [rows, inputs], normalised.
[[nodiscard]] Tensor input_rows(const TableData& data, Phase phase);
/// Answers [rows, targets] in the units of the file, but for the shift of outputs; class indices
/// [rows, 1].
[[nodiscard]] Tensor goal_rows(const TableData& data, const TableSettings& settings, Phase phase);
/// Rows of a table [rows, width] at indices, shaped [extents..., width].
[[nodiscard]] Tensor rows_at(const Tensor& table, std::span<const std::int64_t> rows,
                             std::vector<std::int64_t> extents);

/// What gradients learn from: the same rows in the same parts, with answers in the units of
/// outputs. Sequences are windows side by side, of which every step counts; rows after the last
/// whole one are left out. Throws ConfigError for a warm_up.
[[nodiscard]] Learning table_learning(const TableData& data, const TableSettings& settings);

}  // namespace cambrian::evolve

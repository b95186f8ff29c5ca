#pragma once

#include "cambrian/evolve/tasks/table/data.hpp"

#include <cstdint>
#include <span>
#include <vector>

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

/// Windows of consecutive rows over the rows of some series laid end to end.
struct Windows {
    std::int64_t count = 0;
    std::vector<std::int64_t> rows;  ///< [count, length]
    std::vector<bool> counted;       ///< [count, length]: whether a step is part of the loss.
};

/// Windows in which every row counts exactly once. Each begins `warm_up` rows before the first row
/// it counts; the first window of a series has nothing before it and counts from its first row; the
/// last one reaches back over counted rows to be full. A series shorter than a window repeats its
/// last row, uncounted.
[[nodiscard]] Windows cover(std::span<const Series> series, std::int64_t length,
                            std::int64_t warm_up);

/// Uniform draws with repetition among all windows that lie inside one series; → their rows,
/// [count, length]. Every series has at least `length` rows.
[[nodiscard]] std::vector<std::int64_t> draw_windows(std::span<const Series> series,
                                                     std::int64_t length, std::int64_t count,
                                                     RandomStream& rng);

}  // namespace cambrian::evolve

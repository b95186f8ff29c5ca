#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/evolve/tasks/table/data.hpp"

namespace cambrian::evolve {

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

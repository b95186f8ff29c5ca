#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cambrian::evolve {

/// The one-to-one assignment of rows to columns with the largest sum of gains [count, count]:
/// column of each row. Exact, by shortest augmenting paths in O(count³) (Jonker and Volgenant, "A
/// Shortest Augmenting Path Algorithm for Dense and Sparse Linear Assignment Problems", 1987), of
/// additions and comparisons in a fixed order: the same on every machine. Gains are finite.
[[nodiscard]] std::vector<std::int32_t> best_assignment(std::span<const double> gains,
                                                        std::size_t count);

}  // namespace cambrian::evolve

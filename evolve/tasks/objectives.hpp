#pragma once

#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian::evolve {

/// Sum of all elements in short runs, then of their sums: a single run over a million rows would
/// lose three digits.
[[nodiscard]] Var sum_in_runs(Var values);

}  // namespace cambrian::evolve

#pragma once

#include "cambrian/engine/backend/backend.hpp"

// Known trajectories of environments: the folder `tasks` below the golden directory.
namespace cambrian::test {

/// Which of a file's bounds holds.
enum class GoldenBound { f64, f32 };

/// Every step of every episode by itself, from the state that the file holds.
void expect_golden_steps(Backend& backend, GoldenBound bound);

/// Episodes from their first state on, as far as the file says that rounding stays small; in f64.
void expect_golden_free_runs(Backend& backend);

/// The T-maze from its first step to its last.
void expect_golden_mazes(Backend& backend, GoldenBound bound);

/// Gruau's fitness of known controllers of the double pole, in f64.
void expect_golden_damping(Backend& backend);

/// How many of the 625 starts of the double pole a linear controller holds, after 100,000 steps
/// from the first one.
void expect_golden_generalisation(Backend& backend);

}  // namespace cambrian::test

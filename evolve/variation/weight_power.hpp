#pragma once

#include <cstdint>

#include "cambrian/evolve/variation/mutation.hpp"

// The deviation of the noise on the weights of a child.
namespace cambrian::evolve {

/// What the settings say for a birth: weight_power at birth 0, weight_power_end from birth
/// weight_power_births on, between them on a straight line or by equal factors. Of the birth alone,
/// so every rank knows it; made of our own functions, so it has the same bits everywhere.
[[nodiscard]] float scheduled_power(const MutationSettings& settings, std::uint64_t birth);

/// Throws ConfigError where powers go by equal factors from or to 0.
void check_schedule(const MutationSettings& settings);

/// A genome's own power as its child has it: times e^(change · n) with a normal n, as evolution
/// strategies do (Schwefel, "Numerical Optimization of Computer Models", 1981), within
/// [1e-6, 1e3].
[[nodiscard]] float inherited_power(RandomStream& rng, float power, float change);

/// The power of a child's noise. Where powers evolve the child gets its own into its structure,
/// which it shares with nobody then; else no draw is made.
[[nodiscard]] float child_power(RandomStream& rng, const MutationSettings& settings,
                                ChildPlan& child, std::uint64_t birth);

}  // namespace cambrian::evolve

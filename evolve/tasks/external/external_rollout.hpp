#pragma once

#include <vector>

#include "cambrian/evolve/tasks/external/program_lanes.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// Mean of the sums of rewards of every network, which acts in worlds that programs step; NaN for
/// one whose actions are not finite, and see fitness_by_lanes.
[[nodiscard]] std::vector<double> rollout_fitness(ProgramPool& pool, Population& population,
                                                  const ExternalEpisodes& episodes,
                                                  const LaneSettings& settings);

/// What programs say of the networks themselves; see fitness_by_lanes.
[[nodiscard]] std::vector<double> judged_fitness(ProgramPool& pool, Population& population,
                                                 const ExternalEpisodes& episodes,
                                                 const LaneSettings& settings,
                                                 ExternalFrames frames);

}  // namespace cambrian::evolve

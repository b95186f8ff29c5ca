#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/evolve/tasks/external/program_pool.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// The episodes of an evaluation, common to all networks.
struct ExternalEpisodes {
    std::vector<std::uint64_t> seeds;  ///< One for each.
    std::int64_t steps = 0;            ///< Of the longest.
    std::string_view phase;
    std::uint64_t round = 0;
};

/// Mean of the sums of rewards of every network, NaN for one whose actions are not finite or with
/// which the program failed twice, alone. Networks are divided among `programs` of them; where one
/// fails, its networks are tried again in halves by a new one, so that no network answers for
/// another. Throws ChildFailure when the program fails whatever it is given.
[[nodiscard]] std::vector<double> external_fitness(ProgramPool& pool, Population& population,
                                                   const ExternalEpisodes& episodes,
                                                   std::int64_t programs);

}  // namespace cambrian::evolve

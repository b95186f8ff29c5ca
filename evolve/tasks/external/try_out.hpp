#pragma once

#include <cstdint>
#include <string>

#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/evolve/tasks/external/program_pool.hpp"

namespace cambrian::evolve {

/// What a program is asked once before a run: a short episode with actions of 0, or how good one
/// network with fresh weights is.
struct TryOut {
    ExternalEpisodes episodes;  ///< At level network all seeds are asked about, else the first.
    ExternalLevel level = ExternalLevel::policy;
    ExternalFrames frames = ExternalFrames::json;
    double seconds = 10.0;  ///< At most, for all messages together.
};

/// A line on what was tried, and what was not. Throws ConfigError where the program fails.
[[nodiscard]] std::string try_out(ProgramPool& pool, const TryOut& asked, const Blueprint& network);

}  // namespace cambrian::evolve

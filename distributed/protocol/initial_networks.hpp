#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/evolve/genome/genome.hpp"

// The networks that a run starts from (network.initial): rank 0 alone reads their files, and keeps
// copies in the run directory, so that neither the hosts of the workers nor a resume need it.
namespace cambrian::distributed {

/// Seconds that a worker that was told to end by a signal waits for the coordinator's stop.
inline constexpr double farewell_seconds = 5.0;

/// Asks rank 0 for the networks; nothing when the run ends, or a signal asks to end, before they
/// come. Throws ConfigError when rank 0 has none, InputError for a damaged one, Error after so many
/// seconds without an answer.
[[nodiscard]] std::optional<std::vector<evolve::Genome>> receive_initial(
    Communicator& communicator, const std::atomic<int>& interrupt, double patience_seconds);

}  // namespace cambrian::distributed

#pragma once

#include <atomic>
#include <optional>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/evolve/genome/genome.hpp"

// The network that a run starts from (network.initial): rank 0 alone reads its file, and keeps a
// copy in the run directory, so that neither the hosts of the workers nor a resume need it.
namespace cambrian::distributed {

/// Asks rank 0 for the network; nothing when the run ends, or a signal asks to end, before it
/// comes. Throws ConfigError when rank 0 has none, InputError for a damaged one, Error after so
/// many seconds without an answer.
[[nodiscard]] std::optional<evolve::Genome> receive_initial(Communicator& communicator,
                                                            const std::atomic<int>& interrupt,
                                                            double patience_seconds);

}  // namespace cambrian::distributed

#pragma once

#include <span>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/generation/genome_pool.hpp"
#include "cambrian/distributed/worker/compute_thread.hpp"

namespace cambrian::distributed {

/// A genome by the birth that made it; null where nobody has it any more.
using NamedIndividual = std::pair<evolve::BirthId, SharedIndividual>;

/// Sends another rank the genomes that it asked for, in messages of limited size, once their
/// weights are on the host. `communicator` lives until then.
void send_genomes(Communicator& communicator, int rank, ComputeThread& compute,
                  std::span<const NamedIndividual> wanted);

}  // namespace cambrian::distributed

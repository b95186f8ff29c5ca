#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/generation/genome_pool.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// A genome by the birth that made it; null where nobody has it any more.
using NamedIndividual = std::pair<evolve::BirthId, SharedIndividual>;

/// Sends another rank the genomes that it asked for, in messages of limited size, once their
/// weights are on the host. `communicator` lives until then.
void send_genomes(Communicator& communicator, int rank, ComputeThread& compute,
                  std::span<const NamedIndividual> wanted);

/// What was read of an answer: a genome, or the problem with it.
struct GenomeAnswer {
    SharedIndividual genome;
    std::string problem;
};

/// Reads what others answer. Genomes whose structures have the same bytes share one, also from
/// message to message while any of them lives: there are few structures, and making one takes
/// longer than all else of a genome.
class ReceivedGenomes {
  public:
    /// One answer for each genome of a reply.
    [[nodiscard]] std::vector<GenomeAnswer> read(const GenomeReply& reply, std::string_view source,
                                                 ThreadPool& threads);

  private:
    struct Form {
        Hash128 hash;
        evolve::SharedStructure structure;
        std::string problem;
    };
    [[nodiscard]] std::vector<Form> forms_of(const GenomeReply& reply, std::string_view source,
                                             ThreadPool& threads);
    void forget_dead();

    std::unordered_map<Hash128, std::weak_ptr<const evolve::Structure>, Hash128Hasher> known_;
    std::size_t max_known_ = 1024;  ///< With more, the dead ones are forgotten.
};

}  // namespace cambrian::distributed

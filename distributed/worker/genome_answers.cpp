#include "cambrian/distributed/worker/genome_answers.hpp"

#include <cstddef>

#include "cambrian/distributed/protocol/message.hpp"

namespace cambrian::distributed {
namespace {

/// Genomes in one message, until they are so many bytes: the next ones are encoded while these are
/// on their way, and all copies of them stay in a cache.
constexpr std::size_t reply_bytes = std::size_t{1} << 20U;

void send_all(Communicator& communicator, int rank, GenomeReply reply,
              std::span<const evolve::BirthId> origins, std::span<const SharedIndividual> genomes) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < genomes.size(); ++i) {
        reply.genomes.push_back({origins[i], evolve::encode(*genomes[i])});
        bytes += reply.genomes.back().bytes.size();
        if (bytes > reply_bytes) {
            send(communicator, rank, std::exchange(reply, {}));
            bytes = 0;
        }
    }
    send(communicator, rank, reply);
}

}  // namespace

void send_genomes(Communicator& communicator, int rank, ComputeThread& compute,
                  std::span<const NamedIndividual> wanted) {
    GenomeReply reply;
    std::vector<evolve::BirthId> origins;
    std::vector<SharedIndividual> genomes;
    for (const auto& [origin, genome] : wanted) {
        if (genome) {
            origins.push_back(origin);
            genomes.push_back(genome);
        } else {
            reply.gone.push_back(origin);
        }
    }
    compute.bring_to_host(std::move(genomes), [&communicator, rank, reply = std::move(reply),
                                               origins = std::move(origins)](
                                                  const std::vector<SharedIndividual>& arrived) {
        send_all(communicator, rank, reply, origins, arrived);
    });
}

}  // namespace cambrian::distributed

#pragma once

#include <cstddef>
#include <deque>
#include <map>
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
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// A genome by the birth that made it; null where nobody has it any more.
using NamedIndividual = std::pair<evolve::BirthId, SharedIndividual>;

/// The genomes that other ranks have asked for. Each rank is sent what it takes and little more, so
/// that one that is stopped holds no copies of all the rest.
class GenomeAnswers {
  public:
    /// A rank that has not taken so many bytes is sent no more.
    static constexpr std::size_t max_unfinished = std::size_t{8} << 20U;
    /// Bytes that come from the backend at once: each time waits for the jobs before.
    static constexpr std::size_t brought_at_once = std::size_t{256} << 20U;

    /// @param lease seconds in which a rank that lives takes something, unless more is on its way
    /// than a slow network brings by then.
    GenomeAnswers(Communicator& communicator, double lease, std::size_t part = brought_at_once)
        : communicator_(communicator), lease_(lease), part_(part) {}

    /// Begins to send a rank what it asked for. Weights that lie on the backend come to the host in
    /// parts, the next while the last of one are sent, by compute.hand_over(), which must not
    /// outlive this.
    void add(int rank, ComputeThread& compute, std::span<const NamedIndividual> wanted);
    /// Goes on. A rank that takes nothing for too long hears, should it come back, that the rest is
    /// gone: then it asks for it again, or gives back what needs it.
    void send_more();
    /// Whether send_more() is to be called soon again.
    [[nodiscard]] bool waiting() const;

  private:
    struct Queue {
        ComputeThread* compute = nullptr;    ///< That brings what is wanted to the host.
        std::deque<NamedIndividual> wanted;  ///< Not yet brought or sent,
        std::deque<NamedIndividual> ready;   ///< on the host, or gone; these are sent first.
        std::size_t ready_bytes = 0;
        bool bringing = false;
        std::size_t unfinished = 0;  ///< At the last look.
        LookTimer looks;
        double still = 0.0;  ///< Seconds since the rank took or asked for something.
        bool given_up = false;
    };
    void send_more(int rank, Queue& queue);
    void send_ready(int rank, Queue& queue);
    /// Brings the next part of what is wanted to the host.
    void bring(int rank, Queue& queue);

    Communicator& communicator_;
    double lease_;
    std::size_t part_;
    std::map<int, Queue> queues_;  ///< By rank; none is done.
};

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

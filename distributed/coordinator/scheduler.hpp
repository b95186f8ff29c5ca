#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/distributed/coordinator/lease_table.hpp"
#include "cambrian/distributed/coordinator/parent_pool.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// The coordinator's hands: gives births to workers and to its own compute thread, watches leases,
/// and collects outcomes. Tells the workers to stop when it is destroyed.
class Scheduler {
  public:
    Scheduler(Communicator& communicator, Backend& backend, const Experiment& experiment,
              Reporter& reporter, const std::atomic<int>& interrupt);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// Waits for the workers to introduce themselves, not longer than a lease or 10 seconds.
    void gather();
    /// One line about each rank.
    [[nodiscard]] std::vector<std::string> rank_lines() const;
    /// Warns where ranks of one host use the same GPU.
    void warn_of_sharing();

    /// What becomes of the births, by their places; nothing when interrupted. `parent_pool` holds
    /// the parents they name, and the successors of those of the call before.
    [[nodiscard]] std::optional<GenerationResults> evaluate(std::uint64_t generation,
                                                            std::span<const evolve::Birth> births,
                                                            ParentPool& parent_pool);
    /// Evaluates one genome on this rank; nothing when interrupted.
    [[nodiscard]] std::optional<JobResult> evaluate_alone(SharedGenome genome,
                                                          const evolve::EvaluationRound& round);
    /// Answers what workers have said, so that they do not take a wait of this rank for its end.
    void listen() { serve(std::chrono::microseconds{0}); }
    /// Seconds of every rank since the last call.
    [[nodiscard]] std::vector<RankSeconds> take_seconds();
    /// Of the coordinator's thread, beside those that work on shards.
    [[nodiscard]] ThreadPool& threads() { return threads_; }
    /// What this rank makes genomes with, beside its shards. They die before the scheduler.
    [[nodiscard]] GenomeMaker genome_maker() { return {&variation_, &shard_evaluator_.genomes()}; }
    /// What the workers' logs will say of the end.
    void set_farewell(std::string reason) { farewell_ = std::move(reason); }

  private:
    using Clock = std::chrono::steady_clock;

    /// Recent work of a rank: the last shard in full, each one before at half of its weight.
    struct Speed {
        double seconds = 0.0;
        double births = 0.0;
        [[nodiscard]] bool known() const { return seconds > 0.0 && births > 0.0; }
        [[nodiscard]] double births_in(double time) const { return births / seconds * time; }
    };
    /// What the coordinator knows of a rank; of itself only the speed.
    struct Peer {
        Speed speed;
        bool known = false;   ///< It said handshake.
        bool silent = false;  ///< Its lease lapsed: nothing is sent until it speaks.
        bool left = false;
        std::uint32_t room = 0;
        std::uint64_t damaged = 0;  ///< Messages that could not be read.
        Handshake handshake;
        Clock::time_point heard;
        std::vector<char> has;           ///< ParentPool genomes it was sent or made, by place.
        std::vector<char> can_make;      ///< Those whose parents it has.
        std::vector<Hash128> survivors;  ///< Of what it made, to be told with the next shard.
    };
    /// The generation in progress.
    struct Round {
        std::uint64_t generation = 0;
        std::span<const evolve::Birth> births;
        ParentPool& parent_pool;
        LeaseTable leases;
        GenerationResults results;
        std::uint64_t failures = 0;  ///< Births that could not be evaluated.
    };
    /// An order that is not written yet: what goes into it by place in the parent pool.
    struct Draft {
        int rank = 0;
        Shard shard;
        std::vector<Hash128> survivors;
        std::vector<std::uint32_t> parents;
        std::vector<std::uint32_t> recipes;  ///< Of `parents`, those that travel as recipes,
        std::vector<std::uint32_t> genomes;  ///< and those that travel as bytes.
    };
    /// Bytes of genomes of the parent pool by place, those that orders need.
    using EncodedGenomes = std::vector<std::vector<std::byte>>;

    [[nodiscard]] bool interrupted() const { return interrupt_.load() != 0; }
    [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] bool serving(const Peer& peer) const {
        return peer.known && !peer.silent && !peer.left;
    }
    /// How much a rank may be given next, from how fast each has been.
    [[nodiscard]] ShardLimits limits(int rank) const;
    /// Whether a rank may be given more: one with a GPU wants one large shard at a time, a GPU
    /// being as slow with half of the individuals.
    [[nodiscard]] bool has_room(int rank) const;
    [[nodiscard]] bool has_gpu(int rank) const;
    [[nodiscard]] double share_of(int rank) const;
    [[nodiscard]] Clock::time_point lease_end() const;
    [[nodiscard]] std::string title(int rank);

    void work_inline();
    void work_with_others();
    /// Finds out what a rank has of what lives, and what it can make.
    void take_stock(int rank);
    [[nodiscard]] Job job_of(const Shard& shard);
    void feed_own_thread();
    void feed_workers();
    /// The next order for a rank that wants one.
    [[nodiscard]] std::optional<Draft> next_draft(int rank);
    [[nodiscard]] Draft draft_of(int rank, Shard shard);
    /// Writes orders on all threads and sends them.
    void send_orders(std::vector<Draft>& drafts);
    [[nodiscard]] EncodedGenomes encode_for(std::span<const Draft> drafts);
    [[nodiscard]] ShardOrder order_of(const Draft& draft, const EncodedGenomes& encoded) const;
    /// Makes the children of a shard here.
    void make_children(const Shard& shard);
    void take_own_results();
    void take_result(JobResult result);

    void serve(std::chrono::microseconds patience);
    void handle(const Message& message);
    void dispatch(const Message& message);
    void welcome(int rank, Handshake handshake);
    void take_request(int rank, Request request);
    void take_failure(int rank, const ShardFailure& failure);
    void answer(int rank, const GenomeRequest& request);
    void watch_leases();
    void deliver(int rank, std::uint64_t shard, std::vector<evolve::Outcome>&& outcomes,
                 std::vector<SharedGenome>&& genomes);
    /// Says why a birth failed; of many in one generation only the first few.
    void warn_of_failure(evolve::BirthId id, const std::string& text);
    void fail_shard(int rank, std::uint64_t shard, const std::string& text);
    void report_progress();
    void note_speed(int rank, const ShardCost& cost, std::size_t births);

    Communicator& communicator_;
    const Experiment& experiment_;
    Reporter& reporter_;
    const std::atomic<int>& interrupt_;
    Handshake handshake_;
    std::vector<Peer> peers_;
    std::vector<ShardCost> seconds_;
    ShardEvaluator shard_evaluator_;  ///< Before whatever holds genomes that it made.
    ThreadPool& threads_;
    std::optional<Round> round_;
    std::uint64_t next_shard_ = 1;
    Clock::time_point last_progress_;
    std::string farewell_ = "the run has ended";
    evolve::Variation variation_;
    std::unique_ptr<ComputeThread> compute_;  ///< None with one rank, which works on its own.
};

}  // namespace cambrian::distributed

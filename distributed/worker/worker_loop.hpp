#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/distributed/worker/coordinator_watch.hpp"
#include "cambrian/distributed/worker/genome_answers.hpp"
#include "cambrian/distributed/worker/pending_shards.hpp"
#include "cambrian/distributed/worker/rank_log.hpp"
#include "cambrian/distributed/worker/remaking_budget.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// What a rank takes part in a run with.
struct Workplace {
    Communicator& communicator;
    Backend& backend;
    const Experiment& experiment;
    const std::atomic<int>& interrupt;
    const WorkerLimits& limits;
};

/// A rank that works for a coordinator: what run_worker does.
class Worker {
  public:
    /// @param compute outlives it, and what it has begun there.
    /// @param lock_excludes what an earlier coordinator showed, see CoordinatorLost. A successor
    /// that has not spoken yet holds the lock then, or has died: it is given a lease, like one that
    /// has.
    Worker(const Workplace& place, LocalCompute& compute, const Reign& reign, bool lock_excludes);

    /// Until the coordinator says stop, or is silent: then it throws CoordinatorLost. Returns the
    /// number of individuals evaluated.
    std::uint64_t run();
    /// Between two calls of run(), while the coordinator is silent: hears other ranks, and that one
    /// where it speaks again. What is evaluated is told when it does.
    /// @param message null: none came.
    void attend(const Message* message);
    /// It has spoken again.
    void go_on();

  private:
    /// Says that it has room once nothing of a former reign runs here.
    void begin_to_ask();
    void work();
    void ask(std::uint32_t room, std::vector<ShardResult> results);
    void report_results();
    void report_failure(const JobResult& result);
    void handle(const Message& message);
    void dispatch(const Message& message);
    /// There is work: the run is not that of another who was refused.
    void begin_log();
    /// Genomes that another rank lacks, from what lies here.
    void answer(int rank, const GenomeRequest& request);
    void keep_time();

    // The rounds that this rank moves through: worker_rounds.cpp.
    /// The next round, for this rank and others. What a former coordinator said is for nobody.
    void take_round_end(const Payload& payload, std::string_view source);
    /// Moves to the round after a record, if this rank is not there yet, and begins it.
    void follow(const RoundEnd& end);
    void take_early_end();
    /// What this rank begins a round with unasked.
    void take_first_share(const RoundEnd& end);
    /// Orders that came before what leads to their round.
    void take_early_orders();
    /// Moves to the rounds of an order.
    std::shared_ptr<const void> follow(ShardOrder& order);

    // Shards, the genomes that they lack, and their way to the compute thread: worker_shards.cpp.
    void take_shard(ShardOrder order);
    /// An order that was sent before this rank heard, by another one, of the end of a round: in the
    /// steady state the round of its births is still open.
    void take_overtaken(ShardOrder order);
    void accept_shard(ShardOrder order);
    /// Null where the order is of a round that is not open.
    [[nodiscard]] SharedRound round_of(const ShardOrder& order) const;
    void send_requests();
    [[nodiscard]] Clock::time_point deadline() const;
    void take_genomes(int rank, const GenomeReply& reply);
    /// A rank did not give a genome: the coordinator can get it. Where it cannot, the wait is over.
    /// @param problem told to the coordinator; empty where there was no answer at all.
    void lack(evolve::BirthId origin, int rank, const std::string& problem);
    /// Makes room where the wait of shards has ended.
    void give_back(const std::vector<std::uint64_t>& shards, const std::string& problem);
    void begin_complete();
    void begin(RoundOrder&& given);
    /// What another worker does not give in time, the coordinator is asked for.
    void watch_requests();

    Communicator& communicator_;
    const Experiment& experiment_;
    const std::atomic<int>& interrupt_;
    WorkerLimits limits_;
    Reign reign_;  ///< Of the coordinator; its epoch is known from its first order on.
    RankLog log_;
    ComputeThread& compute_;
    ThreadPool& threads_;
    Follower follower_;
    PendingShards pending_;
    ReceivedGenomes received_;
    GenomeAnswers answers_;
    std::set<std::uint64_t> begun_;  ///< Shards of open rounds that were begun here.
    /// Of rounds that this rank has not come to, by their numbers.
    std::map<std::uint64_t, RoundEnd> early_ends_;
    std::vector<ShardOrder> early_orders_;  ///< Of a round that this rank has not heard of.
    Clock::time_point round_deadline_ = Clock::time_point::max();  ///< Then it asks for it.
    std::shared_ptr<const void> retired_;
    std::set<std::uint64_t> held_;  ///< Shards on this rank: waiting or with the compute thread.
    std::uint64_t evaluated_ = 0;
    CoordinatorWatch watch_;
    RemakingBudget remaking_;
    ShardCost between_;  ///< What the next result tells besides its own.
    double since_heartbeat_ = 0.0;
    double farewell_ = 0.0;
    bool told_room_ = false;
    bool stopped_ = false;
    LookTimer looks_;
};

/// A worker that can begin and has introduced itself; where there can be none, the coordinator is
/// told. Parameters as of Worker.
/// @param compute made here where it is null.
[[nodiscard]] std::unique_ptr<Worker> make_worker(const Workplace& place,
                                                  std::shared_ptr<LocalCompute>& compute,
                                                  const Reign& reign, bool lock_excludes);

}  // namespace cambrian::distributed

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/distributed/coordinator/lease_table.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/generation/ancestry.hpp"
#include "cambrian/distributed/generation/follower.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/distributed/worker/genome_answers.hpp"
#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// What a generation came to, but for births that were carried over without an evaluation.
struct GenerationResults {
    /// The fittest of a shard.
    struct Best {
        std::uint32_t position = 0;
        std::uint64_t parameters = 0;
        std::uint64_t bytes = 0;     ///< Of its weights as they are stored.
        std::uint64_t products = 0;  ///< Of one evaluation, where they have a price.
    };
    evolve::Scores scores;  ///< By position.
    std::vector<HolderRange> holders;
    std::vector<Best> bests;  ///< Of every shard with a valid score.
    std::uint64_t env_steps = 0;
    std::uint64_t retries = 0;
    BirthDetails details;  ///< By position; empty columns where nobody wants them.
};

/// The coordinator's hands: gives births to workers and to its own compute thread, watches leases,
/// and collects outcomes. Tells the workers to stop when it is destroyed.
class Scheduler {
  public:
    /// @param ancestry makes what no rank has any more.
    /// @param turn its epoch, and what this rank computes with.
    Scheduler(Communicator& communicator, Backend& backend, const Experiment& experiment,
              const Ancestry& ancestry, Reporter& reporter, const std::atomic<int>& interrupt,
              const Turn& turn);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// Waits for the workers to introduce themselves, not longer than a lease or 10 seconds.
    void gather();
    /// One line about each rank.
    [[nodiscard]] std::vector<std::string> rank_lines() const;
    /// Warns where ranks of one host use the same GPU, or are bound to the same processors.
    void warn_of_sharing();
    /// Warns where ranks wait for each other because the window of the steady state is small.
    void warn_of_window();

    /// The rounds under way, with the genomes that are here.
    [[nodiscard]] Follower& follower() { return follower_; }
    [[nodiscard]] const Follower& follower() const { return follower_; }
    /// What becomes of the births of the oldest open round, while those of the others are
    /// evaluated, too, where a rank has nothing else to do; nothing when interrupted.
    [[nodiscard]] std::optional<GenerationResults> evaluate();
    /// The next round, here and with the next orders everywhere.
    /// @param next its state, where it is known already.
    /// @param goes_on whether the run comes to its births: then ranks begin with some at once.
    void follow(Record record, SharedStrategy next, bool goes_on);
    /// Births that are under way are no longer wanted: the run ends.
    void rest() { progress_.clear(); }
    /// The genome of a position of the oldest open round, which this rank evaluated; nothing when
    /// interrupted.
    [[nodiscard]] std::optional<SharedIndividual> genome_of(std::uint64_t position,
                                                            std::uint32_t evaluator);
    /// The genomes of positions of the oldest open round, which other ranks may have evaluated:
    /// what is not here is made again where its parents are, else fetched. Nothing when
    /// interrupted.
    [[nodiscard]] std::optional<std::vector<SharedIndividual>> genomes_of(
        std::span<const std::uint64_t> positions, std::span<const std::uint32_t> evaluators);
    /// The genome of a member of the newest round; nothing when interrupted.
    [[nodiscard]] std::optional<SharedIndividual> member_genome(std::size_t place);
    /// Brings the genomes of all parents of the open rounds here. False when interrupted.
    [[nodiscard]] bool gather_parents();
    /// Evaluates genomes on this rank, on the task of a generation; nothing when interrupted.
    [[nodiscard]] std::optional<JobResult> evaluate_alone(std::vector<ReadyChild> genomes,
                                                          const evolve::EvaluationRound& round,
                                                          std::uint64_t generation);
    /// Answers what workers have said, so that they do not take a wait of this rank for its end.
    void listen() { serve(std::chrono::microseconds{0}); }
    /// Seconds of every rank since the last call.
    [[nodiscard]] std::vector<RankSeconds> take_seconds();
    /// Of the coordinator's thread, beside those that work on shards.
    [[nodiscard]] ThreadPool& threads() const { return threads_; }
    /// The same genomes with their weights on the host; nothing when interrupted.
    [[nodiscard]] std::optional<std::vector<SharedIndividual>> on_host(
        std::vector<SharedIndividual> genomes);
    [[nodiscard]] std::optional<SharedIndividual> on_host(SharedIndividual genome);
    /// What a genome on the host was like when it was evaluated: after learning, where that is not
    /// inherited.
    /// @param origin the birth that made it.
    /// @param generation in which it was alive.
    [[nodiscard]] SharedIndividual grown(SharedIndividual genome, evolve::BirthId origin,
                                         std::uint64_t generation);
    /// The generation in which such a genome was evaluated last, and learned.
    [[nodiscard]] std::uint64_t evaluated(evolve::BirthId origin, std::uint64_t generation) const;
    /// Ancestry::make, with what individuals inherit of what was learned.
    [[nodiscard]] Ancestry::Genomes make_again(const Ancestry& ancestry,
                                               std::span<const evolve::BirthId> origins);
    /// Of this rank's backend.
    [[nodiscard]] std::int64_t memory_limit() const { return local_->memory_limit; }
    [[nodiscard]] GenomePool& genome_memory() { return shard_evaluator_.genomes(); }
    [[nodiscard]] const evolve::Variation& variation() const {
        return shard_evaluator_.variation();
    }
    /// What orders say of who coordinates; whoever was welcome before hears of it.
    void set_reign(const Reign& reign);
    /// What the workers' logs will say of the end; nothing: they are not told of one.
    void set_farewell(std::optional<std::string> reason) { farewell_ = std::move(reason); }

  private:
    /// ShardEvaluator::teach on the thread that works, after the jobs that it has. Workers are
    /// answered meanwhile: learning may take longer than a lease.
    void teach(std::vector<SharedIndividual>& genomes, std::uint64_t generation);

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
        bool asked = false;   ///< For births, since then: it has none of a former reign under way.
        bool silent = false;  ///< Its lease lapsed: nothing is sent until it speaks.
        bool left = false;
        bool diverged = false;  ///< It came to another state once: it begins nothing unasked.
        bool eager = false;     ///< There may be something for it, see eager_.
        std::uint32_t room = 0;
        std::uint64_t damaged = 0;  ///< Messages that could not be read.
        Handshake handshake;
        std::string title;
        Clock::time_point heard;
        Hash128 digest;  ///< Of the round it follows.
    };
    /// All ranks at a glance.
    struct Crew {
        std::uint64_t age = 0;  ///< Messages since then.
        bool occupied = false;  ///< The coordinator itself, by a birth of another reign.
        std::size_t ranks = 0;  ///< That may be given births, but at least 1.
        double mean = 1.0;      ///< Speed of one whose own is not known.
        double speed = 0.0;     ///< Of all, births in a second.
        double free = 0.0;      ///< Of those that have room.
        std::vector<std::uint32_t> absent;  ///< Ranks that answer nobody.
    };
    /// A shard that a rank begins with when it hears of a round.
    struct Unasked {
        std::uint64_t shard = 0;
        Clock::time_point since;
    };
    /// A round in progress.
    struct Progress {
        SharedRound round;
        LeaseTable leases;
        GenerationResults results;
        std::vector<std::uint32_t> ranks;  ///< Who evaluated each item.
        std::vector<ReadyChild> children;  ///< By item, where they are made here for others.
        std::uint64_t failures = 0;        ///< Births that could not be evaluated.
        std::map<int, Unasked> unasked{};  ///< By rank, while it has not spoken of it.
    };

    /// A shard, and the round it is of.
    struct Assignment {
        Progress& progress;
        Shard shard;
    };
    /// What the coordinator's thread does for other ranks. Former rounds count half of the next.
    struct Talk {
        double seconds = 0.0;
        double shards = 0.0;
        void fade() { seconds *= 0.5, shards *= 0.5; }
        [[nodiscard]] double seconds_of_shard() const {
            return shards > 0.0 ? seconds / shards : 0.0;
        }
    };
    /// A decision about the state with a digest.
    struct Step {
        Hash128 before;
        Record record;
    };

    [[nodiscard]] bool interrupted() const { return interrupt_.load() != 0; }
    /// Whether to end a wait for genomes that began then: an interrupt leaves it a moment, which
    /// the last checkpoint needs.
    [[nodiscard]] bool gives_up(Clock::time_point start) const;
    [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] bool serving(const Peer& peer) const {
        return peer.known && !peer.silent && !peer.left;
    }
    /// Whether it has spoken in the last part of a lease: it is alive, most likely.
    [[nodiscard]] bool heard_lately(const Peer& worker) const;
    /// How much a rank may be given next, from how fast each has been.
    [[nodiscard]] ShardLimits limits(int rank, const LeaseTable& leases);
    /// Whether a rank may be given more: one with a GPU wants one large shard at a time, a GPU
    /// being as slow with half of the individuals.
    [[nodiscard]] bool has_room(int rank) const;
    [[nodiscard]] bool has_gpu(int rank) const;
    /// Counted anew after so many messages that counting costs little beside them.
    [[nodiscard]] const Crew& crew();
    [[nodiscard]] double speed_of(const Peer& peer, double otherwise) const {
        return peer.speed.known() ? peer.speed.births_in(1.0) : otherwise;
    }
    [[nodiscard]] Clock::time_point lease_end() const;
    [[nodiscard]] const std::string& title(int rank);

    /// Begins the open rounds that the run will come to.
    /// @param zones of the births of the first, where they are not those of the round.
    void begin_rounds(std::span<const OrderRange> zones = {});
    /// The round of a shard; null where it is not in progress.
    [[nodiscard]] Progress* progress_of(std::uint64_t shard);
    void work_inline();
    void work_with_others();
    [[nodiscard]] Job job_of(const Assignment& given);
    void feed_own_thread();
    void feed_workers();
    /// The next shard for a rank, of the oldest round that has one.
    [[nodiscard]] std::optional<Assignment> next_shard(int rank, Clock::time_point deadline);
    [[nodiscard]] std::optional<Assignment> next_shard_of_worker(int rank);
    /// Gives a rank its next shard, if there is one.
    [[nodiscard]] bool feed(int rank);
    /// There may be something for a rank: it has spoken,
    void consider(int rank);
    /// or shards have come back that are for all.
    void consider_all();
    /// Without births: what a rank lacks to know the newest round.
    [[nodiscard]] ShardOrder empty_order(int rank);
    [[nodiscard]] ShardOrder order_of(int rank, const Assignment& given);
    /// Tells workers that have just asked for births what leads to the next round: few, who pass it
    /// on. → What they are told.
    RoundEnd spread(const Record& record, bool goes_on);
    /// How many births of the next round these ranks begin with; none: they wait for orders.
    [[nodiscard]] std::vector<FirstShare> first_shares(std::span<const std::uint32_t> ranks);
    /// What this rank takes where all births are divided among all, since all have GPUs and wait;
    /// else 0.
    [[nodiscard]] std::uint32_t share_beside(const RoundEnd& end);
    /// What a rank would take at once of as many births as the round before has.
    [[nodiscard]] FirstShare first_share_of(int rank);
    void lease_first_shares(const RoundEnd& end);
    /// A rank has spoken of what it was to begin with.
    static void hear_of(Progress& round, int rank, std::uint64_t shard);
    /// A rank that lives and does not hold what it was to begin with has not heard of the round:
    /// it is told by an order.
    void repeat_first_share(int rank, std::span<const std::uint64_t> held);
    void tell_round(int rank);
    /// Makes the children of a shard here. False when interrupted.
    [[nodiscard]] bool make_children(const Assignment& given);
    /// Parents that are not here come here. False when interrupted.
    [[nodiscard]] bool bring_parents(const Assignment& given);
    [[nodiscard]] bool bring(const Round& round, std::span<const std::uint32_t> places);
    /// One genome, see fetch(); nothing when interrupted.
    [[nodiscard]] std::optional<SharedIndividual> fetch_one(evolve::BirthId origin,
                                                            std::uint32_t holder);
    /// The genomes of these births, from other ranks or made again. False when interrupted.
    [[nodiscard]] bool fetch(std::span<const evolve::BirthId> origins,
                             std::span<const std::uint32_t> holders, Ancestry::Genomes& genomes);
    /// Takes out of requests what has come, and all that is asked of ranks that have left.
    void forget_given(std::map<int, GenomeRequest>& owed) const;
    /// Whether a fetch goes on waiting for ranks that owe genomes.
    /// @param last when it got something, or began.
    [[nodiscard]] bool waits_for_genomes(const std::map<int, GenomeRequest>& owed,
                                         Clock::time_point last) const;
    void take_own_results();
    void take_result(JobResult result);

    void serve(std::chrono::microseconds patience);
    void handle(const Message& message);
    void dispatch(const Message& message);
    void welcome(int rank, Handshake handshake);
    /// @param held the shards that a rank says it works on.
    void renew_leases(int rank, std::span<const std::uint64_t> held);
    void take_request(int rank, Request request);
    /// The digest of the state whose newest round is of a generation, where this rank passed it.
    [[nodiscard]] std::optional<Hash128> state_at(std::uint64_t generation) const;
    /// A rank came to another state of a round: nothing of it counts, and it is told all.
    void refuse_diverged(int rank);
    /// What a rank has is for others.
    void withdraw(int rank);
    void take_failure(int rank, const ShardFailure& failure);
    void answer(int rank, const GenomeRequest& request);
    /// Sends what a rank has asked for and is here, or was made for it; the others are told to be
    /// gone.
    void send_wanted(int rank, const GenomeRequest& request, const Ancestry::Genomes& made);
    /// Makes genomes that have learned once more on the thread that works, for the first of those
    /// that wait; the others are answered after it.
    void learn_again(std::vector<evolve::BirthId> lost);
    void watch_leases();
    /// Where this rank has looked at nothing for long, others were not silent: what they said
    /// meanwhile is still to be heard.
    void allow_for_gap();
    void take_genomes(int rank, const GenomeReply& reply);
    /// False where the answer does not count.
    bool deliver(int rank, std::uint64_t shard, const ShardScores& scores);
    void check_scores(int rank, const Progress& progress, const Shard& shard,
                      const ShardScores& scores) const;
    void note_scores(Progress& progress, OrderRange items, const ShardScores& scores) const;
    /// Says why a birth failed; of many in one generation only the first few.
    void warn_of_failure(Progress& progress, std::uint32_t position, const std::string& text);
    void fail_shard(int rank, std::uint64_t shard, const std::string& text);
    void report_progress();
    void note_speed(int rank, const ShardCost& cost, std::size_t births);

    [[nodiscard]] bool is_own(std::size_t rank) const {
        return rank == static_cast<std::size_t>(own_rank_);
    }

    Communicator& communicator_;
    int own_rank_;
    Reign reign_;
    const Experiment& experiment_;
    Reporter& reporter_;
    const std::atomic<int>& interrupt_;
    Handshake handshake_;
    std::vector<Peer> peers_;
    std::vector<int> eager_;  ///< Ranks that there may be something for; the others wait.
    std::optional<Crew> crew_;
    std::vector<ShardCost> seconds_;
    Talk talk_;
    std::shared_ptr<LocalCompute> local_;  ///< Before whatever holds genomes that it made.
    ShardEvaluator& shard_evaluator_;
    ComputeThread* compute_;  ///< Null with one rank, which works on its own.
    ThreadPool& threads_;
    const Ancestry& ancestry_;
    Follower follower_;
    std::deque<Step> steps_;               ///< The last, as many as rounds are open.
    std::deque<Hash128> passed_;           ///< States before the newest: more of them.
    std::shared_ptr<const void> retired_;  ///< Let go with the next shard of this rank.
    Ancestry::Genomes fetched_;            ///< Null until they come.
    ReceivedGenomes received_;
    GenomeAnswers answers_;
    /// Who waits for genomes that learn once more, and for which.
    std::vector<std::pair<int, GenomeRequest>> waiting_;
    std::deque<Progress> progress_;  ///< Of the first open rounds; empty between rounds.
    Clock::time_point last_progress_;
    Clock::time_point last_watch_;
    LookTimer looks_;                 ///< For messages or at leases.
    Clock::time_point worked_until_;  ///< Where no thread works but this one.
    std::optional<std::string> farewell_ = "the run has ended";
};

}  // namespace cambrian::distributed

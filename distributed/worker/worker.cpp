#include "cambrian/distributed/worker/worker.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/distributed/generation/first_shares.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/protocol/initial_networks.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/distributed/worker/coordinator_watch.hpp"
#include "cambrian/distributed/worker/genome_answers.hpp"
#include "cambrian/distributed/worker/pending_shards.hpp"
#include "cambrian/distributed/worker/rank_log.hpp"
#include "cambrian/distributed/worker/remaking_budget.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

namespace {

using std::chrono::microseconds;

constexpr std::uint32_t shards_in_flight = 2;
constexpr microseconds idle_patience{50'000};

class Worker {
  public:
    Worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
           const std::atomic<int>& interrupt, const WorkerLimits& limits, const Reign& reign,
           bool lock_excludes)
        : communicator_(communicator),
          experiment_(experiment),
          interrupt_(interrupt),
          limits_(limits),
          reign_(reign),
          handshake_(introduce(experiment, backend)),
          log_(experiment.directory, communicator.rank()),
          shard_evaluator_(backend, experiment, weights_may_stay(experiment, communicator.size())),
          threads_(backend.threads()),
          follower_(make_strategy(experiment),
                    {experiment.reevaluates(), static_cast<std::uint32_t>(communicator.size()),
                     !inherits_learning(experiment), first_generations(experiment.changes),
                     shard_evaluator_.makes_on_backend()},
                    shard_evaluator_.variation(), shard_evaluator_.genomes(), threads_),
          watch_(experiment, limits_, log_, reign.epoch > 0 && lock_excludes, lock_excludes),
          remaking_(limits),
          compute_(shard_evaluator_) {}

    /// Into this rank's log: whoever starts a job only sees what the coordinator says.
    void note(std::string_view text) { log_.line(text); }

    std::uint64_t run() {
        send(communicator_, reign_.rank, handshake_);
        ask(shards_in_flight, {});
        while (!stopped_) {
            report_results();
            compute_.hand_over();
            const bool busy = compute_.in_flight() > 0 || compute_.changes();
            const microseconds patience = busy ? ComputeThread::look_every : idle_patience;
            const bool thinks = busy && follower_.foresee();
            if (auto message = communicator_.receive(thinks ? microseconds{0} : patience)) {
                const Clock::time_point start = Clock::now();
                handle(*message);
                between_.communicate += seconds_since(start);
            }
            keep_time();
        }
        return evaluated_;
    }

  private:
    void ask(std::uint32_t room, std::vector<ShardResult> results) {
        const SharedRound& round = follower_.newest();
        send(communicator_, reign_.rank,
             Request{room, round->generation(), round->digest, std::move(results)});
    }

    void report_results() {
        std::vector<ShardResult> ready;
        std::vector<JobResult> done;
        std::uint32_t room = 0;
        while (auto result = compute_.take()) {
            held_.erase(result->shard);
            ++room;
            if (result->failure) {
                report_failure(*result);
                continue;
            }
            remaking_.note(*result);
            result->cost.vary += result->remaking;
            result->cost += std::exchange(between_, {});
            ready.push_back({result->shard, std::move(result->scores), result->cost});
            done.push_back(std::move(*result));
        }
        if (room > 0) {
            const Clock::time_point start = Clock::now();
            ask(room, std::move(ready));
            between_.communicate += seconds_since(start);
        }
        // The coordinator waits for scores, and nobody yet for genomes.
        for (JobResult& result : done) {
            evaluated_ += result.genomes.size();
            follower_.keep(*result.round, result.births, std::move(result.genomes));
        }
    }

    void report_failure(const JobResult& result) {
        const std::string text = describe(result.failure);
        const bool leaving = rank_lost(result.failure);
        log_.line(fmt::format("shard {} failed: {}", result.shard, text));
        send(communicator_, reign_.rank, ShardFailure{result.shard, text, leaving});
        if (leaving) {
            std::rethrow_exception(result.failure);
        }
    }

    void handle(const Message& message) {
        try {
            dispatch(message);
        } catch (const InputError& error) {
            log_.line(error.what());
            if (message.kind == MessageKind::shard) {
                ask(1, {});
            }
        }
    }

    void dispatch(const Message& message) {
        const std::string source = message.source == reign_.rank
                                       ? std::string("the coordinator")
                                       : fmt::format("rank {}", message.source);
        switch (message.kind) {
            case MessageKind::genome_request:
                answer(message.source, decode_message<GenomeRequest>(message.payload, source));
                return;
            case MessageKind::genomes:
                take_genomes(message.source, decode_message<GenomeReply>(message.payload, source));
                return;
            case MessageKind::round_end:
                take_round_end(message.payload, source);
                return;
            default:
                break;
        }
        if (message.source != reign_.rank) {
            log_.line(fmt::format("ignored a message from {}", source));
            return;
        }
        watch_.hear();
        switch (message.kind) {
            case MessageKind::shard:
                begin_log();
                take_shard(decode_message<ShardOrder>(message.payload, source));
                take_early_end();
                return;
            case MessageKind::stop: {
                const Stop stop = decode_message<Stop>(message.payload, source);
                // A run that was refused has nothing to say in the directory of another.
                if (log_.begun()) {
                    log_.line("stop: " + stop.reason);
                }
                stopped_ = true;
                return;
            }
            case MessageKind::heartbeat:
                reign_.epoch = decode_message<Heartbeat>(message.payload, source).epoch;
                if (reign_.epoch > 0) {
                    watch_.probe_lock();
                }
                return;
            default:
                log_.line(fmt::format("ignored a message of kind {}",
                                      static_cast<unsigned>(message.kind)));
        }
    }

    /// There is work: the run is not that of another who was refused.
    void begin_log() {
        log_.begin();
        watch_.probe_lock();
        watch_.say_whether_locks_exclude();
    }

    /// Genomes that another rank lacks, from what lies here.
    void answer(int rank, const GenomeRequest& request) {
        std::vector<NamedIndividual> wanted;
        for (const evolve::BirthId origin : request.origins) {
            wanted.emplace_back(origin, follower_.find(origin));
        }
        send_genomes(communicator_, rank, compute_, wanted);
    }

    /// The next round, for this rank and others. What a former coordinator said is for nobody.
    void take_round_end(const Payload& payload, std::string_view source) {
        const auto end = decode_message<RoundEnd>(payload, source);
        if (end.epoch != reign_.epoch) {
            return;
        }
        for (const std::uint32_t rank :
             end.after(static_cast<std::uint32_t>(communicator_.rank()))) {
            if (rank < static_cast<std::uint32_t>(communicator_.size())) {
                communicator_.send(static_cast<int>(rank), RoundEnd::kind, payload);
            }
        }
        communicator_.push(RoundEnd::kind);
        if (end.record.generation > follower_.round()->generation()) {
            early_end_ = end;  // It has overtaken the one before, which came another way.
        } else {
            follow(end);
        }
    }

    /// Moves to the round after a record, if this rank is not there yet, and begins it.
    void follow(const RoundEnd& end) {
        if (end.record.generation == follower_.round()->generation()) {
            retired_ = follower_.apply(end.record);
            give_back(pending_.give_up_before(follower_.round()->generation()), {});
        }
        // An order may have led here before.
        if (end.record.generation + 1 == follower_.round()->generation()) {
            take_first_share(end);
        }
        take_early_orders();
        take_early_end();
    }

    void take_early_end() {
        if (early_end_ && early_end_->record.generation <= follower_.round()->generation()) {
            follow(*std::exchange(early_end_, std::nullopt));
        }
    }

    /// What this rank begins a round with unasked.
    void take_first_share(const RoundEnd& end) {
        const auto own =
            std::ranges::find(end.ranks, static_cast<std::uint32_t>(communicator_.rank()));
        if (end.shares.empty() || own == end.ranks.end()) {
            return;
        }
        const Round& round = *follower_.newest();
        const auto index = static_cast<std::size_t>(own - end.ranks.begin());
        const auto all = static_cast<std::size_t>(communicator_.size());
        const OrderRange births = end.own_births > 0
                                      ? end.division(static_cast<std::uint32_t>(reign_.rank))
                                            .zones(all, round.order.size())[*own]
                                      : first_share(round.zones, *own, end.shares[index]);
        if (births.size() == 0) {
            return;
        }
        begin_log();
        ShardOrder order;
        order.digest = round.digest;
        order.generation = round.generation();
        order.epoch = end.epoch;
        order.shard = first_shard_of(order.generation) + index;
        order.begin = births.begin;
        order.end = births.end;
        order.absent = end.absent;
        take_shard(std::move(order));
    }

    /// Orders that came before what leads to their round.
    void take_early_orders() {
        round_deadline_ = Clock::time_point::max();
        for (ShardOrder& order : std::exchange(early_orders_, {})) {
            held_.erase(order.shard);
            take_shard(std::move(order));
        }
    }

    void take_shard(ShardOrder order) {
        reign_.epoch = order.epoch;
        if (order.digest != follower_.newest()->digest) {
            if (auto retired = follow(order)) {
                retired_ = std::move(retired);
            }
        }
        if (order.digest != follower_.newest()->digest && !order.state && order.records.empty() &&
            order.generation > follower_.newest()->generation()) {
            held_.insert(order.shard);
            if (early_orders_.empty()) {
                round_deadline_ = deadline();
            }
            early_orders_.push_back(std::move(order));
            return;
        }
        if (order.digest != follower_.newest()->digest) {
            if (order.state) {
                const std::string text =
                    "this rank comes to another state of the run than the coordinator (its build "
                    "or its memory differs) run without this host";
                send(communicator_, reign_.rank, ShardFailure{order.shard, text, true});
                throw Error(text);
            }
            ask(order.shard == 0 ? 0 : 1, {});  // It will be told the whole state.
            return;
        }
        if (order.shard != 0) {
            accept_shard(std::move(order));
        } else {
            take_early_orders();
        }
    }

    /// Moves to the rounds of an order.
    std::shared_ptr<const void> follow(ShardOrder& order) {
        if (!order.state && order.records.empty()) {
            return nullptr;
        }
        std::vector<std::shared_ptr<const void>> retired;
        if (order.state) {
            retired.push_back(
                follower_.load(order.state->strategy, std::move(order.state->holders)));
            give_back(pending_.give_up_before(follower_.round()->generation()), {});
        }
        for (const Record& record : order.records) {
            if (record.generation == follower_.round()->generation()) {
                retired.push_back(follower_.apply(record));
                give_back(pending_.give_up_before(follower_.round()->generation()), {});
            }
        }
        return std::make_shared<decltype(retired)>(std::move(retired));
    }

    void accept_shard(ShardOrder order) {
        if (held_.contains(order.shard) || begun_.contains(order.shard)) {
            return;  // It was told twice.
        }
        const OrderRange births{order.begin, order.end};
        const SharedRound round = round_of(order);
        if (!round || births.end > round->order.size() || births.size() == 0) {
            throw InputError(
                "a shard from the coordinator is refused (it names births that are not in the "
                "generation) check that every rank runs the same program");
        }
        held_.insert(order.shard);
        MissingParents missing = follower_.missing_parents(
            *round, births, remaking_.remakes(births.size()), !order.children.empty());
        between_.remade += missing.remade + missing.remakes.recipes.size();
        if (!missing.remakes.recipes.empty()) {
            compute_.remake(follower_, round, std::move(missing.remakes));
        }
        if (missing.places.empty()) {
            begin({std::move(order), round});
            return;
        }
        const std::set<std::uint32_t> absent(order.absent.begin(), order.absent.end());
        const auto whom = [&](std::uint32_t place) {
            const std::uint32_t holder = round->holders[place];
            const bool silent =
                absent.contains(holder) || static_cast<int>(holder) == communicator_.rank();
            return silent ? reign_.rank : static_cast<int>(holder);
        };
        pending_.add({std::move(order), round}, missing.places, whom, deadline());
        send_requests();
    }

    /// Null where the order is of a round that is not open.
    [[nodiscard]] SharedRound round_of(const ShardOrder& order) const {
        return order.ahead < follower_.open()
                   ? follower_.round(follower_.round()->generation() + order.ahead)
                   : nullptr;
    }

    void send_requests() {
        for (const auto& [rank, request] : pending_.take_requests()) {
            send(communicator_, rank, request);
        }
    }

    [[nodiscard]] Clock::time_point deadline() const {
        return Clock::now() +
               duration_of(experiment_.distribution.lease_seconds / heartbeats_in_a_lease);
    }

    void take_genomes(int rank, const GenomeReply& reply) {
        for (const NamedGenome& named : reply.genomes) {
            static_cast<void>(pending_.places_of(named.origin));
        }
        const std::vector<GenomeAnswer> answers =
            received_.read(reply, fmt::format("rank {}", rank), threads_);
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (answers[i].genome) {
                for (const PendingShards::Place& wanted :
                     pending_.places_of(reply.genomes[i].origin)) {
                    follower_.fill(*follower_.round(wanted.generation), wanted.place,
                                   answers[i].genome);
                }
                pending_.fill(reply.genomes[i].origin);
                ++between_.fetched;
            } else {
                lack(reply.genomes[i].origin, rank, answers[i].problem);
            }
        }
        for (const evolve::BirthId origin : reply.gone) {
            static_cast<void>(pending_.places_of(origin));
            lack(origin, rank, {});
        }
        begin_complete();
        send_requests();
    }

    /// A rank did not give a genome: the coordinator can get it. Where it cannot, the wait is over.
    /// @param problem told to the coordinator; empty where there was no answer at all.
    void lack(evolve::BirthId origin, int rank, const std::string& problem) {
        if (rank != reign_.rank) {
            pending_.ask_instead(origin, reign_.rank, Clock::time_point::max());
        } else {
            give_back(pending_.give_up(origin), problem);
        }
    }

    /// Makes room where the wait of shards has ended.
    void give_back(const std::vector<std::uint64_t>& shards, const std::string& problem) {
        for (std::uint64_t shard : shards) {
            held_.erase(shard);
            if (!problem.empty()) {
                log_.line(fmt::format("shard {} failed: {}", shard, problem));
                send(communicator_, reign_.rank, ShardFailure{shard, problem, false});
            }
            ask(1, {});
        }
    }

    void begin_complete() {
        for (RoundOrder& order : pending_.take_complete()) {
            begin(std::move(order));
        }
    }

    void begin(RoundOrder&& given) {
        const ShardOrder& order = given.order;
        Job job{order.shard,
                {evolve::Phase::train, given.round->generation()},
                given.round,
                {order.begin, order.end},
                follower_.lend_parents(*given.round),
                {}};
        job.children.resize(order.children.size());
        for_each_index(threads_, order.children.size(), 1, [&](std::size_t i) {
            job.children[i] = {std::make_shared<const evolve::Individual>(evolve::decode_genome(
                                   order.children[i].bytes, "the coordinator")),
                               order.children[i].retries};
        });
        begun_.erase(begun_.begin(),
                     begun_.lower_bound(first_shard_of(follower_.round()->generation())));
        begun_.insert(order.shard);
        job.retired = std::exchange(retired_, nullptr);  // Others wait for what this thread says.
        compute_.submit(std::move(job));
    }

    /// What another worker does not give in time, the coordinator is asked for.
    void watch_requests() {
        if (round_deadline_ < Clock::now()) {
            round_deadline_ = Clock::time_point::max();
            send(communicator_, reign_.rank, RoundRequest{});
        }
        for (const evolve::BirthId origin : pending_.overdue(Clock::now())) {
            pending_.ask_instead(origin, reign_.rank, Clock::time_point::max());
        }
        send_requests();
    }

    void keep_time() {
        const Clock::time_point now = Clock::now();
        const double lease = experiment_.distribution.lease_seconds;
        // A process that was suspended has heard nothing either, so no gap counts for much.
        const double passed = std::min(seconds_of(now - std::exchange(last_time_, now)),
                                       std::clamp(lease / heartbeats_in_a_lease, 0.1, 1.0));
        watch_.pass(passed);
        since_heartbeat_ += passed;
        if (since_heartbeat_ >= lease / heartbeats_in_a_lease) {
            since_heartbeat_ = 0.0;
            watch_.look_at_lock();
            send(communicator_, reign_.rank, Heartbeat{{held_.begin(), held_.end()}, 0});
        }
        watch_.check_silence(reign_);
        watch_requests();
        if (interrupt_.load() != 0) {
            farewell_ += passed;
            stopped_ = stopped_ || farewell_ > farewell_seconds;
        }
    }

    Communicator& communicator_;
    const Experiment& experiment_;
    const std::atomic<int>& interrupt_;
    WorkerLimits limits_;
    Reign reign_;  ///< Of the coordinator; its epoch is known from its first order on.
    Handshake handshake_;
    RankLog log_;
    ShardEvaluator shard_evaluator_;  ///< Before whatever holds genomes that it made.
    ThreadPool& threads_;
    Follower follower_;
    PendingShards pending_;
    ReceivedGenomes received_;
    std::set<std::uint64_t> begun_;         ///< Shards of open rounds that were begun here.
    std::optional<RoundEnd> early_end_;     ///< Of a round that this rank has not come to.
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
    bool stopped_ = false;
    Clock::time_point last_time_ = Clock::now();
    ComputeThread compute_;
};

}  // namespace

std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt, const WorkerLimits& limits,
                         const Reign& reign, bool lock_excludes) {
    std::optional<Worker> worker;
    try {
        worker.emplace(communicator, backend, experiment, interrupt, limits, reign, lock_excludes);
    } catch (const Error& error) {
        decline(communicator, error.what());
        throw;
    }
    try {
        return worker->run();
    } catch (const std::exception& error) {
        worker->note(error.what());
        throw;
    }
}

std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt) {
    return run_worker(communicator, backend, experiment, interrupt, WorkerLimits{});
}

}  // namespace cambrian::distributed

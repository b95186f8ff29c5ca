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
#include "cambrian/distributed/worker/genome_answers.hpp"
#include "cambrian/distributed/worker/pending_shards.hpp"
#include "cambrian/distributed/worker/rank_log.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/runs/run_status.hpp"

namespace cambrian::distributed {

namespace {

using std::chrono::microseconds;

constexpr std::uint32_t shards_in_flight = 2;
constexpr microseconds idle_patience{50'000};

constexpr double max_remakes = 1e9;
/// So many times as much where weights lie on a backend: whoever is asked for them is at work
/// there.
constexpr double backend_share = 5.0;

double seconds(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

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
          heard_(reign.epoch > 0 && lock_excludes),
          lock_excludes_(lock_excludes),
          remakes_per_birth_(limits.remaking_share > 0.0 ? max_remakes : 0.0),
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
                between_.communicate += seconds(Clock::now() - start);
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
        std::uint32_t room = 0;
        while (auto result = compute_.take()) {
            held_.erase(result->shard);
            ++room;
            if (result->failure) {
                report_failure(*result);
                continue;
            }
            const std::size_t births = result->genomes.size();
            note_speed(*result);
            follower_.keep(*result->round, result->births, std::move(result->genomes));
            evaluated_ += births;
            result->cost.vary += result->remaking;
            result->cost += std::exchange(between_, {});
            ready.push_back({result->shard, std::move(result->scores), result->cost});
        }
        if (room > 0) {
            const Clock::time_point start = Clock::now();
            ask(room, std::move(ready));
            between_.communicate += seconds(Clock::now() - start);
        }
    }

    void note_speed(const JobResult& result) {
        const auto births = static_cast<double>(result.genomes.size());
        if (births == 0.0 || result.cost.vary <= 0.0) {
            return;
        }
        double seconds_of_one = result.cost.vary / births;
        if (result.remade > 0) {
            seconds_of_one =
                std::max(seconds_of_one, result.remaking / static_cast<double>(result.remade));
        }
        const double share =
            limits_.remaking_share * (result.genomes.front()->on_host() ? 1.0 : backend_share);
        remakes_per_birth_ = share * result.cost.evaluate / births / seconds_of_one;
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
        silence_ = 0.0;
        heard_ = true;
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
                    probe_lock();
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
        probe_lock();
        say_whether_locks_exclude();
    }

    /// While the coordinator lives and holds the lock: whether that can be seen here. Until it was
    /// seen once, each word of it is an occasion: a file system may be slow to show it.
    void probe_lock() {
        if (lock_excludes_ || experiment_.distribution.takeover == Takeover::never) {
            return;
        }
        try {
            lock_excludes_ = holder_of_run(experiment_.directory).has_value();
            why_not_ = "the system says that nobody holds it";
        } catch (const InputError& error) {
            why_not_ = error.what();
        }
    }

    void say_whether_locks_exclude() {
        if (why_not_.empty() || lock_excludes_ == said_that_locks_exclude_) {
            return;
        }
        said_that_locks_exclude_ = lock_excludes_;
        if (lock_excludes_) {
            log_.line("this rank sees the lock now, and may follow a coordinator that dies");
            return;
        }
        log_.line(fmt::format(
            "this rank will not follow a coordinator that dies (the lock of {} means nothing "
            "here: {}) put run.directory on a file system that all hosts see and whose locks "
            "they share",
            experiment_.directory.string(), why_not_));
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
            if (static_cast<int>(rank) < communicator_.size()) {
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
        const OrderRange births = first_share(round.zones, *own, end.shares[index]);
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
        const double affordable = remakes_per_birth_ * static_cast<double>(births.size());
        MissingParents missing = follower_.missing_parents(
            *round, births, static_cast<std::size_t>(std::min(affordable, max_remakes)),
            !order.children.empty());
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
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                   experiment_.distribution.lease_seconds / heartbeats_in_a_lease));
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
        const double passed = std::min(seconds(now - std::exchange(last_time_, now)),
                                       std::clamp(lease / heartbeats_in_a_lease, 0.1, 1.0));
        silence_ += passed;
        since_heartbeat_ += passed;
        if (since_heartbeat_ >= lease / heartbeats_in_a_lease) {
            since_heartbeat_ = 0.0;
            if (!heard_) {
                watch_start();
            }
            send(communicator_, reign_.rank, Heartbeat{{held_.begin(), held_.end()}, 0});
        }
        check_silence();
        watch_requests();
        if (interrupt_.load() != 0) {
            farewell_ += passed;
            stopped_ = stopped_ || farewell_ > farewell_seconds;
        }
    }

    /// Before its first word only the lock shows that a coordinator lives.
    void watch_start() {
        bool held = false;
        try {
            held = holder_of_run(experiment_.directory).has_value();
        } catch (const InputError&) {
            return;  // Its patience ends the wait.
        }
        looks_at_free_lock_ = held ? 0 : looks_at_free_lock_ + 1;
        seen_held_ = seen_held_ || held;
        constexpr int certain = 2;
        if (seen_held_ && looks_at_free_lock_ >= certain) {
            throw CoordinatorLost(
                fmt::format("the coordinator ended before its first word (the lock of {} was held, "
                            "and is free) start the run again with --continue",
                            experiment_.directory.string()),
                std::nullopt, true);
        }
    }

    /// A coordinator that lives answers every heartbeat, whatever else it does.
    void check_silence() const {
        const double lease = experiment_.distribution.lease_seconds;
        if (heard_ && silence_ > std::max(limits_.silence_seconds, lease)) {
            throw CoordinatorLost(
                fmt::format("the coordinator has been silent for a lease, {:.3g} seconds (it "
                            "died or is stuck; distributed.lease_seconds is {:g}) resume the run "
                            "from its last checkpoint",
                            silence_, lease),
                reign_, lock_excludes_);
        }
        if (!heard_ && silence_ > limits_.first_contact_seconds) {
            throw CoordinatorLost(
                fmt::format("the coordinator has not spoken for {:.3g} seconds (it died or is "
                            "slow to begin) resume the run, or start it again",
                            silence_),
                std::nullopt, lock_excludes_);
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
    bool heard_;          ///< The coordinator has spoken, or must soon.
    bool lock_excludes_;  ///< See CoordinatorLost.
    bool said_that_locks_exclude_ = true;
    bool seen_held_ = false;      ///< Before the first word, and how often it was free
    int looks_at_free_lock_ = 0;  ///< since.
    std::string why_not_;         ///< What the last look at the lock showed.
    double remakes_per_birth_;    ///< That take a small share of its evaluation.
    ShardCost between_;           ///< What the next result tells besides its own.
    double silence_ = 0.0;
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

#include "cambrian/distributed/coordinator/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "cambrian/distributed/generation/first_shares.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

using std::chrono::microseconds;

constexpr std::size_t shards_in_flight = 2;
constexpr microseconds idle_patience{10'000};
constexpr double longest_gather_seconds = 10.0;
/// After a takeover: who lives is here by then, and who comes later is welcome.
constexpr double longest_second_gather = 0.5;
/// States that a rank hears of with a newer one: one that was at none of them keeps nothing.
constexpr std::size_t told_states = 64;

}  // namespace

Scheduler::Scheduler(Communicator& communicator, Backend& backend, const Experiment& experiment,
                     const Ancestry& ancestry, Reporter& reporter,
                     const std::atomic<int>& interrupt, const Turn& turn)
    : communicator_(communicator),
      own_rank_(communicator.rank()),
      reign_(turn.reign),
      experiment_(experiment),
      reporter_(reporter),
      interrupt_(interrupt),
      handshake_(introduce(experiment, backend)),
      peers_(static_cast<std::size_t>(communicator.size())),
      seconds_(peers_.size()),
      local_(turn.compute
                 ? turn.compute
                 : std::make_shared<LocalCompute>(backend, experiment, communicator.size())),
      shard_evaluator_(local_->shard_evaluator),
      compute_(local_->thread.get()),
      threads_(backend.threads()),
      ancestry_(ancestry),
      follower_(make_strategy(experiment),
                {experiment.reevaluates(), static_cast<std::uint32_t>(communicator.size()),
                 !inherits_learning(experiment), first_generations(experiment.changes),
                 shard_evaluator_.makes_on_backend()},
                shard_evaluator_.variation(), shard_evaluator_.genomes(), threads_),
      answers_(communicator, experiment.distribution.lease_seconds),
      last_progress_(Clock::now()),
      last_watch_(Clock::now()),
      worked_until_(Clock::now()) {
    Peer& own = peer(own_rank_);
    own.known = true;
    own.silent = true;  // Nothing is sent to it.
    for (const int rank : reign_.dead) {
        if (rank >= 0 && rank < communicator.size()) {
            peer(rank).left = true;
        }
    }
}

Scheduler::~Scheduler() {
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        // A silent one may only have been suspended, and must not wait for its own watchdog then.
        if (!farewell_ || peer(rank).left || rank == own_rank_) {
            continue;
        }
        try {
            send(communicator_, rank, Stop{*farewell_});
        } catch (const std::exception&) {
            // The worker's own watchdog ends it.
        }
    }
    try {
        if (compute_ != nullptr) {
            compute_->change_owner();
            compute_->drain();  // What runs there may use this scheduler.
        }
    } catch (const std::exception&) {
        // Then nothing runs there.
    }
}

void Scheduler::gather() {
    const double limit =
        std::min(experiment_.distribution.lease_seconds,
                 reign_.dead.empty() ? longest_gather_seconds : longest_second_gather);
    const Clock::time_point start = Clock::now();
    const auto missing = [this] {
        return std::count_if(peers_.begin(), peers_.end(),
                             [](const Peer& entry) { return !entry.known && !entry.left; });
    };
    while (missing() > 0 && !interrupted() && seconds_since(start) < limit) {
        serve(idle_patience);
    }
    if (missing() > 0 && !interrupted()) {
        reporter_.warning(
            fmt::format("{} of {} ranks have not reported yet (they are slow to start "
                        "or dead) the run begins without them",
                        missing(), peers_.size()));
    }
}

void Scheduler::set_reign(const Reign& reign) {
    reign_ = reign;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        if (serving(peer(rank))) {
            send(communicator_, rank, Heartbeat{{}, reign_.epoch});
        }
    }
}

std::vector<std::string> Scheduler::rank_lines() const {
    std::vector<std::string> lines;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        const Handshake& handshake = is_own(rank) ? handshake_ : peers_[rank].handshake;
        const std::string device = handshake.device.empty() ? "" : ", device " + handshake.device;
        lines.push_back(peers_[rank].known
                            ? fmt::format("rank {} on {}: {}, {} processors{}", rank,
                                          handshake.host, handshake.fingerprint,
                                          handshake.processors, device)
                            : fmt::format("rank {}: {}", rank,
                                          peers_[rank].left ? "takes no part" : "not here yet"));
    }
    return lines;
}

void Scheduler::warn_of_sharing() {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> users, bound;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        const Handshake& handshake = is_own(rank) ? handshake_ : peers_[rank].handshake;
        if (!handshake.device.empty()) users[{handshake.host, handshake.device}].push_back(rank);
        if (const std::size_t at = handshake.fingerprint.find(bound_to); at != std::string::npos)
            bound[{handshake.host, handshake.fingerprint.substr(at + bound_to.size())}].push_back(
                rank);
    }
    for (const auto& [place, ranks] : bound) {
        const Handshake& first =
            is_own(ranks.front()) ? handshake_ : peers_[ranks.front()].handshake;
        if (ranks.size() <= first.processors) continue;
        reporter_.warning(fmt::format(
            "ranks {} on {} are bound to the same processors, {} (they wait for each other while "
            "others of the host may be idle) bind each to its own, or none (--bind-to none)",
            fmt::join(ranks, ", "), place.first, place.second));
    }
    for (const auto& [place, ranks] : users) {
        if (ranks.size() < 2) continue;
        reporter_.warning(fmt::format(
            "ranks {} on {} share one device, {} (they wait for each other, and split its memory) "
            "start one rank for each device",
            fmt::join(ranks, ", "), place.first, place.second));
    }
}

void Scheduler::warn_of_window() {
    const evolve::SteadyStateSettings& steady = experiment_.steady_state;
    const std::size_t queues = peers_.size() * shards_in_flight;
    if (peers_.size() > 1 && steady.on() && steady.window < queues) {
        reporter_.warning(fmt::format(
            "steady_state.window is {} ({} ranks have room for {} births, so some of them wait) a "
            "run of its own with a larger window would be faster",
            steady.window, peers_.size(), queues));
    }
}

const std::string& Scheduler::title(int rank) {
    Peer& entry = peer(rank);
    if (entry.title.empty()) {
        entry.title = entry.known ? fmt::format("rank {} on {}", rank, entry.handshake.host)
                                  : fmt::format("rank {}", rank);
    }
    return entry.title;
}

void Scheduler::begin_rounds(std::span<const OrderRange> zones) {
    while (progress_.size() < follower_.open()) {
        const std::uint64_t generation = follower_.round()->generation() + progress_.size();
        if (!progress_.empty() && generation >= experiment_.stop.generations) {
            return;
        }
        const SharedRound& round = follower_.round(generation);
        const auto shard_size = static_cast<std::size_t>(experiment_.distribution.shard_size);
        const bool divided = progress_.empty() && !zones.empty();
        Progress& begun = progress_.emplace_back(
            Progress{round,
                     LeaseTable(round->order.size(), first_shard_of(generation), shard_size,
                                divided ? zones : std::span<const OrderRange>(round->zones)),
                     {},
                     std::vector<std::uint32_t>(round->order.size(), 0U),
                     {},
                     0});
        begun.results.scores = evolve::Scores(round->strategy->births());
        if (!round->kinship.empty()) {
            begun.results.scores.species.assign(round->strategy->births(), evolve::unmatched);
        }
        if (round->regulated) {
            begun.results.scores.complexity.assign(round->strategy->births(), 0U);
        }
    }
}

Scheduler::Progress* Scheduler::progress_of(std::uint64_t shard) {
    const std::uint64_t ahead = generation_of(shard) - follower_.round()->generation();
    return ahead < progress_.size() ? &progress_[ahead] : nullptr;
}

std::optional<GenerationResults> Scheduler::evaluate() {
    begin_rounds();
    consider_all();
    if (compute_) {
        work_with_others();
    } else {
        work_inline();
    }
    Progress& told = progress_.front();
    if (!told.leases.done()) {
        return std::nullopt;
    }
    GenerationResults results = std::move(told.results);
    const bool made_here = experiment_.distribution.exchange == Exchange::genomes;
    if (made_here) {
        std::ranges::fill(told.ranks, static_cast<std::uint32_t>(own_rank_));
    }
    for (auto item = told.ranks.begin(); item != told.ranks.end();) {
        const std::uint32_t rank = *item;
        item = std::find_if(item, told.ranks.end(),
                            [rank](std::uint32_t other) { return other != rank; });
        results.holders.push_back({static_cast<std::uint32_t>(item - told.ranks.begin()), rank});
    }
    return results;
}

void Scheduler::work_inline() {
    Progress& told = progress_.front();
    while (!told.leases.done() && !interrupted()) {
        const auto shard =
            told.leases.issue(own_rank_, limits(own_rank_, told.leases), Clock::time_point::max());
        CAMBRIAN_ASSERT(shard.has_value());
        const Assignment given{told, *shard};
        if (!bring_parents(given)) {
            return;
        }
        const Clock::time_point start = Clock::now();
        Job job = job_of(given);
        job.retired = std::move(retired_);
        JobResult result = shard_evaluator_.work(job);
        result.cost.wait = seconds_of(start - std::exchange(worked_until_, Clock::now()));
        take_result(std::move(result));
        report_progress();
    }
}

void Scheduler::work_with_others() {
    while (!progress_.front().leases.done() && !interrupted()) {
        feed_workers();
        feed_own_thread();
        const bool thinks = follower_.foresee();
        serve(thinks                      ? microseconds{0}
              : compute_->in_flight() > 0 ? ComputeThread::look_every
                                          : idle_patience);
        take_own_results();
        watch_leases();
        report_progress();
    }
}

void Scheduler::follow(Record record, SharedStrategy next, bool goes_on) {
    const Hash128 before = follower_.newest()->digest;
    // They follow while this rank does.
    const RoundEnd end = spread(record, goes_on);
    retired_ = follower_.apply(record, std::move(next));
    for (const std::uint32_t rank : end.ranks) {
        peers_[rank].digest = follower_.newest()->digest;
    }
    passed_.push_back(before);
    if (passed_.size() > told_states) {
        passed_.pop_front();
    }
    steps_.push_back({before, std::move(record)});
    while (steps_.size() > follower_.open()) {
        steps_.pop_front();
    }
    for (const auto& [rank, share] : progress_.front().unasked) {
        ++peer(rank).room;  // It has not heard of the round, and never will.
    }
    progress_.pop_front();
    talk_.fade();
    lease_first_shares(end);
}

void Scheduler::lease_first_shares(const RoundEnd& end) {
    if (end.shares.empty()) {
        return;
    }
    std::vector<OrderRange> zones;
    if (end.own_births > 0) {
        zones = end.division(static_cast<std::uint32_t>(own_rank_))
                    .zones(peers_.size(), follower_.newest()->order.size());
    }
    begin_rounds(zones);
    Progress& begun = progress_.front();
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < end.shares.size(); ++i) {
        const auto rank = static_cast<int>(end.ranks[i]);
        const FirstShare share = zones.empty() ? end.shares[i] : FirstShare::whole();
        if (begun.leases.give(rank, share, lease_end())) {
            --peer(rank).room;
            begun.unasked.emplace(rank,
                                  Unasked{first_shard_of(begun.round->generation()) + i, now});
        }
    }
}

std::optional<JobResult> Scheduler::evaluate_alone(std::vector<ReadyChild> genomes,
                                                   const evolve::EvaluationRound& round,
                                                   std::uint64_t generation) {
    Job job{0, round, nullptr, {}, nullptr, std::move(genomes)};
    job.generation = generation;
    if (!compute_) {
        return shard_evaluator_.work(job);
    }
    compute_->submit(std::move(job));
    while (!interrupted()) {
        // Others need not wait for it.
        feed_workers();
        feed_own_thread();
        serve(ComputeThread::look_every);
        watch_leases();
        std::optional<JobResult> alone;
        while (auto result = compute_->take()) {
            if (result->shard == 0) {
                alone = std::move(result);
            } else {
                take_result(std::move(*result));
            }
        }
        if (alone) {
            return alone;
        }
    }
    return std::nullopt;
}

std::vector<RankSeconds> Scheduler::take_seconds() {
    std::vector<RankSeconds> taken;
    for (std::size_t rank = 0; rank < seconds_.size(); ++rank) {
        taken.push_back({static_cast<int>(rank), std::exchange(seconds_[rank], ShardCost{})});
    }
    return taken;
}

Job Scheduler::job_of(const Assignment& given) {
    const SharedRound& round = given.progress.round;
    return {given.shard.id,
            {evolve::Phase::train, round->generation()},
            round,
            given.shard.items,
            follower_.lend_parents(*round),
            {}};
}

std::optional<Scheduler::Assignment> Scheduler::next_shard(int rank, Clock::time_point deadline) {
    for (Progress& round : progress_) {
        if (round.leases.exhausted()) {
            continue;
        }
        if (const auto shard = round.leases.issue(rank, limits(rank, round.leases), deadline)) {
            if (has_gpu(rank)) {
                crew_.reset();  // It has no room any more.
            }
            return Assignment{round, *shard};
        }
    }
    return std::nullopt;
}

void Scheduler::feed_own_thread() {
    // Other ranks are not to wait for births that wait for one that nobody wants any more.
    while (!compute_->occupied() && compute_->in_flight() < shards_in_flight &&
           has_room(own_rank_)) {
        const auto given = next_shard(own_rank_, Clock::time_point::max());
        if (!given || !bring_parents(*given)) {
            return;
        }
        Job job = job_of(*given);
        job.retired = std::exchange(retired_, nullptr);  // Others wait for what this thread says.
        compute_->submit(std::move(job));
    }
}

void Scheduler::take_own_results() {
    while (auto result = compute_->take()) {
        take_result(std::move(*result));
    }
}

void Scheduler::take_result(JobResult result) {
    if (compute_) {
        compute_->hand_over();  // Parents that were made before it: the round may end with it.
    }
    if (crew_) {
        ++crew_->age;
    }
    if (result.failure) {
        if (rank_lost(result.failure)) {
            std::rethrow_exception(result.failure);
        }
        fail_shard(own_rank_, result.shard, describe(result.failure));
        return;
    }
    result.cost.vary += result.remaking;
    note_speed(own_rank_, result.cost, result.births.size());
    seconds_[static_cast<std::size_t>(own_rank_)] += result.cost;
    follower_.keep(*result.round, result.births, std::move(result.genomes));
    static_cast<void>(deliver(own_rank_, result.shard, result.scores));
}

void Scheduler::report_progress() {
    const Clock::time_point now = Clock::now();
    if (seconds_of(now - last_progress_) >= 0.1) {
        last_progress_ = now;
        const Progress& told = progress_.front();
        reporter_.progressed(told.round->generation(), told.leases.accepted(), told.leases.items());
    }
}

}  // namespace cambrian::distributed

#include "cambrian/distributed/coordinator/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

using std::chrono::microseconds;

constexpr std::size_t shards_in_flight = 2;
constexpr microseconds busy_patience{200};
constexpr microseconds idle_patience{10'000};
/// A shard takes at most about this long, so that an interrupt and a re-issue come soon.
constexpr double longest_shard_seconds = 0.1;
/// And at least about this long, so that messages do not outweigh the work.
constexpr double shortest_shard_seconds = 0.001;
/// The same for a GPU, which gets its share in one piece where that is not too long.
constexpr double longest_gpu_shard_seconds = 1.0;
/// Births in a shard while nobody knows how long one takes.
constexpr std::size_t first_shard = 16;
constexpr double longest_gather_seconds = 10.0;

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Scheduler::Scheduler(Communicator& communicator, Backend& backend, const Experiment& experiment,
                     const Ancestry& ancestry, Reporter& reporter,
                     const std::atomic<int>& interrupt, const Reign& reign)
    : communicator_(communicator),
      own_rank_(communicator.rank()),
      reign_(reign),
      experiment_(experiment),
      reporter_(reporter),
      interrupt_(interrupt),
      handshake_(introduce(experiment, backend)),
      peers_(static_cast<std::size_t>(communicator.size())),
      seconds_(peers_.size()),
      shard_evaluator_(backend, experiment, communicator.size() == 1),
      threads_(backend.threads()),
      ancestry_(ancestry),
      follower_(make_strategy(experiment),
                {experiment.reevaluates(), static_cast<std::uint32_t>(communicator.size())},
                shard_evaluator_.variation(), shard_evaluator_.genomes(), threads_),
      last_progress_(Clock::now()),
      worked_until_(Clock::now()) {
    Peer& own = peer(own_rank_);
    own.known = true;
    own.silent = true;  // Nothing is sent to it.
    for (const int rank : reign.dead) {
        if (rank >= 0 && rank < communicator.size()) {
            peer(rank).left = true;
        }
    }
    if (communicator.size() > 1) {
        compute_ = std::make_unique<ComputeThread>(shard_evaluator_);
    }
}

Scheduler::~Scheduler() {
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        // A silent one may only have been suspended, and must not wait for its own watchdog then.
        if (peer(rank).left || rank == own_rank_) {
            continue;
        }
        try {
            send(communicator_, rank, Stop{farewell_});
        } catch (const std::exception&) {
            // The worker's own watchdog ends it.
        }
    }
}

void Scheduler::gather() {
    const double limit = std::min(experiment_.distribution.lease_seconds, longest_gather_seconds);
    const Clock::time_point start = Clock::now();
    const auto missing = [this] {
        return std::count_if(peers_.begin(), peers_.end(),
                             [](const Peer& entry) { return !entry.known && !entry.left; });
    };
    while (missing() > 0 && !interrupted() && seconds_between(start, Clock::now()) < limit) {
        serve(idle_patience);
    }
    if (missing() > 0 && !interrupted()) {
        reporter_.warning(
            fmt::format("{} of {} ranks have not reported yet (they are slow to start "
                        "or dead) the run begins without them",
                        missing(), peers_.size()));
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
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> users;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        const Handshake& handshake = is_own(rank) ? handshake_ : peers_[rank].handshake;
        if (!handshake.device.empty()) users[{handshake.host, handshake.device}].push_back(rank);
    }
    for (const auto& [place, ranks] : users) {
        if (ranks.size() < 2) continue;
        reporter_.warning(fmt::format(
            "ranks {} on {} share one device, {} (they wait for each other, and split its memory) "
            "start one rank for each device",
            fmt::join(ranks, ", "), place.first, place.second));
    }
}

std::string Scheduler::title(int rank) {
    return peer(rank).known ? fmt::format("rank {} on {}", rank, peer(rank).handshake.host)
                            : fmt::format("rank {}", rank);
}

std::optional<GenerationResults> Scheduler::evaluate() {
    const Round& round = *follower_.round();
    const auto shard_size = static_cast<std::size_t>(experiment_.distribution.shard_size);
    progress_.emplace(Progress{LeaseTable(round.order.size(), next_shard_, shard_size),
                               {},
                               std::vector<std::uint32_t>(round.order.size(), 0U),
                               {},
                               0});
    progress_->results.scores = evolve::Scores(round.strategy->births());
    if (compute_) {
        work_with_others();
    } else {
        work_inline();
    }
    next_shard_ = progress_->leases.next_shard();
    const bool done = progress_->leases.done();
    GenerationResults results = std::move(progress_->results);
    const bool made_here = experiment_.distribution.exchange == Exchange::genomes;
    for (std::size_t item = 0; item < progress_->ranks.size(); ++item) {
        const std::uint32_t rank =
            made_here ? static_cast<std::uint32_t>(own_rank_) : progress_->ranks[item];
        if (results.holders.empty() || results.holders.back().rank != rank) {
            results.holders.push_back({0, rank});
        }
        results.holders.back().end = static_cast<std::uint32_t>(item + 1);
    }
    progress_.reset();
    return done ? std::optional(std::move(results)) : std::nullopt;
}

void Scheduler::work_inline() {
    while (!progress_->leases.done() && !interrupted()) {
        const auto shard =
            progress_->leases.issue(own_rank_, limits(own_rank_), Clock::time_point::max());
        CAMBRIAN_ASSERT(shard.has_value());
        if (!bring_parents(shard->items)) {
            return;
        }
        const Clock::time_point start = Clock::now();
        Job job = job_of(*shard);
        job.retired = std::move(retired_);
        JobResult result = shard_evaluator_.work(job);
        result.cost.wait = seconds_between(std::exchange(worked_until_, Clock::now()), start);
        take_result(std::move(result));
        report_progress();
    }
}

void Scheduler::work_with_others() {
    while (!progress_->leases.done() && !interrupted()) {
        feed_workers();
        feed_own_thread();
        retired_ = nullptr;
        serve(compute_->in_flight() > 0 ? busy_patience : idle_patience);
        take_own_results();
        watch_leases();
        report_progress();
    }
}

void Scheduler::follow(Record record) {
    former_digest_ = follower_.round()->digest;
    retired_ = follower_.apply(record);
    last_record_ = std::move(record);
}

std::optional<JobResult> Scheduler::evaluate_alone(SharedIndividual genome,
                                                   const evolve::EvaluationRound& round) {
    Job job{0, round, nullptr, {}, nullptr, {{std::move(genome), 0}}};
    if (!compute_) {
        return shard_evaluator_.work(job);
    }
    compute_->submit(std::move(job));
    while (!interrupted()) {
        serve(busy_patience);
        while (auto result = compute_->take(microseconds{0})) {
            if (result->shard == 0) {
                return result;
            }
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

bool Scheduler::has_gpu(int rank) const {
    const Handshake& handshake =
        rank == own_rank_ ? handshake_ : peers_[static_cast<std::size_t>(rank)].handshake;
    return !handshake.device.empty();
}

bool Scheduler::has_room(int rank) const {
    return !has_gpu(rank) || !progress_->leases.busy(rank);
}

double Scheduler::share_of(int rank) const {
    // A rank without a speed counts as much as the mean of the others.
    double known = 0.0;
    std::size_t ranks = 0;
    for (const Peer& entry : peers_) {
        if (entry.speed.known()) {
            known += entry.speed.births_in(1.0);
            ++ranks;
        }
    }
    const double mean = ranks > 0 ? known / static_cast<double>(ranks) : 1.0;
    const auto weight = [&](int other) {
        const Speed& speed = peers_[static_cast<std::size_t>(other)].speed;
        return speed.known() ? speed.births_in(1.0) : mean;
    };
    double all = weight(rank);
    for (int other = 0; other < communicator_.size(); ++other) {
        const bool serves = other == own_rank_ || serving(peers_[static_cast<std::size_t>(other)]);
        // What is left is not for a GPU that has its share already.
        if (other != rank && serves && has_room(other)) {
            all += weight(other);
        }
    }
    return weight(rank) / all;
}

ShardLimits Scheduler::limits(int rank) const {
    ShardLimits limits;
    limits.ranks = 1 + static_cast<std::size_t>(
                           std::count_if(peers_.begin(), peers_.end(),
                                         [this](const Peer& entry) { return serving(entry); }));
    limits.whole = has_gpu(rank);
    limits.share = share_of(rank);
    const Speed& speed = peers_[static_cast<std::size_t>(rank)].speed;
    if (!speed.known()) {
        limits.largest = limits.whole ? progress_->leases.items() : first_shard;
        return limits;
    }
    const auto births_in = [&](double seconds) {
        return static_cast<std::size_t>(std::clamp(speed.births_in(seconds), 1.0, 1e6));
    };
    limits.smallest = births_in(shortest_shard_seconds);
    limits.largest = births_in(limits.whole ? longest_gpu_shard_seconds : longest_shard_seconds);
    return limits;
}

void Scheduler::note_speed(int rank, const ShardCost& cost, std::size_t births) {
    const double now = cost.evaluate + cost.vary;
    if (std::isfinite(now) && now > 0.0 && births > 0) {
        Speed& speed = peer(rank).speed;
        speed.seconds = 0.5 * speed.seconds + now;
        speed.births = 0.5 * speed.births + static_cast<double>(births);
    }
}

Scheduler::Clock::time_point Scheduler::lease_end() const {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                              experiment_.distribution.lease_seconds));
}

Job Scheduler::job_of(const Shard& shard) {
    const SharedRound& round = follower_.round();
    return {shard.id,
            {evolve::Phase::train, round->generation()},
            round,
            shard.items,
            follower_.parents(),
            {}};
}

void Scheduler::feed_own_thread() {
    while (compute_->in_flight() < shards_in_flight && has_room(own_rank_)) {
        const auto shard =
            progress_->leases.issue(own_rank_, limits(own_rank_), Clock::time_point::max());
        if (!shard || !bring_parents(shard->items)) {
            return;
        }
        compute_->submit(job_of(*shard));
    }
}

void Scheduler::take_own_results() {
    while (auto result = compute_->take(microseconds{0})) {
        take_result(std::move(*result));
    }
}

void Scheduler::take_result(JobResult result) {
    if (result.failure) {
        if (rank_lost(result.failure)) {
            std::rethrow_exception(result.failure);
        }
        fail_shard(own_rank_, result.shard, describe(result.failure));
        return;
    }
    seconds_[static_cast<std::size_t>(own_rank_)] += result.cost;
    note_speed(own_rank_, result.cost, result.births.size());
    if (result.round == follower_.round()) {
        follower_.keep(result.births, result.genomes);
        static_cast<void>(deliver(own_rank_, result.shard, result.scores));
    }
}

void Scheduler::report_progress() {
    const Clock::time_point now = Clock::now();
    if (seconds_between(last_progress_, now) >= 0.1) {
        last_progress_ = now;
        reporter_.progressed(follower_.round()->generation(), progress_->leases.accepted(),
                             progress_->leases.items());
    }
}

void Scheduler::check_scores(int rank, const Shard& shard, const ShardScores& scores) const {
    const auto refuse = [&](std::string_view why) {
        throw InputError(
            fmt::format("the scores of shard {} from rank {} are refused ({}) check "
                        "that every rank runs the same program",
                        shard.id, rank, why));
    };
    const std::size_t births = shard.items.size();
    if (progress_->leases.holder(shard.id) != rank || scores.scores.fitness.size() != births ||
        scores.scores.status.size() != births) {
        refuse("the rank was given another shard");
    }
    const bool details = experiment_.log.individuals == LoggedIndividuals::all;
    for (const std::size_t column :
         {scores.details.env_steps.size(), scores.details.parameters.size(),
          scores.details.retries.size()}) {
        if (column != (details ? births : 0)) {
            refuse("its columns differ in length");
        }
    }
    for (std::size_t i = 0; i < births; ++i) {
        const double fitness = scores.scores.fitness[i];
        if (scores.scores.valid(i) ? !std::isfinite(fitness) : fitness != evolve::worst_fitness) {
            refuse("a fitness contradicts its status");
        }
    }
}

bool Scheduler::deliver(int rank, std::uint64_t shard, const ShardScores& scores) {
    const Shard* issued = progress_ ? progress_->leases.find(shard) : nullptr;
    if (issued == nullptr) {
        return false;  // Of a generation that others have finished.
    }
    check_scores(rank, *issued, scores);
    if (!progress_->leases.accept(shard)) {
        return false;
    }
    std::fill_n(progress_->ranks.begin() + static_cast<std::ptrdiff_t>(issued->items.begin),
                issued->items.size(), static_cast<std::uint32_t>(rank));
    note_scores(issued->items, scores);
    return true;
}

void Scheduler::note_scores(OrderRange items, const ShardScores& shard) {
    const Round& round = *follower_.round();
    GenerationResults& results = progress_->results;
    results.env_steps += shard.env_steps;
    results.retries += shard.retries;
    const bool details = !shard.details.parameters.empty();
    if (details && results.details.parameters.empty()) {
        results.details.env_steps.resize(results.scores.size());
        results.details.parameters.resize(results.scores.size());
        results.details.retries.resize(results.scores.size());
    }
    std::optional<std::uint32_t> best;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::uint32_t position = round.order[items.begin + i];
        results.scores.fitness[position] = shard.scores.fitness[i];
        results.scores.status[position] = shard.scores.status[i];
        if (details) {
            results.details.env_steps[position] = shard.details.env_steps[i];
            results.details.parameters[position] = shard.details.parameters[i];
            results.details.retries[position] = shard.details.retries[i];
        }
        const double fitness = shard.scores.fitness[i];
        if (shard.scores.valid(i) &&
            (!best || fitness > results.scores.fitness[*best] ||
             (fitness == results.scores.fitness[*best] && position < *best))) {
            best = position;
        }
    }
    if (best) {
        results.bests.push_back({*best, shard.parameters_of_best});
    }
}

void Scheduler::warn_of_failure(std::uint32_t position, const std::string& text) {
    // A cause that all share would fill the console; generations.csv counts them.
    constexpr std::uint64_t max_warnings = 3;
    const Round& round = *follower_.round();
    ++progress_->failures;
    if (progress_->failures <= max_warnings) {
        reporter_.warning(fmt::format(
            "birth {} of generation {} cannot be evaluated ({}) it gets the worst fitness",
            round.strategy->first_birth() + position, round.generation(), text));
    } else if (progress_->failures == max_warnings + 1) {
        reporter_.warning(fmt::format(
            "more births of generation {} cannot be evaluated (after {} they are only counted) see "
            "the column invalid of generations.csv",
            round.generation(), max_warnings));
    }
}

void Scheduler::fail_shard(int rank, std::uint64_t shard, const std::string& text) {
    const Shard* issued = progress_ ? progress_->leases.find(shard) : nullptr;
    if (issued == nullptr || progress_->leases.holder(shard) != rank) {
        return;
    }
    // The scores of what failed twice are the worst already, with which all begin.
    for (std::size_t item : progress_->leases.fail(shard)) {
        progress_->ranks[item] = static_cast<std::uint32_t>(rank);
        warn_of_failure(follower_.round()->order[item], text);
    }
}

}  // namespace cambrian::distributed

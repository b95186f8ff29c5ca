#include "cambrian/distributed/coordinator/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "cambrian/distributed/protocol/blocks.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

using std::chrono::microseconds;

constexpr int own_rank = 0;
constexpr std::size_t shards_in_flight = 2;
constexpr microseconds busy_patience{200};
constexpr microseconds idle_patience{10'000};
/// A shard takes at most about this long, so that an interrupt and a re-issue come soon.
constexpr double longest_shard_seconds = 0.1;
/// And at least about this long, so that messages do not outweigh the work.
constexpr double shortest_shard_seconds = 0.001;
/// The same for a GPU, which gets its share in one piece where that is not too long.
constexpr double longest_gpu_shard_seconds = 1.0;
/// Births or outcomes that a thread copies at once.
constexpr std::size_t block_of_births = 1024;
/// Births in a shard while nobody knows how long one takes.
constexpr std::size_t first_shard = 16;
constexpr double longest_gather_seconds = 10.0;

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Scheduler::Scheduler(Communicator& communicator, Backend& backend, const Experiment& experiment,
                     Reporter& reporter, const std::atomic<int>& interrupt)
    : communicator_(communicator),
      experiment_(experiment),
      reporter_(reporter),
      interrupt_(interrupt),
      handshake_(introduce(experiment, backend)),
      peers_(static_cast<std::size_t>(communicator.size())),
      seconds_(peers_.size()),
      shard_evaluator_(backend, experiment),
      threads_(backend.threads()),
      last_progress_(Clock::now()),
      variation_(experiment.seed, experiment.variation) {
    CAMBRIAN_EXPECT(communicator.rank() == own_rank);
    if (communicator.size() > 1) {
        compute_ = std::make_unique<ComputeThread>(shard_evaluator_);
    }
}

Scheduler::~Scheduler() {
    for (int rank = 1; rank < communicator_.size(); ++rank) {
        // A silent one may only have been suspended, and must not wait for its own watchdog then.
        if (peer(rank).left) {
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
        return std::count_if(peers_.begin() + 1, peers_.end(),
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
        const Handshake& handshake = rank == 0 ? handshake_ : peers_[rank].handshake;
        const std::string device = handshake.device.empty() ? "" : ", device " + handshake.device;
        lines.push_back(rank == 0 || peers_[rank].known
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
        const Handshake& handshake = rank == 0 ? handshake_ : peers_[rank].handshake;
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

std::optional<GenerationResults> Scheduler::evaluate(std::uint64_t generation,
                                                     std::span<const evolve::Birth> births,
                                                     ParentPool& parent_pool) {
    const auto shard_size = static_cast<std::size_t>(experiment_.distribution.shard_size);
    round_.emplace(Round{generation, births, parent_pool,
                         LeaseTable(births.size(), next_shard_, shard_size),
                         GenerationResults(births.size())});
    if (compute_) {
        work_with_others();
    } else {
        work_inline();
    }
    next_shard_ = round_->leases.next_shard();
    const bool done = round_->leases.done();
    GenerationResults results = std::move(round_->results);
    round_.reset();
    if (!done) {
        return std::nullopt;
    }
    return results;
}

void Scheduler::work_inline() {
    while (!round_->leases.done() && !interrupted()) {
        const auto shard =
            round_->leases.issue(own_rank, limits(own_rank), Clock::time_point::max());
        CAMBRIAN_ASSERT(shard.has_value());
        take_result(shard_evaluator_.work(job_of(*shard)));
        report_progress();
    }
}

void Scheduler::work_with_others() {
    for (int rank = 1; rank < communicator_.size(); ++rank) {
        take_stock(rank);
    }
    while (!round_->leases.done() && !interrupted()) {
        feed_workers();
        feed_own_thread();
        serve(compute_->in_flight() > 0 ? busy_patience : idle_patience);
        take_own_results();
        watch_leases();
        report_progress();
    }
}

void Scheduler::take_stock(int rank) {
    Peer& worker = peer(rank);
    const ParentPool& parent_pool = round_->parent_pool;
    const std::vector<char> had =
        std::exchange(worker.has, std::vector<char>(parent_pool.size(), 0));
    worker.can_make.assign(parent_pool.size(), 0);
    for (std::size_t place = 0; place < parent_pool.size(); ++place) {
        const ParentPool::Member& member = parent_pool[place];
        const evolve::Parents& parents = member.birth.parents;
        const bool had_parents =
            std::all_of(parents.begin(), parents.end(), [&](const evolve::Parent& parent) {
                return parent.member < had.size() && had[parent.member] != 0;
            });
        if (member.birth.recipe == evolve::Recipe::carry) {
            worker.has[place] = !parents.empty() && had_parents ? 1 : 0;
        } else if (member.rank == rank && experiment_.distribution.exchange != Exchange::genomes) {
            worker.has[place] = 1;
            worker.survivors.push_back(member.outcome.genome);
        } else {
            worker.can_make[place] = had_parents ? 1 : 0;
        }
    }
}

std::optional<JobResult> Scheduler::evaluate_alone(SharedGenome genome,
                                                   const evolve::EvaluationRound& round) {
    Job job{0, round, {evolve::Birth{}}, nullptr, {{std::move(genome), 0}}};
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
        rank == own_rank ? handshake_ : peers_[static_cast<std::size_t>(rank)].handshake;
    return !handshake.device.empty();
}

bool Scheduler::has_room(int rank) const {
    return !has_gpu(rank) || !round_->leases.busy(rank);
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
        const bool serves = other == own_rank || serving(peers_[static_cast<std::size_t>(other)]);
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
        limits.largest = limits.whole ? round_->leases.items() : first_shard;
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
    Job job{shard.id, {evolve::Phase::train, round_->generation}, {}, {}, {}};
    job.parents = round_->parent_pool.genomes();
    job.births.resize(shard.items.size());
    for_each_index(threads_, shard.items.size(), block_of_births,
                   [&](std::size_t i) { job.births[i] = round_->births[shard.items[i]]; });
    return job;
}

void Scheduler::feed_own_thread() {
    while (compute_->in_flight() < shards_in_flight && has_room(own_rank)) {
        const auto shard =
            round_->leases.issue(own_rank, limits(own_rank), Clock::time_point::max());
        if (!shard) {
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
        fail_shard(own_rank, result.shard, describe(result.failure));
        return;
    }
    seconds_[own_rank] += result.cost;
    note_speed(own_rank, result.cost, result.outcomes.size());
    deliver(own_rank, result.shard, std::move(result.outcomes), std::move(result.genomes));
}

void Scheduler::report_progress() {
    const Clock::time_point now = Clock::now();
    if (seconds_between(last_progress_, now) >= 0.1) {
        last_progress_ = now;
        reporter_.progressed(round_->generation, round_->leases.accepted(), round_->leases.items());
    }
}

void Scheduler::deliver(int rank, std::uint64_t shard, std::vector<evolve::Outcome>&& outcomes,
                        std::vector<SharedGenome>&& genomes) {
    const Shard* issued = round_ ? round_->leases.find(shard) : nullptr;
    if (issued == nullptr) {
        return;  // Of a generation that others have finished.
    }
    const auto refuse = [&](std::string_view why) {
        throw InputError(
            fmt::format("the outcomes of shard {} from rank {} are refused ({}) check "
                        "that every rank runs the same program",
                        shard, rank, why));
    };
    if (round_->leases.holder(shard) != rank || outcomes.size() != issued->items.size()) {
        refuse("the rank was given another shard");
    }
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const bool valid = outcomes[i].status == evolve::Status::ok;
        if (outcomes[i].id != round_->births[issued->items[i]].id) {
            refuse("they belong to other births");
        }
        const double fitness = outcomes[i].fitness;
        if (valid ? !std::isfinite(fitness) : fitness != evolve::worst_fitness) {
            refuse("a fitness contradicts its status");
        }
    }
    round_->leases.close(shard);
    const std::vector<std::size_t>& items = issued->items;
    std::vector<char> wanted(items.size());
    std::transform(items.begin(), items.end(), wanted.begin(),
                   [this](std::size_t item) { return round_->leases.accept(item) ? 1 : 0; });
    GenerationResults& results = round_->results;
    for_each_index(threads_, items.size(), block_of_births, [&](std::size_t i) {
        if (wanted[i] == 0) {
            return;
        }
        results.outcomes[items[i]] = std::move(outcomes[i]);
        results.outcomes[items[i]].evaluations = 1;
        results.ranks[items[i]] = rank;
        if (!genomes.empty()) {
            results.genomes[items[i]] = std::move(genomes[i]);
        }
    });
}

void Scheduler::warn_of_failure(evolve::BirthId id, const std::string& text) {
    // A cause that all share would fill the console; generations.csv counts them.
    constexpr std::uint64_t max_warnings = 3;
    ++round_->failures;
    if (round_->failures <= max_warnings) {
        reporter_.warning(fmt::format(
            "birth {} of generation {} cannot be evaluated ({}) it gets the worst fitness", id,
            round_->generation, text));
    } else if (round_->failures == max_warnings + 1) {
        reporter_.warning(fmt::format(
            "more births of generation {} cannot be evaluated (after {} they are only counted) see "
            "the column invalid of generations.csv",
            round_->generation, max_warnings));
    }
}

void Scheduler::fail_shard(int rank, std::uint64_t shard, const std::string& text) {
    const Shard* issued = round_ ? round_->leases.find(shard) : nullptr;
    if (issued == nullptr || round_->leases.holder(shard) != rank) {
        return;
    }
    for (std::size_t item : round_->leases.fail(shard)) {
        const evolve::BirthId id = round_->births[item].id;
        if (round_->leases.accept(item)) {
            evolve::Outcome& outcome = round_->results.outcomes[item];
            outcome = evolve::Outcome{};
            outcome.id = id;
            outcome.status = evolve::Status::failed;
            round_->results.genomes[item] = nullptr;
            round_->results.ranks[item] = rank;
            warn_of_failure(id, text);
        }
    }
}

}  // namespace cambrian::distributed

#include <algorithm>
#include <cmath>
#include <utility>

#include "cambrian/distributed/coordinator/scheduler.hpp"

// How fast ranks are, and how much of a round each may be given.
namespace cambrian::distributed {

namespace {

/// A shard takes at most about this long, so that an interrupt and a re-issue come soon.
constexpr double longest_shard_seconds = 0.1;
/// And at least about this long, so that messages do not outweigh the work.
constexpr double shortest_shard_seconds = 0.001;
/// The same for a GPU, which gets its share in one piece where that is not too long.
constexpr double longest_gpu_shard_seconds = 1.0;
/// Births in a shard while nobody knows how long one takes.
constexpr std::size_t first_shard = 16;

}  // namespace

bool Scheduler::has_gpu(int rank) const {
    const Handshake& handshake =
        rank == own_rank_ ? handshake_ : peers_[static_cast<std::size_t>(rank)].handshake;
    return !handshake.device.empty();
}

bool Scheduler::has_room(int rank) const {
    return !has_gpu(rank) || std::ranges::none_of(progress_, [rank](const Progress& round) {
        return round.leases.busy(rank);
    });
}

const Scheduler::Crew& Scheduler::crew() {
    constexpr std::uint64_t ranks_of_a_message = 64;
    const bool occupied = compute_ && compute_->occupied();
    if (crew_ && crew_->occupied == occupied && crew_->age * ranks_of_a_message < peers_.size()) {
        return *crew_;
    }
    Crew& crew = crew_.emplace();
    crew.occupied = occupied;
    double known = 0.0;
    std::size_t ranks = 0;
    for (const Peer& entry : peers_) {
        if (entry.speed.known()) {
            known += entry.speed.births_in(1.0);
            ++ranks;
        }
    }
    crew.mean = ranks > 0 ? known / static_cast<double>(ranks) : 1.0;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        const bool own = rank == own_rank_;
        if (!own && !serving(peer(rank))) {
            crew.absent.push_back(static_cast<std::uint32_t>(rank));
            continue;
        }
        // Whoever evaluates for a former reign is given nothing before that has ended.
        if (own ? occupied : !peer(rank).asked) {
            continue;
        }
        ++crew.ranks;
        const double speed = speed_of(peer(rank), crew.mean);
        crew.speed += speed;
        // What is left is not for a GPU that has its share already.
        crew.free += has_room(rank) ? speed : 0.0;
    }
    crew.ranks = std::max<std::size_t>(crew.ranks, 1);
    return crew;
}

ShardLimits Scheduler::limits(int rank, const LeaseTable& leases) {
    ShardLimits limits;
    limits.ranks = crew().ranks;
    limits.whole = has_gpu(rank);
    const Speed& speed = peer(rank).speed;
    const double own_speed = speed_of(peer(rank), crew().mean);
    limits.share = std::min(1.0, own_speed / crew().free);
    limits.share_of_all = std::min(1.0, own_speed / crew().speed);
    if (!speed.known()) {
        limits.largest = limits.whole ? leases.items() : first_shard;
        return limits;
    }
    const auto births_in = [&](double seconds) {
        return static_cast<std::size_t>(std::clamp(speed.births_in(seconds), 1.0, 1e6));
    };
    // When all ranks ask at once, the last gets its answer before it has done what it has.
    const double answers = static_cast<double>(crew().ranks) * talk_.seconds_of_shard();
    limits.smallest =
        births_in(std::clamp(answers, shortest_shard_seconds, 0.5 * longest_shard_seconds));
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

Clock::time_point Scheduler::lease_end() const {
    return Clock::now() + duration_of(experiment_.distribution.lease_seconds);
}

}  // namespace cambrian::distributed

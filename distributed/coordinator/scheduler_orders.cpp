#include <algorithm>
#include <chrono>
#include <utility>

#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/distributed/worker/worker.hpp"

// The coordinator's voice: orders.
namespace cambrian::distributed {

namespace {

/// Share of a lease after which a silent rank gets no more shards: some of its heartbeats.
constexpr double idle_silence = 0.5;

}  // namespace

void Scheduler::feed_workers() {
    // In turns: nobody waits for a first shard while others get a second.
    while (!eager_.empty() && !interrupted()) {
        for (const int rank : std::exchange(eager_, {})) {
            peer(rank).eager = false;
            if (feed(rank)) {
                consider(rank);
            }
        }
    }
}

bool Scheduler::feed(int rank) {
    const auto next = next_shard_of_worker(rank);
    if (!next) {
        return false;
    }
    if (experiment_.distribution.exchange == Exchange::genomes && !make_children(*next)) {
        return true;  // Interrupted.
    }
    const Clock::time_point start = Clock::now();
    send(communicator_, rank, order_of(rank, *next));
    talk_.seconds += seconds_since(start);
    return true;
}

std::optional<Scheduler::Assignment> Scheduler::next_shard_of_worker(int rank) {
    Peer& worker = peer(rank);
    // One that is silent may have died with another one: what that one had would wait for a second
    // lease.
    if (!serving(worker) || worker.room == 0 || !has_room(rank) || !heard_lately(worker)) {
        return std::nullopt;
    }
    const auto given = next_shard(rank, lease_end());
    if (given) {
        --worker.room;
    }
    return given;
}

bool Scheduler::heard_lately(const Peer& worker) const {
    return seconds_of(Clock::now() - worker.heard) <=
           idle_silence * experiment_.distribution.lease_seconds;
}

void Scheduler::consider(int rank) {
    if (rank != own_rank_ && !std::exchange(peer(rank).eager, true)) {
        eager_.push_back(rank);
    }
}

void Scheduler::consider_all() {
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        consider(rank);
    }
}

ShardOrder Scheduler::empty_order(int rank) {
    const Round& newest = *follower_.newest();
    ShardOrder order;
    order.digest = newest.digest;
    order.generation = newest.generation();
    order.epoch = reign_.epoch;
    order.absent = crew().absent;
    Peer& worker = peer(rank);
    if (worker.digest == newest.digest) {
        return order;
    }
    const auto lacking = std::ranges::find(steps_, worker.digest, &Step::before);
    for (auto step = lacking; step != steps_.end(); ++step) {
        order.records.push_back(step->record);
    }
    if (lacking == steps_.end()) {
        order.state = RoundState{
            newest.strategy->save(), follower_.holders(), {passed_.begin(), passed_.end()}};
        order.state->passed.push_back(newest.digest);
    }
    worker.digest = newest.digest;
    return order;
}

ShardOrder Scheduler::order_of(int rank, const Assignment& given) {
    const Shard& shard = given.shard;
    ShardOrder order = empty_order(rank);
    order.shard = shard.id;
    order.begin = shard.items.begin;
    order.end = shard.items.end;
    if (experiment_.distribution.exchange == Exchange::genomes) {
        for (std::size_t item = shard.items.begin; item < shard.items.end; ++item) {
            const ReadyChild& child = given.progress.children[item];
            order.children.push_back({evolve::encode(*child.genome), child.retries});
        }
    }
    return order;
}

std::vector<FirstShare> Scheduler::first_shares(std::span<const std::uint32_t> ranks) {
    if (follower_.open() > 1 || experiment_.distribution.exchange == Exchange::genomes) {
        return {};
    }
    std::vector<FirstShare> shares;
    for (const std::uint32_t rank : ranks) {
        shares.push_back(peers_[rank].diverged ? FirstShare{}
                                               : first_share_of(static_cast<int>(rank)));
    }
    return shares;
}

FirstShare Scheduler::first_share_of(int rank) {
    const auto fixed = static_cast<std::size_t>(experiment_.distribution.shard_size);
    const LeaseTable& former = progress_.front().leases;
    const ShardLimits its = limits(rank, former);
    const std::size_t fair = items_of_share(its.share_of_all, its.ranks, former.items());
    const std::size_t births = fixed > 0 ? fixed : guided_size(fair, its);
    const std::size_t smallest_rest = fixed > 0 ? 0 : smallest_rest_of(fair, births, its);
    return {static_cast<std::uint32_t>(births), static_cast<std::uint32_t>(smallest_rest)};
}

std::uint32_t Scheduler::share_beside(const RoundEnd& end) {
    const bool at_once = experiment_.distribution.shard_size == 0 && has_gpu(own_rank_) &&
                         peer(own_rank_).speed.known() && end.shares.size() + 1 == crew().ranks;
    if (!at_once) {
        return 0;
    }
    const std::uint32_t own = first_share_of(own_rank_).births;
    std::uint64_t all = own;
    for (std::size_t i = 0; i < end.shares.size(); ++i) {
        const auto rank = static_cast<int>(end.ranks[i]);
        if (!has_gpu(rank) || !peer(rank).speed.known() || end.shares[i].births == 0) {
            return 0;
        }
        all += end.shares[i].births;
    }
    // Shares that are cut off, so that none takes long, leave a rest.
    return all >= progress_.front().leases.items() ? own : 0;
}

RoundEnd Scheduler::spread(const Record& record, bool goes_on) {
    RoundEnd end{reign_.epoch, record};
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        const Peer& worker = peer(rank);
        if (serving(worker) && heard_lately(worker) && worker.room > 0 &&
            worker.digest == follower_.newest()->digest) {
            end.ranks.push_back(static_cast<std::uint32_t>(rank));
        }
    }
    if (goes_on) {
        end.shares = first_shares(end.ranks);
        end.own_births = end.shares.empty() ? 0 : share_beside(end);
        end.absent = crew().absent;
    }
    const Payload bytes = encode_message(end);
    for (const std::uint32_t rank : end.first()) {
        communicator_.send(static_cast<int>(rank), RoundEnd::kind, bytes);
    }
    communicator_.push(RoundEnd::kind);
    return end;
}

void Scheduler::repeat_first_share(int rank, std::span<const std::uint64_t> held) {
    if (progress_.empty()) {
        return;
    }
    Progress& round = progress_.front();
    const auto given = round.unasked.find(rank);
    if (given == round.unasked.end()) {
        return;
    }
    const double waited = seconds_since(given->second.since);
    const bool heard = std::ranges::find(held, given->second.shard) != held.end();
    if (!heard && waited < experiment_.distribution.lease_seconds / heartbeats_in_a_lease) {
        return;
    }
    if (!heard && round.leases.leased(given->second.shard)) {
        peer(rank).digest = {};  // It needs all of it.
        const Shard& shard = *round.leases.find(given->second.shard);
        send(communicator_, rank, order_of(rank, {round, shard}));
    } else if (!heard) {
        ++peer(rank).room;  // Others have it.
    }
    round.unasked.erase(given);
}

void Scheduler::tell_round(int rank) {
    peer(rank).digest = {};  // It needs all of it.
    send(communicator_, rank, empty_order(rank));
}

bool Scheduler::make_children(const Assignment& given) {
    if (!bring_parents(given)) {
        return false;
    }
    const Shard& shard = given.shard;
    const Round& round = *given.progress.round;
    std::vector<ReadyChild>& children = given.progress.children;
    children.resize(round.order.size());
    const PoolGenomes& parents = *follower_.parents(round);
    for_each_index(threads_, shard.items.size(), block_of_genomes, [&](std::size_t i) {
        const std::size_t item = shard.items.begin + i;
        if (!children[item].genome) {  // Else the shard came back from another rank.
            Child child = make_child(variation(), round.strategy->birth(round.order[item]), parents,
                                     genome_memory());
            children[item] = {std::move(child.genome), child.retries};
        }
    });
    std::vector<SharedIndividual> genomes;
    for (std::size_t item = shard.items.begin; item < shard.items.end; ++item) {
        genomes.push_back(children[item].genome);
    }
    follower_.keep(round, shard.items, std::move(genomes));
    return true;
}

}  // namespace cambrian::distributed

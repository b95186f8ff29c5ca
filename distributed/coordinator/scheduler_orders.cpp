#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"

// The coordinator's voice: orders, and the genomes that it needs for them.
namespace cambrian::distributed {

namespace {

/// How long another rank may take to hand over genomes, as a share of a lease.
constexpr double fetching_share = 0.25;
constexpr std::chrono::microseconds fetching_patience{200};

}  // namespace

void Scheduler::feed_workers() {
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        while (const auto shard = next_shard(rank)) {
            if (experiment_.distribution.exchange == Exchange::genomes && !make_children(*shard)) {
                return;
            }
            send(communicator_, rank, order_of(rank, *shard));
        }
    }
}

std::optional<Shard> Scheduler::next_shard(int rank) {
    Peer& worker = peer(rank);
    if (!serving(worker) || worker.room == 0 || !has_room(rank)) {
        return std::nullopt;
    }
    const auto shard = progress_->leases.issue(rank, limits(rank), lease_end());
    if (shard) {
        --worker.room;
    }
    return shard;
}

ShardOrder Scheduler::order_of(int rank, const Shard& shard) {
    const Round& round = *follower_.round();
    ShardOrder order;
    order.digest = round.digest;
    order.epoch = reign_.epoch;
    order.shard = shard.id;
    order.begin = shard.items.begin;
    order.end = shard.items.end;
    Peer& worker = peer(rank);
    if (worker.digest != round.digest) {
        if (last_record_ && worker.digest == former_digest_) {
            order.record = last_record_;
        } else {
            order.state = RoundState{round.strategy->save(), round.holders};
        }
        worker.digest = round.digest;
    }
    for (int other = 0; other < communicator_.size(); ++other) {
        if (other != own_rank_ && !serving(peer(other))) {
            order.absent.push_back(static_cast<std::uint32_t>(other));
        }
    }
    if (experiment_.distribution.exchange == Exchange::genomes) {
        for (std::size_t item = shard.items.begin; item < shard.items.end; ++item) {
            const ReadyChild& child = progress_->children[item];
            order.children.push_back({evolve::encode(*child.genome), child.retries});
        }
    }
    return order;
}

bool Scheduler::make_children(const Shard& shard) {
    if (!bring_parents(shard.items)) {
        return false;
    }
    const Round& round = *follower_.round();
    std::vector<ReadyChild>& children = progress_->children;
    children.resize(round.order.size());
    const PoolGenomes& parents = *follower_.parents();
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
    follower_.keep(shard.items, genomes);
    return true;
}

bool Scheduler::bring_parents(OrderRange births) {
    return bring(follower_.missing_parents(births, evolve::Parents::most * births.size()));
}

bool Scheduler::gather_parents() {
    std::vector<std::uint32_t> missing;
    for (std::uint32_t place = 0; place < follower_.parents()->size(); ++place) {
        if (!follower_.parent(place)) {
            missing.push_back(place);
        }
    }
    return bring(missing);
}

bool Scheduler::bring(std::span<const std::uint32_t> places) {
    const Round& round = *follower_.round();
    std::vector<evolve::BirthId> origins;
    std::vector<std::uint32_t> holders;
    for (const std::uint32_t place : places) {
        origins.push_back(round.strategy->parent_pool()[place].origin);
        holders.push_back(round.holders[place]);
    }
    Ancestry::Genomes genomes;
    if (!fetch(origins, holders, genomes)) {
        return false;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        follower_.fill(places[i], genomes.at(origins[i]));
    }
    return true;
}

std::optional<SharedIndividual> Scheduler::genome_of(std::uint64_t position,
                                                     std::uint32_t evaluator) {
    if (SharedIndividual made = follower_.child(position)) {
        return made;
    }
    const Round& round = *follower_.round();
    const evolve::Birth birth = round.strategy->birth(position);
    evolve::BirthId origin = birth.id;
    std::uint32_t holder = evaluator;
    if (birth.recipe == evolve::Recipe::carry) {
        const std::size_t place = index_of(birth.parents.front().place);
        if (follower_.parent(place)) {
            return follower_.parent(place);
        }
        origin = round.strategy->parent_pool()[place].origin;
        holder = round.holders[place];
    }
    Ancestry::Genomes genomes;
    if (!fetch(std::span(&origin, 1), std::span(&holder, 1), genomes)) {
        return std::nullopt;
    }
    return genomes.at(origin);
}

bool Scheduler::fetch(std::span<const evolve::BirthId> origins,
                      std::span<const std::uint32_t> holders, Ancestry::Genomes& genomes) {
    std::map<int, GenomeRequest> requests;
    fetched_.clear();
    for (std::size_t i = 0; i < origins.size(); ++i) {
        const int holder = static_cast<int>(holders[i]);
        if (holder != own_rank_ && serving(peer(holder))) {
            requests[holder].origins.push_back(origins[i]);
            fetched_.emplace(origins[i], nullptr);
        }
    }
    for (const auto& [rank, request] : requests) {
        send(communicator_, rank, request);
    }
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                           fetching_share * experiment_.distribution.lease_seconds));
    const auto waiting = [&] {
        return std::ranges::any_of(fetched_, [](const auto& entry) { return !entry.second; });
    };
    while (waiting() && Clock::now() < end) {
        if (interrupted()) {
            return false;
        }
        serve(fetching_patience);
    }
    genomes = std::exchange(fetched_, {});
    std::erase_if(genomes, [](const auto& entry) { return !entry.second; });
    std::vector<evolve::BirthId> lost;
    std::ranges::copy_if(origins, std::back_inserter(lost),
                         [&](evolve::BirthId origin) { return !genomes.contains(origin); });
    genomes.merge(ancestry_.make(lost, variation(), genome_memory(), threads_));
    return true;
}

}  // namespace cambrian::distributed

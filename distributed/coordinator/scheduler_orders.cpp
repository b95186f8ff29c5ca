#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/contract.hpp"

// The coordinator's voice: orders, and the genomes that it needs for them.
namespace cambrian::distributed {

namespace {

/// How long another rank may take to hand over genomes, as a share of a lease.
constexpr double fetching_share = 0.25;
constexpr std::chrono::microseconds fetching_patience{200};

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
    talk_.seconds += std::chrono::duration<double>(Clock::now() - start).count();
    return true;
}

std::optional<Scheduler::Assignment> Scheduler::next_shard_of_worker(int rank) {
    Peer& worker = peer(rank);
    if (!serving(worker) || worker.room == 0 || !has_room(rank)) {
        return std::nullopt;
    }
    const auto given = next_shard(rank, lease_end());
    if (given) {
        --worker.room;
    }
    return given;
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
        order.state = RoundState{newest.strategy->save(), follower_.holders()};
    }
    worker.digest = newest.digest;
    return order;
}

ShardOrder Scheduler::order_of(int rank, const Assignment& given) {
    const Shard& shard = given.shard;
    ShardOrder order = empty_order(rank);
    order.ahead = given.progress.round->generation() - follower_.round()->generation();
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
    const auto fixed = static_cast<std::size_t>(experiment_.distribution.shard_size);
    const LeaseTable& former = progress_.front().leases;
    std::vector<FirstShare> shares;
    for (const std::uint32_t rank : ranks) {
        if (peers_[rank].diverged) {
            shares.emplace_back();
            continue;
        }
        const ShardLimits its = limits(static_cast<int>(rank), former);
        const std::size_t fair = items_of_share(its.share_of_all, its.ranks, former.items());
        const std::size_t births = fixed > 0 ? fixed : guided_size(fair, its);
        const std::size_t smallest_rest = fixed > 0 ? 0 : smallest_rest_of(fair, births, its);
        shares.push_back(
            {static_cast<std::uint32_t>(births), static_cast<std::uint32_t>(smallest_rest)});
    }
    return shares;
}

RoundEnd Scheduler::spread(const Record& record, bool goes_on) {
    RoundEnd end{reign_.epoch, record};
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        const Peer& worker = peer(rank);
        if (serving(worker) && worker.room > 0 && worker.digest == follower_.newest()->digest) {
            end.ranks.push_back(static_cast<std::uint32_t>(rank));
        }
    }
    if (goes_on) {
        end.shares = first_shares(end.ranks);
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
    const double waited = std::chrono::duration<double>(Clock::now() - given->second.since).count();
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

bool Scheduler::bring_parents(const Assignment& given) {
    const OrderRange births = given.shard.items;
    const Round& round = *given.progress.round;
    MissingParents missing =
        follower_.missing_parents(round, births, evolve::Parents::max_count * births.size());
    std::vector<Remakes::Recipe>& recipes = missing.remakes.recipes;
    seconds_[static_cast<std::size_t>(own_rank_)].remade += missing.remade + recipes.size();
    if (!recipes.empty() && compute_) {
        compute_->remake(follower_, given.progress.round, std::move(missing.remakes));
    } else if (!recipes.empty()) {
        const std::vector<SharedIndividual> made =
            shard_evaluator_.remake(given.progress.round, missing.remakes);
        for (std::size_t i = 0; i < made.size(); ++i) {
            follower_.fill(round, recipes[i].place, made[i]);
        }
    }
    return bring(round, missing.places);
}

bool Scheduler::gather_parents() {
    for (std::size_t ahead = 0; ahead < follower_.open(); ++ahead) {
        const SharedRound round = follower_.round(follower_.round()->generation() + ahead);
        const std::shared_ptr<const PoolGenomes> parents = follower_.parents(*round);
        std::vector<std::uint32_t> missing;
        for (std::uint32_t place = 0; place < parents->size(); ++place) {
            if ((*parents)[place]) {
                continue;
            }
            const evolve::BirthId origin = round->strategy->parent_pool()[place].origin;
            if (SharedIndividual here = follower_.find(origin)) {
                follower_.fill(*round, place, std::move(here));
            } else {
                missing.push_back(place);
            }
        }
        if (!bring(*round, missing)) {
            return false;
        }
    }
    return true;
}

bool Scheduler::bring(const Round& round, std::span<const std::uint32_t> places) {
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
        follower_.fill(round, places[i], genomes.at(origins[i]));
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
    if (birth.recipe != evolve::Recipe::carry) {
        return fetch_one(birth.id, evaluator);
    }
    const std::size_t place = index_of(birth.parents.front().place);
    if (const SharedIndividual& parent = (*follower_.parents(round))[place]) {
        return parent;
    }
    return fetch_one(round.strategy->parent_pool()[place].origin, round.holders[place]);
}

std::optional<std::vector<SharedIndividual>> Scheduler::genomes_of(
    std::span<const std::uint64_t> positions, std::span<const std::uint32_t> evaluators) {
    const Round& round = *follower_.round();
    const PoolGenomes& parents = *follower_.parents(round);
    std::vector<SharedIndividual> genomes(positions.size());
    for_each_index(threads_, positions.size(), block_of_genomes, [&](std::size_t i) {
        genomes[i] = follower_.child(positions[i]);
        const evolve::Birth birth = round.strategy->birth(positions[i]);
        const bool parents_here =
            std::ranges::all_of(birth.parents, [&](const evolve::Parent& parent) {
                return parents[index_of(parent.place)] != nullptr;
            });
        // What was learned lies where it was learned.
        if (!genomes[i] && parents_here && !inherits_learning(experiment_)) {
            genomes[i] = make_child(variation(), birth, parents, genome_memory()).genome;
        }
    });
    std::vector<evolve::BirthId> origins;
    std::vector<std::uint32_t> holders;
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (!genomes[i]) {
            origins.push_back(round.strategy->first_birth() + positions[i]);
            holders.push_back(evaluators[positions[i]]);
        }
    }
    Ancestry::Genomes fetched;
    if (!fetch(origins, holders, fetched)) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (!genomes[i]) {
            genomes[i] = fetched.at(round.strategy->first_birth() + positions[i]);
        }
    }
    return genomes;
}

std::optional<SharedIndividual> Scheduler::member_genome(std::size_t place) {
    const Round& round = *follower_.newest();
    const evolve::BirthId origin = round.strategy->parent_pool()[place].origin;
    if (SharedIndividual here = follower_.find(origin)) {
        return here;
    }
    return fetch_one(origin, round.holders[place]);
}

std::optional<SharedIndividual> Scheduler::fetch_one(evolve::BirthId origin, std::uint32_t holder) {
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
    genomes.merge(make_again(ancestry_, lost));
    return true;
}

}  // namespace cambrian::distributed

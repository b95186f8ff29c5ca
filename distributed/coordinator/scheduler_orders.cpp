#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/protocol/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"

// The coordinator's voice: orders, drafted one after the other and written side by side.
namespace cambrian::distributed {

namespace {

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

/// Where each place of the parent pool is in a list of some of them.
std::vector<std::uint32_t> inverse(std::span<const std::uint32_t> places, std::size_t parent_pool) {
    std::vector<std::uint32_t> at(parent_pool, nowhere);
    for (std::size_t i = 0; i < places.size(); ++i) {
        at[places[i]] = static_cast<std::uint32_t>(i);
    }
    return at;
}

}  // namespace

void Scheduler::feed_workers() {
    std::vector<Draft> drafts;
    for (int rank = 1; rank < communicator_.size(); ++rank) {
        while (auto draft = next_draft(rank)) {
            drafts.push_back(std::move(*draft));
            if (drafts.size() >= static_cast<std::size_t>(threads_.threads())) {
                send_orders(drafts);
            }
        }
    }
    send_orders(drafts);
}

std::optional<Scheduler::Draft> Scheduler::next_draft(int rank) {
    Peer& worker = peer(rank);
    if (!serving(worker) || worker.room == 0 || !has_room(rank)) {
        return std::nullopt;
    }
    auto shard = round_->leases.issue(rank, limits(rank), lease_end());
    if (!shard) {
        return std::nullopt;
    }
    --worker.room;
    return draft_of(rank, std::move(*shard));
}

Scheduler::Draft Scheduler::draft_of(int rank, Shard shard) {
    Peer& worker = peer(rank);
    Draft draft{rank, std::move(shard), std::exchange(worker.survivors, {}), {}, {}, {}};
    std::vector<char> named(round_->parent_pool.size(), 0);
    for (std::size_t item : draft.shard.items) {
        for (const evolve::Parent& parent : round_->births[item].parents) {
            if (std::exchange(named.at(parent.member), 1) == 0) {
                draft.parents.push_back(parent.member);
            }
        }
    }
    if (experiment_.distribution.exchange == Exchange::genomes) {
        return draft;
    }
    // Who has all of one generation can make all of the next.
    if (2 * draft.parents.size() > named.size()) {
        draft.parents.resize(named.size());
        std::iota(draft.parents.begin(), draft.parents.end(), 0U);
    }
    for (std::uint32_t place : draft.parents) {
        if (std::exchange(worker.has[place], 1) == 0) {
            (worker.can_make[place] != 0 ? draft.recipes : draft.genomes).push_back(place);
        }
    }
    return draft;
}

void Scheduler::send_orders(std::vector<Draft>& drafts) {
    if (experiment_.distribution.exchange == Exchange::genomes) {
        for (const Draft& draft : drafts) {
            make_children(draft.shard);
        }
    }
    const EncodedGenomes encoded = encode_for(drafts);
    std::vector<std::vector<std::byte>> orders(drafts.size());
    for_each_index(threads_, drafts.size(), 1, [&](std::size_t i) {
        orders[i] = encode_message(order_of(drafts[i], encoded));
    });
    for (std::size_t i = 0; i < drafts.size(); ++i) {
        communicator_.send(drafts[i].rank, ShardOrder::kind, std::move(orders[i]));
    }
    drafts.clear();
}

Scheduler::EncodedGenomes Scheduler::encode_for(std::span<const Draft> drafts) {
    std::vector<std::uint32_t> places;
    for (const Draft& draft : drafts) {
        places.insert(places.end(), draft.genomes.begin(), draft.genomes.end());
    }
    if (places.empty()) {
        return {};
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    const SharedGenomes genomes = round_->parent_pool.genomes();
    EncodedGenomes encoded(genomes->size());
    for_each_index(threads_, places.size(), block_of_genomes, [&](std::size_t i) {
        encoded[places[i]] = evolve::encode(*(*genomes)[places[i]]);
    });
    return encoded;
}

ShardOrder Scheduler::order_of(const Draft& draft, const EncodedGenomes& encoded) const {
    const ParentPool& parent_pool = round_->parent_pool;
    ShardOrder order;
    order.shard = draft.shard.id;
    order.generation = round_->generation;
    order.survivors = draft.survivors;
    order.parents.reserve(draft.parents.size());
    for (std::uint32_t place : draft.parents) {
        order.parents.push_back(parent_pool.parent(place));
    }
    for (std::uint32_t place : draft.recipes) {
        order.recipes.push_back(parent_pool[place].birth);
    }
    for (std::uint32_t place : draft.genomes) {
        order.genomes.push_back(encoded[place]);
    }
    const std::vector<std::uint32_t> at = inverse(draft.parents, parent_pool.size());
    order.births.reserve(draft.shard.items.size());
    for (std::size_t item : draft.shard.items) {
        evolve::Birth& birth = order.births.emplace_back(round_->births[item]);
        birth.parents.clear();
        for (evolve::Parent parent : round_->births[item].parents) {
            parent.member = at[parent.member];
            birth.parents.push_back(parent);
        }
        if (experiment_.distribution.exchange == Exchange::genomes) {
            const GenerationResults& results = round_->results;
            order.children.push_back(
                {evolve::encode(*results.genomes[item]), results.outcomes[item].retries});
        }
    }
    return order;
}

void Scheduler::make_children(const Shard& shard) {
    const SharedGenomes parents = round_->parent_pool.genomes();
    GenerationResults& results = round_->results;
    for_each_index(threads_, shard.items.size(), block_of_genomes, [&](std::size_t i) {
        const std::size_t item = shard.items[i];
        if (results.genomes[item]) {
            return;  // The shard came back from another rank.
        }
        const evolve::Birth& birth = round_->births[item];
        Child child = make_child(variation_, birth, *parents, shard_evaluator_.genomes());
        results.outcomes[item].retries = child.retries;
        results.genomes[item] = std::move(child.genome);
    });
}

}  // namespace cambrian::distributed

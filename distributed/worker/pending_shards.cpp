#include "cambrian/distributed/worker/pending_shards.hpp"

#include <memory>
#include <utility>

namespace cambrian::distributed {

void PendingShards::add(RoundOrder order, std::span<const std::uint32_t> missing,
                        const std::function<int(std::uint32_t place)>& whom, Time deadline) {
    PendingShard& shard = shards_.emplace_back(PendingShard{std::move(order), {}});
    const Round& round = *shard.order.round;
    for (const std::uint32_t place : missing) {
        const evolve::BirthId origin = round.strategy->parent_pool()[place].origin;
        shard.missing.insert(origin);
        const auto [asked, added] = asked_.try_emplace(origin, Asked{{}, deadline});
        asked->second.places.insert({round.generation(), place});
        if (added) {
            unsaid_[whom(place)].origins.push_back(origin);
        }
    }
}

PendingShards::Requests PendingShards::take_requests() {
    return std::exchange(unsaid_, {});
}

const std::set<PendingShards::Place>* PendingShards::places_of(evolve::BirthId origin) const {
    const auto at = asked_.find(origin);
    return at == asked_.end() ? nullptr : &at->second.places;
}

void PendingShards::fill(evolve::BirthId origin) {
    asked_.erase(origin);
    for (PendingShard& shard : shards_) {
        shard.missing.erase(origin);
    }
}

void PendingShards::ask_instead(evolve::BirthId origin, int rank, Time deadline) {
    asked_.at(origin).deadline = deadline;
    unsaid_[rank].origins.push_back(origin);
}

std::vector<evolve::BirthId> PendingShards::overdue(Time now) const {
    std::vector<evolve::BirthId> late;
    for (const auto& [origin, asked] : asked_) {
        if (asked.deadline < now) {
            late.push_back(origin);
        }
    }
    return late;
}

std::vector<RoundOrder> PendingShards::take_complete() {
    std::vector<RoundOrder> complete;
    for (auto at = shards_.begin(); at != shards_.end();) {
        if (at->missing.empty()) {
            complete.push_back(std::move(at->order));
            at = shards_.erase(at);
        } else {
            ++at;
        }
    }
    return complete;
}

std::vector<std::uint64_t> PendingShards::give_up(evolve::BirthId origin) {
    asked_.erase(origin);
    std::vector<std::uint64_t> given_up;
    std::erase_if(shards_, [&](const PendingShard& shard) {
        if (!shard.missing.contains(origin)) {
            return false;
        }
        given_up.push_back(shard.order.order.shard);
        return true;
    });
    return given_up;
}

std::vector<std::uint64_t> PendingShards::give_up_before(std::uint64_t generation) {
    std::vector<std::uint64_t> given_up;
    std::erase_if(shards_, [&](const PendingShard& shard) {
        const bool over = shard.order.round->generation() < generation;
        if (over) {
            given_up.push_back(shard.order.order.shard);
        }
        return over;
    });
    for (auto& [origin, asked] : asked_) {
        asked.places.erase(asked.places.begin(), asked.places.lower_bound({generation, 0}));
    }
    std::erase_if(asked_, [](const auto& entry) { return entry.second.places.empty(); });
    return given_up;
}

}  // namespace cambrian::distributed

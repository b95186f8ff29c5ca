#include "cambrian/distributed/coordinator/lease_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

LeaseTable::LeaseTable(std::size_t items, std::uint64_t first_shard, std::size_t shard_size)
    : shard_size_(shard_size), next_shard_(first_shard), accepted_(items, 0), failures_(items, 0) {}

std::optional<Shard> LeaseTable::issue(int rank, const ShardLimits& limits, Time deadline) {
    CAMBRIAN_EXPECT(limits.ranks >= 1 && limits.smallest >= 1);
    if (auto items = next_returned(rank, limits.ranks)) {
        return hold(std::move(*items), rank, deadline);
    }
    std::vector<std::size_t> items = next_fresh(limits);
    if (items.empty()) {
        return std::nullopt;
    }
    return hold(std::move(items), rank, deadline);
}

std::optional<std::vector<std::size_t>> LeaseTable::next_returned(int rank, std::size_t ranks) {
    for (auto entry = returned_.begin(); entry != returned_.end();) {
        std::erase_if(entry->items, [&](std::size_t item) { return accepted_[item] != 0; });
        if (entry->items.empty()) {
            entry = returned_.erase(entry);
        } else if (entry->avoid == rank && ranks > 1) {
            ++entry;
        } else {
            std::vector<std::size_t> items = std::move(entry->items);
            returned_.erase(entry);
            return items;
        }
    }
    return std::nullopt;
}

std::vector<std::size_t> LeaseTable::next_fresh(const ShardLimits& limits) {
    const std::size_t remaining = items() - next_item_;
    std::size_t count = shard_size_;
    if (count == 0) {
        const std::size_t fair =
            limits.share > 0.0
                ? static_cast<std::size_t>(std::ceil(limits.share * static_cast<double>(remaining)))
                : (remaining + limits.ranks - 1) / limits.ranks;
        // A lone rank waits for nobody, so it needs no smaller and smaller tail.
        const bool at_once = limits.ranks == 1 || limits.whole;
        const std::size_t guided = at_once              ? fair
                                   : limits.share > 0.0 ? fair / 2
                                                        : remaining / (2 * limits.ranks);
        count = std::max({guided, std::min(limits.smallest, fair), std::size_t{1}});
        count = std::min(count, std::max(limits.largest, std::size_t{1}));
    }
    std::vector<std::size_t> taken(std::min(count, remaining));
    std::iota(taken.begin(), taken.end(), next_item_);
    next_item_ += taken.size();
    return taken;
}

Shard LeaseTable::hold(std::vector<std::size_t> items, int rank, Time deadline) {
    const std::uint64_t id = next_shard_++;
    const auto [at, added] = held_.emplace(id, Held{{id, std::move(items)}, rank, deadline, true});
    CAMBRIAN_ENSURE(added);
    return at->second.shard;
}

void LeaseTable::renew(int rank, std::uint64_t shard, Time deadline) {
    const auto at = held_.find(shard);
    if (at != held_.end() && at->second.rank == rank && at->second.leased) {
        at->second.deadline = deadline;
    }
}

void LeaseTable::take_back(Held& held) {
    held.leased = false;
    returned_.push_back({held.shard.items, std::nullopt});
}

std::vector<LeaseTable::Lapse> LeaseTable::expire(Time now) {
    std::vector<Lapse> lapses;
    for (auto& [id, held] : held_) {
        if (held.leased && held.deadline < now) {
            take_back(held);
            lapses.push_back({held.rank, id});
        }
    }
    return lapses;
}

void LeaseTable::withdraw(int rank) {
    for (auto& [id, held] : held_) {
        if (held.leased && held.rank == rank) {
            take_back(held);
        }
    }
}

const Shard* LeaseTable::find(std::uint64_t shard) const {
    const auto at = held_.find(shard);
    return at == held_.end() ? nullptr : &at->second.shard;
}

bool LeaseTable::busy(int rank) const {
    return std::any_of(held_.begin(), held_.end(), [rank](const auto& entry) {
        return entry.second.leased && entry.second.rank == rank;
    });
}

int LeaseTable::holder(std::uint64_t shard) const {
    const auto at = held_.find(shard);
    CAMBRIAN_ASSERT(at != held_.end());
    return at->second.rank;
}

bool LeaseTable::accept(std::size_t item) {
    if (accepted_.at(item) != 0) {
        return false;
    }
    accepted_[item] = 1;
    ++accepted_count_;
    return true;
}

void LeaseTable::close(std::uint64_t shard) {
    if (const auto at = held_.find(shard); at != held_.end()) {
        at->second.leased = false;
    }
}

std::vector<std::size_t> LeaseTable::fail(std::uint64_t shard) {
    const auto at = held_.find(shard);
    // A lapsed shard is already with somebody else, who decides.
    if (at == held_.end() || !at->second.leased) {
        return {};
    }
    at->second.leased = false;
    std::vector<std::size_t> lost;
    for (std::size_t item : at->second.shard.items) {
        if (accepted_[item] != 0) {
            continue;
        }
        if (++failures_[item] >= 2) {
            lost.push_back(item);
        } else {
            returned_.push_back({{item}, at->second.rank});
        }
    }
    return lost;
}

}  // namespace cambrian::distributed

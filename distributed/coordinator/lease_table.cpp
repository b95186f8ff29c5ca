#include "cambrian/distributed/coordinator/lease_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

LeaseTable::LeaseTable(std::size_t items, std::uint64_t first_shard, std::size_t shard_size)
    : shard_size_(shard_size), next_shard_(first_shard), accepted_(items, 0), failures_(items, 0) {}

std::optional<Shard> LeaseTable::issue(int rank, const ShardLimits& limits, Time deadline) {
    CAMBRIAN_EXPECT(limits.ranks >= 1 && limits.smallest >= 1);
    if (const auto items = next_returned(rank, limits.ranks)) {
        return hold(*items, rank, deadline);
    }
    const OrderRange items = next_fresh(rank, limits);
    return items.size() == 0 ? std::nullopt : std::optional(hold(items, rank, deadline));
}

OrderRange LeaseTable::unfinished(OrderRange items) const {
    while (items.begin < items.end && accepted_[items.begin] != 0) {
        ++items.begin;
    }
    std::size_t end = items.begin;
    while (end < items.end && accepted_[end] == 0) {
        ++end;
    }
    return {items.begin, end};
}

std::optional<OrderRange> LeaseTable::next_returned(int rank, std::size_t ranks) {
    for (auto entry = returned_.begin(); entry != returned_.end();) {
        const OrderRange items = unfinished(entry->items);
        if (items.size() == 0) {
            entry = returned_.erase(entry);
        } else if (entry->avoid == rank && ranks > 1) {
            ++entry;
        } else {
            entry->items.begin = items.end;  // What is left of it comes next.
            return items;
        }
    }
    return std::nullopt;
}

OrderRange LeaseTable::next_fresh(int rank, const ShardLimits& limits) {
    const std::size_t remaining = items() - next_item_;
    std::size_t count = shard_size_;
    if (count == 0) {
        const auto part_of = [&](double share, std::size_t all) {
            const double part = share > 0.0 ? share : 1.0 / static_cast<double>(limits.ranks);
            return static_cast<std::size_t>(std::ceil(part * static_cast<double>(all)));
        };
        // What it has not had yet of its part of all; later what others are too slow for.
        const std::size_t own = part_of(limits.share_of_all, items());
        const Load& load = loads_[rank];
        if (load.issued >= own && load.leased > 0) {
            return {next_item_, next_item_};  // Others may be idle before it is.
        }
        const std::size_t left = own - std::min(own, load.issued);
        const std::size_t fair =
            std::min(remaining, left > 0 ? left : part_of(limits.share, remaining));
        // A lone rank waits for nobody, so it needs no smaller and smaller tail.
        const bool at_once = limits.ranks == 1 || limits.whole;
        count = std::max(at_once ? fair : (fair + 1) / 2, std::min(limits.smallest, fair));
        count = std::min(count, std::max(limits.largest, std::size_t{1}));
    }
    const std::size_t begin = next_item_;
    next_item_ += std::min(count, remaining);
    return {begin, next_item_};
}

Shard LeaseTable::hold(OrderRange items, int rank, Time deadline) {
    const std::uint64_t id = next_shard_++;
    const auto [at, added] = held_.emplace(id, Held{{id, items}, rank, deadline, true});
    CAMBRIAN_ENSURE(added);
    loads_[rank].leased += items.size();
    loads_[rank].issued += items.size();
    return at->second.shard;
}

void LeaseTable::renew(int rank, std::uint64_t shard, Time deadline) {
    const auto at = held_.find(shard);
    if (at != held_.end() && at->second.rank == rank && at->second.leased) {
        at->second.deadline = deadline;
    }
}

void LeaseTable::end_lease(Held& held) {
    if (std::exchange(held.leased, false)) {
        loads_[held.rank].leased -= held.shard.items.size();
    }
}

bool LeaseTable::busy(int rank) const {
    const auto at = loads_.find(rank);
    return at != loads_.end() && at->second.leased > 0;
}

void LeaseTable::take_back(Held& held) {
    end_lease(held);
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

int LeaseTable::holder(std::uint64_t shard) const {
    const auto at = held_.find(shard);
    CAMBRIAN_ASSERT(at != held_.end());
    return at->second.rank;
}

bool LeaseTable::accept(std::uint64_t shard) {
    const auto at = held_.find(shard);
    CAMBRIAN_ASSERT(at != held_.end());
    end_lease(at->second);
    const OrderRange items = at->second.shard.items;
    if (unfinished(items) != items) {
        return false;
    }
    std::fill_n(accepted_.begin() + static_cast<std::ptrdiff_t>(items.begin), items.size(), 1);
    accepted_count_ += items.size();
    return true;
}

std::vector<std::size_t> LeaseTable::fail(std::uint64_t shard) {
    const auto at = held_.find(shard);
    // A lapsed shard is already with somebody else, who decides.
    if (at == held_.end() || !at->second.leased) {
        return {};
    }
    end_lease(at->second);
    const OrderRange items = at->second.shard.items;
    std::vector<std::size_t> lost;
    for (std::size_t item = items.begin; item < items.end; ++item) {
        if (accepted_[item] != 0) {
            continue;
        }
        if (++failures_[item] >= 2) {
            accepted_[item] = 1;
            ++accepted_count_;
            lost.push_back(item);
        } else {
            returned_.push_back({{item, item + 1}, at->second.rank});
        }
    }
    return lost;
}

}  // namespace cambrian::distributed

#include "cambrian/distributed/coordinator/lease_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

std::size_t items_of_share(double share, std::size_t ranks, std::size_t items) {
    const double part = share > 0.0 ? share : 1.0 / static_cast<double>(ranks);
    return static_cast<std::size_t>(std::ceil(part * static_cast<double>(items)));
}

std::size_t guided_size(std::size_t fair, const ShardLimits& limits) {
    // A lone rank waits for nobody, so it needs no smaller and smaller tail.
    const bool at_once = limits.ranks == 1 || limits.whole;
    const std::size_t size =
        std::max(at_once ? fair : (fair + 1) / 2, std::min(limits.smallest, fair));
    return std::min(size, std::max(limits.largest, std::size_t{1}));
}

std::size_t smallest_rest_of(std::size_t fair, std::size_t size, const ShardLimits& limits) {
    constexpr std::size_t eighth = 8;
    return limits.whole ? std::max(limits.smallest, fair / eighth)
                        : std::min(limits.smallest, fair - std::min(fair, size) + 1);
}

LeaseTable::LeaseTable(std::size_t items, std::uint64_t first_shard, std::size_t shard_size,
                       std::span<const OrderRange> zones)
    : shard_size_(shard_size),
      first_shard_(first_shard),
      fresh_(zones.begin(), zones.end()),
      fresh_count_(items),
      accepted_(items, 0),
      failures_(items, 0) {
    if (fresh_.empty()) {
        fresh_.push_back({0, items});
        shared_ = true;
    }
}

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
    const std::size_t remaining = fresh_count_;
    std::size_t count = shard_size_;
    std::size_t smallest_rest = 0;
    if (count == 0) {
        // What it has not had yet of its part of all; later what others are too slow for.
        const std::size_t own = items_of_share(limits.share_of_all, limits.ranks, items());
        const Load& load = load_of(rank);
        if (load.issued >= own && load.leased > 0) {
            return {};  // Others may be idle before it is.
        }
        const std::size_t left = own - std::min(own, load.issued);
        const std::size_t rest = items_of_share(limits.share, limits.ranks, remaining);
        const std::size_t fair = std::min(remaining, left > 0 ? left : rest);
        count = guided_size(fair, limits);
        smallest_rest = shared_ ? 0 : smallest_rest_of(fair, count, limits);
    }
    return take_fresh(rank, count, smallest_rest);
}

OrderRange LeaseTable::take_fresh(int rank, std::size_t count, std::size_t smallest_rest) {
    const auto own = static_cast<std::size_t>(rank);
    const bool has_own = !shared_ && own < fresh_.size() && fresh_[own].size() > 0;
    OrderRange& from =
        has_own ? fresh_[own] : *std::ranges::max_element(fresh_, {}, &OrderRange::size);
    OrderRange taken{from.begin, from.begin + taken_of(from, count, smallest_rest)};
    if (has_own || shared_) {
        from.begin = taken.end;
    } else {
        taken = {from.end - taken.size(), from.end};
        from.end = taken.begin;
    }
    fresh_count_ -= taken.size();
    return taken;
}

bool LeaseTable::give(int rank, const FirstShare& share, Time deadline) {
    const OrderRange items =
        shared_ ? OrderRange{} : first_share(fresh_, static_cast<std::uint32_t>(rank), share);
    if (items.size() == 0) {
        held_.emplace_back();
        return false;
    }
    static_cast<void>(hold(take_fresh(rank, items.size(), 0), rank, deadline));
    return true;
}

Shard LeaseTable::hold(OrderRange items, int rank, Time deadline) {
    held_.push_back({{first_shard_ + held_.size(), items}, rank, deadline, true});
    Load& load = load_of(rank);
    load.leased += items.size();
    load.issued += items.size();
    return held_.back().shard;
}

bool LeaseTable::has(std::uint64_t shard) const {
    const std::uint64_t place = shard - first_shard_;
    return place < held_.size() && held_[place].shard.items.size() > 0;
}

std::size_t LeaseTable::place_of(std::uint64_t shard) const {
    CAMBRIAN_ASSERT(has(shard));
    return static_cast<std::size_t>(shard - first_shard_);
}

LeaseTable::Load& LeaseTable::load_of(int rank) {
    const auto place = static_cast<std::size_t>(rank);
    if (place >= loads_.size()) {
        loads_.resize(place + 1);
    }
    return loads_[place];
}

void LeaseTable::renew(int rank, std::uint64_t shard, Time deadline) {
    if (leased(shard) && holder(shard) == rank) {
        held_[place_of(shard)].deadline = deadline;
    }
}

void LeaseTable::extend(Clock::duration time, Time latest) {
    for (Held& held : held_) {
        if (held.deadline < latest) {
            held.deadline = std::min(held.deadline + time, latest);
        }
    }
}

void LeaseTable::end_lease(Held& held) {
    if (std::exchange(held.leased, false)) {
        load_of(held.rank).leased -= held.shard.items.size();
    }
}

bool LeaseTable::busy(int rank) const {
    const auto place = static_cast<std::size_t>(rank);
    return place < loads_.size() && loads_[place].leased > 0;
}

void LeaseTable::take_back(Held& held) {
    end_lease(held);
    returned_.push_back({held.shard.items, std::nullopt});
}

std::vector<LeaseTable::Lapse> LeaseTable::expire(Time now) {
    std::vector<Lapse> lapses;
    for (Held& held : held_) {
        if (held.leased && held.deadline < now) {
            take_back(held);
            lapses.push_back({held.rank, held.shard.id});
        }
    }
    return lapses;
}

void LeaseTable::withdraw(int rank) {
    for (Held& held : held_) {
        if (held.leased && held.rank == rank) {
            take_back(held);
        }
    }
}

const Shard* LeaseTable::find(std::uint64_t shard) const {
    return has(shard) ? &held_[place_of(shard)].shard : nullptr;
}

int LeaseTable::holder(std::uint64_t shard) const {
    return held_[place_of(shard)].rank;
}

bool LeaseTable::accept(std::uint64_t shard) {
    Held& answered = held_[place_of(shard)];
    end_lease(answered);
    const OrderRange items = answered.shard.items;
    if (unfinished(items) != items) {
        return false;
    }
    std::fill_n(accepted_.begin() + static_cast<std::ptrdiff_t>(items.begin), items.size(), 1);
    accepted_count_ += items.size();
    return true;
}

std::vector<std::size_t> LeaseTable::fail(std::uint64_t shard) {
    // A lapsed shard is already with somebody else, who decides.
    if (!leased(shard)) {
        return {};
    }
    Held& failed = held_[place_of(shard)];
    end_lease(failed);
    const OrderRange items = failed.shard.items;
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
            returned_.push_back({{item, item + 1}, failed.rank});
        }
    }
    return lost;
}

}  // namespace cambrian::distributed

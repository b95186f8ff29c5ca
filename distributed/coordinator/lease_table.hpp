#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "cambrian/distributed/generation/follower.hpp"

namespace cambrian::distributed {

/// A range of the items of a generation that one rank evaluates together.
struct Shard {
    std::uint64_t id = 0;
    OrderRange items;
};

/// How large a guided shard may be.
struct ShardLimits {
    std::size_t ranks = 1;  ///< That take part, the coordinator included.
    std::size_t smallest = 1;
    std::size_t largest = 1;
    double share = 0.0;  ///< Of what is left that is this rank's; 0: one of `ranks` equal ones.
    bool whole = false;  ///< It takes its share at once, as a GPU wants it.
};

/// Who has which part of a generation: issues shards, keeps their leases, takes back what lapsed or
/// failed, and accepts each item once. Pure logic: time is an argument.
class LeaseTable {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// @param first_shard id of the first shard, so that ids are unique in a run.
    /// @param shard_size items of a shard; 0 = guided: half of the rank's share of what is
    /// left (all of it for a lone rank and where `whole`) within the limits.
    LeaseTable(std::size_t items, std::uint64_t first_shard, std::size_t shard_size);

    /// The next shard for a rank, leased until `deadline`; nothing when all is issued or what is
    /// left failed on this rank and another one may try.
    [[nodiscard]] std::optional<Shard> issue(int rank, const ShardLimits& limits, Time deadline);
    /// Prolongs the lease of a shard that this rank still holds.
    void renew(int rank, std::uint64_t shard, Time deadline);

    struct Lapse {
        int rank = 0;
        std::uint64_t shard = 0;
    };
    /// Takes back shards whose lease ended before `now`.
    std::vector<Lapse> expire(Time now);
    /// Takes back everything a rank holds, because it left.
    void withdraw(int rank);

    /// A shard of this table, also one whose lease lapsed; null for an unknown id.
    [[nodiscard]] const Shard* find(std::uint64_t shard) const;
    /// Whether a rank has a shard that it has not answered yet.
    [[nodiscard]] bool busy(int rank) const;
    /// The rank that was given a shard of this table.
    [[nodiscard]] int holder(std::uint64_t shard) const;
    /// The holder answered: the shard needs no lease any more, and its items are evaluated. False,
    /// and nothing of the answer counts, where some of them were before.
    bool accept(std::uint64_t shard);
    /// The shard threw on its holder: its items come back one by one. Returns the items that failed
    /// for the second time; they are not issued again, and count as evaluated.
    std::vector<std::size_t> fail(std::uint64_t shard);

    [[nodiscard]] std::size_t items() const { return accepted_.size(); }
    [[nodiscard]] std::size_t accepted() const { return accepted_count_; }
    [[nodiscard]] bool done() const { return accepted_count_ == accepted_.size(); }
    /// First id that this table has not used.
    [[nodiscard]] std::uint64_t next_shard() const { return next_shard_; }

  private:
    struct Held {
        Shard shard;
        int rank = 0;
        Time deadline;
        bool leased = true;
    };
    struct Returned {
        OrderRange items;
        std::optional<int> avoid;  ///< The rank on which they failed.
    };

    void take_back(Held& held);
    Shard hold(OrderRange items, int rank, Time deadline);
    [[nodiscard]] std::optional<OrderRange> next_returned(int rank, std::size_t ranks);
    /// The first of the items, and those after it, that nobody has evaluated.
    [[nodiscard]] OrderRange unfinished(OrderRange items) const;
    [[nodiscard]] OrderRange next_fresh(const ShardLimits& limits);

    std::size_t shard_size_;
    std::uint64_t next_shard_;
    std::size_t next_item_ = 0;
    std::size_t accepted_count_ = 0;
    std::vector<char> accepted_;
    std::vector<std::uint8_t> failures_;
    std::deque<Returned> returned_;
    std::map<std::uint64_t, Held> held_;
};

}  // namespace cambrian::distributed

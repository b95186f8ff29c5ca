#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/distributed/generation/first_shares.hpp"
#include "cambrian/engine/core/clock.hpp"

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
    double share_of_all = 0.0;  ///< The same of all items.
    bool whole = false;         ///< It takes its share at once, as a GPU wants it.
};

/// The size of a guided shard: half of what a rank is to have (all of it for a lone rank and where
/// `whole`), within the limits.
/// @param fair items that the rank is to have, of those that are left.
[[nodiscard]] std::size_t guided_size(std::size_t fair, const ShardLimits& limits);
/// Fewer items than that are not left over where such a shard is cut off: for a GPU a second shard
/// costs more than an eighth of its share; others get no more than they are to have.
[[nodiscard]] std::size_t smallest_rest_of(std::size_t fair, std::size_t size,
                                           const ShardLimits& limits);
/// A part of items, rounded up. @param share 0: that of one of `ranks` equal ones.
[[nodiscard]] std::size_t items_of_share(double share, std::size_t ranks, std::size_t items);

/// Who has which part of a generation: issues shards, keeps their leases, takes back what lapsed or
/// failed, and accepts each item once. Pure logic: time is an argument.
class LeaseTable {
  public:
    using Time = Clock::time_point;

    /// @param first_shard id of the first shard; the next ones follow.
    /// @param shard_size items of a shard; 0 = guided by what the rank has not had yet of its
    /// share.
    /// @param zones the items that belong to each rank, see Round::zones: it gets its own first,
    /// from the front, and then the last of whoever has most left. Empty: all get them in turn.
    LeaseTable(std::size_t items, std::uint64_t first_shard, std::size_t shard_size,
               std::span<const OrderRange> zones = {});

    /// The next shard for a rank, leased until `deadline`; nothing when all is issued, what is
    /// left failed on this rank and another one may try, or it works on the last of its share.
    [[nodiscard]] std::optional<Shard> issue(int rank, const ShardLimits& limits, Time deadline);
    /// Items that a rank begins with unasked, see first_share(); → whether there are some. A number
    /// is used up even where there are none.
    bool give(int rank, const FirstShare& share, Time deadline);
    /// Prolongs the lease of a shard that this rank still holds.
    void renew(int rank, std::uint64_t shard, Time deadline);
    /// Prolongs all leases by a time, until `latest` at most.
    void extend(Clock::duration time, Time latest);

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
    /// Whether the rank that was given a shard has it still, and has not answered.
    [[nodiscard]] bool leased(std::uint64_t shard) const {
        return has(shard) && held_[place_of(shard)].leased;
    }
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
    /// Whether nothing is left to issue, unless something comes back.
    [[nodiscard]] bool exhausted() const { return fresh_count_ == 0 && returned_.empty(); }
    [[nodiscard]] bool done() const { return accepted_count_ == accepted_.size(); }

  private:
    struct Held {
        Shard shard;
        int rank = 0;
        Time deadline;
        bool leased = false;
    };
    /// Items of a rank.
    struct Load {
        std::size_t leased = 0;  ///< It has not answered yet.
        std::size_t issued = 0;  ///< In all.
    };
    /// Whether a shard is of this table, and where it is.
    [[nodiscard]] bool has(std::uint64_t shard) const;
    [[nodiscard]] std::size_t place_of(std::uint64_t shard) const;
    [[nodiscard]] Load& load_of(int rank);
    struct Returned {
        OrderRange items;
        std::optional<int> avoid;  ///< The rank on which they failed.
    };

    void end_lease(Held& held);
    void take_back(Held& held);
    Shard hold(OrderRange items, int rank, Time deadline);
    [[nodiscard]] std::optional<OrderRange> next_returned(int rank, std::size_t ranks);
    /// The first of the items, and those after it, that nobody has evaluated.
    [[nodiscard]] OrderRange unfinished(OrderRange items) const;
    [[nodiscard]] OrderRange next_fresh(int rank, const ShardLimits& limits);
    /// About `count` items that nobody has had, see taken_of().
    [[nodiscard]] OrderRange take_fresh(int rank, std::size_t count, std::size_t smallest_rest);

    std::size_t shard_size_;
    std::uint64_t first_shard_;
    std::vector<OrderRange> fresh_;  ///< Of each rank; one for all of them where none has its own.
    bool shared_ = false;
    std::size_t fresh_count_;
    std::size_t accepted_count_ = 0;
    std::vector<char> accepted_;
    std::vector<std::uint8_t> failures_;
    std::deque<Returned> returned_;
    std::vector<Held> held_;   ///< By the number of the shard, from the first on.
    std::vector<Load> loads_;  ///< By rank, as far as some had shards.
};

}  // namespace cambrian::distributed

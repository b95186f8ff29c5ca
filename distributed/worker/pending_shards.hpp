#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cambrian/distributed/generation/follower.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/clock.hpp"

namespace cambrian::distributed {

/// An order, and the round it is of.
struct RoundOrder {
    ShardOrder order;
    SharedRound round;
};

/// A shard whose parents are not all on this rank yet.
struct PendingShard {
    RoundOrder order;
    std::set<evolve::BirthId> missing;  ///< Origins of parents.
};

/// The shards of open rounds that wait for genomes, and who was asked for what. Says what to ask;
/// the worker asks.
class PendingShards {
  public:
    using Time = Clock::time_point;
    /// What a rank is asked for.
    using Requests = std::map<int, GenomeRequest>;

    /// In the parent pool of a round.
    struct Place {
        std::uint64_t generation = 0;
        std::uint32_t place = 0;
        auto operator<=>(const Place&) const = default;
    };

    /// A shard that lacks parents. @param whom the rank that has the parent at a place.
    void add(RoundOrder order, std::span<const std::uint32_t> missing,
             const std::function<int(std::uint32_t place)>& whom, Time deadline);
    /// What has not been said yet, to be sent now.
    [[nodiscard]] Requests take_requests();

    /// An answer of a rank names an origin: its places in the parent pools, for islands and rounds
    /// may share a genome. Null where nobody asks for it, or no more.
    [[nodiscard]] const std::set<Place>* places_of(evolve::BirthId origin) const;
    /// The genome is here.
    void fill(evolve::BirthId origin);
    /// Asks another rank for what one lacks, or did not give in time.
    void ask_instead(evolve::BirthId origin, int rank, Time deadline);
    [[nodiscard]] std::vector<evolve::BirthId> overdue(Time now) const;

    /// Takes out the shards that miss nothing any more, in the order they came.
    [[nodiscard]] std::vector<RoundOrder> take_complete();
    /// Takes out those that cannot become complete without an origin; → their numbers.
    [[nodiscard]] std::vector<std::uint64_t> give_up(evolve::BirthId origin);
    /// The rounds before a generation are over. → The numbers of those that waited.
    [[nodiscard]] std::vector<std::uint64_t> give_up_before(std::uint64_t generation);

  private:
    struct Asked {
        std::set<Place> places;
        Time deadline;
    };

    std::list<PendingShard> shards_;
    std::unordered_map<evolve::BirthId, Asked> asked_;
    Requests unsaid_;
};

}  // namespace cambrian::distributed

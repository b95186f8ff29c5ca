#pragma once

#include <chrono>
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

namespace cambrian::distributed {

/// A shard whose parents are not all on this rank yet.
struct PendingShard {
    ShardOrder order;
    std::set<evolve::BirthId> missing;  ///< Origins of parents.
};

/// The shards of one round that wait for genomes, and who was asked for what. Says what to ask; the
/// worker asks.
class PendingShards {
  public:
    using Time = std::chrono::steady_clock::time_point;
    /// What a rank is asked for.
    using Requests = std::map<int, GenomeRequest>;

    /// A shard that lacks parents. @param ask the rank that has the parent at a place.
    void add(ShardOrder order, std::span<const std::uint32_t> missing, const Round& round,
             const std::function<int(std::uint32_t place)>& whom, Time deadline);
    /// What has not been said yet, to be sent now.
    [[nodiscard]] Requests take_requests();

    /// An answer of a rank names an origin: its places in the parent pool, for islands may share a
    /// genome. Throws InputError where nobody asked for it.
    [[nodiscard]] const std::set<std::uint32_t>& places_of(evolve::BirthId origin) const;
    /// The genome is here.
    void fill(evolve::BirthId origin);
    /// Asks another rank for what one lacks, or did not give in time.
    void ask_instead(evolve::BirthId origin, int rank, Time deadline);
    [[nodiscard]] std::vector<evolve::BirthId> overdue(Time now) const;

    /// Takes out the shards that miss nothing any more, in the order they came.
    [[nodiscard]] std::vector<ShardOrder> take_complete();
    /// Takes out those that cannot become complete without an origin; → their numbers.
    [[nodiscard]] std::vector<std::uint64_t> give_up(evolve::BirthId origin);
    /// The round is over. → The numbers of those that waited.
    [[nodiscard]] std::vector<std::uint64_t> give_up_all();

  private:
    struct Asked {
        std::set<std::uint32_t> places;
        Time deadline;
    };

    std::list<PendingShard> shards_;
    std::unordered_map<evolve::BirthId, Asked> asked_;
    Requests unsaid_;
};

/// What was read of an answer: a genome, or the problem with it.
struct GenomeAnswer {
    SharedIndividual genome;
    std::string problem;
};
[[nodiscard]] GenomeAnswer read_answer(const NamedGenome& named, std::string_view source);

}  // namespace cambrian::distributed

#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/genome_store.hpp"

namespace cambrian::distributed {

/// A shard whose parents are not all on this rank yet.
struct PendingShard {
    ShardOrder order;
    std::shared_ptr<std::vector<SharedGenome>> parents =
        std::make_shared<std::vector<SharedGenome>>();
    /// Places of parents, by what belongs there.
    std::unordered_map<Hash128, std::set<std::uint32_t>, Hash128Hasher> missing;

    void fill(Hash128 hash, const SharedGenome& genome);
};

/// The shards of a worker that wait for genomes, and what the coordinator was asked for.
class PendingShards {
  public:
    PendingShard& add(ShardOrder order);
    /// Forgets the one that was added last.
    void drop_last() { shards_.pop_back(); }
    void fill(Hash128 hash, const SharedGenome& genome);

    /// What to ask for, so that a shard is complete; remembered until it is answered.
    [[nodiscard]] GenomeRequest request_for(const PendingShard& shard);
    /// Throws InputError where the answer names what was not asked for.
    void check_answer(const GenomeReply& reply);

    /// Takes out the shards that miss nothing any more, in the order they came.
    [[nodiscard]] std::vector<PendingShard> take_complete();
    /// Takes out those that can not become complete without a genome; → their numbers.
    [[nodiscard]] std::vector<std::uint64_t> give_up(Hash128 missing);
    [[nodiscard]] std::vector<std::uint64_t> give_up_all();

  private:
    [[nodiscard]] std::vector<PendingShard> take(
        const std::function<bool(const PendingShard&)>& wanted);

    std::list<PendingShard> shards_;
    std::unordered_multiset<Hash128, Hash128Hasher> asked_;
};

/// What was read of an answer: a genome, or the problem with it.
struct GenomeAnswer {
    SharedGenome genome;
    std::string problem;
};
/// Reads a genome and checks that it is what it is named.
[[nodiscard]] GenomeAnswer read_answer(const NamedGenome& named);

}  // namespace cambrian::distributed

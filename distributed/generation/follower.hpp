#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cambrian/distributed/generation/genome_pool.hpp"
#include "cambrian/distributed/generation/round.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::distributed {

/// Genomes by place in a parent pool; null where they are not here.
using PoolGenomes = std::vector<SharedIndividual>;

/// A range of Round::order.
struct OrderRange {
    std::size_t begin = 0;
    std::size_t end = 0;
    [[nodiscard]] std::size_t size() const { return end - begin; }
    bool operator==(const OrderRange&) const = default;
};

/// One rank's view of a run: the round under way, the one before, and the genomes of both that lie
/// here. Follows records, or jumps to a state. Used by one thread; jobs share what they read.
class Follower {
  public:
    struct Settings {
        bool reevaluate = false;
        std::uint32_t ranks = 1;  ///< A record that names others is refused.
    };
    /// @param start the strategy of a run before its first generation.
    Follower(SharedStrategy start, const Settings& settings, const evolve::Variation& variation,
             GenomePool& memory, ThreadPool& threads);

    [[nodiscard]] const SharedRound& round() const { return round_; }
    /// The parents of this round. Places that a job reads are filled before it begins.
    [[nodiscard]] std::shared_ptr<const PoolGenomes> parents() const { return pool_; }
    [[nodiscard]] const SharedIndividual& parent(std::size_t place) const {
        return (*pool_)[place];
    }

    /// The next round. Returns genomes that nobody needs any more, to be freed where nobody waits.
    /// Throws InputError, and stays where it is, for a record of another round.
    std::shared_ptr<const void> apply(const Record& record);
    /// Jumps to a round. Genomes that live in it and are here stay.
    /// @param state see Strategy::save.
    std::shared_ptr<const void> load(std::span<const std::byte> state,
                                     std::vector<std::uint32_t> holders);

    /// Places of the parents of some births that are not here. Up to `remakes` of the missing ones
    /// are made once more, as they were made elsewhere, where what they were made of is here.
    [[nodiscard]] std::vector<std::uint32_t> missing_parents(OrderRange births,
                                                             std::size_t remakes);
    void fill(std::size_t place, SharedIndividual genome);

    /// Keeps the children of a shard, until it is known who of them lives.
    void keep(OrderRange births, std::span<const SharedIndividual> children);
    /// The genome that a birth made; null where it is not here.
    [[nodiscard]] SharedIndividual find(evolve::BirthId origin);
    /// The child of a position of this round that was made here; null for others.
    [[nodiscard]] SharedIndividual child(std::uint64_t position) const;

  private:
    struct Former {
        SharedRound round;
        std::shared_ptr<PoolGenomes> pool;
    };
    using Places = std::unordered_map<evolve::BirthId, std::uint32_t>;

    std::shared_ptr<const void> enter(SharedRound next, std::shared_ptr<PoolGenomes> pool);
    /// What a member was born as, where what it was made of is here.
    [[nodiscard]] std::optional<evolve::Birth> recipe_of(const evolve::Member& member) const;
    void check_ranks(std::span<const std::uint32_t> holders) const;

    Settings settings_;
    const evolve::Variation& variation_;
    GenomePool& memory_;
    ThreadPool& threads_;
    SharedRound round_;
    std::shared_ptr<PoolGenomes> pool_;
    Former former_;         ///< Null before the first record, and after a jump.
    PoolGenomes children_;  ///< By position, those that were made here; empty before the first.
    Places places_;         ///< Of origins in both pools; made when they are needed.
    Places former_places_;
};

}  // namespace cambrian::distributed

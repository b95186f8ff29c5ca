#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/worker/genome_pool.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed {

/// What a generation came to, by the places of its births.
struct GenerationResults {
    explicit GenerationResults(std::size_t births)
        : outcomes(births), genomes(births), ranks(births, 0) {}

    std::vector<evolve::Outcome> outcomes;
    std::vector<SharedGenome> genomes;  ///< Those that rank 0 has.
    std::vector<int> ranks;             ///< Who evaluated each.
};

/// What rank 0 makes genomes with.
struct GenomeMaker {
    const evolve::Variation* variation;
    GenomePool* pool;  ///< Outlives what is made.

    /// The genome of a birth: the one that is known here, or one made from `parents`, where
    /// Parent::member is a place. Throws Error where another rank's outcome names another genome.
    [[nodiscard]] SharedGenome genome_of(const evolve::Birth& birth, const evolve::Outcome& outcome,
                                         const SharedGenome& known, int rank,
                                         std::span<const SharedGenome> parents) const;
};

/// The members of a run that may be parents, in the order of Strategy::parent_pool(), with genomes
/// that rank 0 owns.
/// What other ranks made is made here too, but not before somebody asks: meanwhile they go on.
class ParentPool {
  public:
    struct Member {
        evolve::Outcome outcome;
        /// How it was born: Parent::member is a place in the former pool. A carry without a
        /// parent where that is not known.
        evolve::Birth birth;
        int rank = 0;  ///< Who made it.
    };

    ParentPool(const GenomeMaker& maker, ThreadPool& threads) : maker_(maker), threads_(&threads) {}

    /// Members of a checkpoint, in the order of `members`. Returns one that is missing.
    [[nodiscard]] std::optional<evolve::BirthId> restore(std::span<const evolve::Member> members,
                                                         std::vector<ParentPoolMember>&& saved);
    /// The survivors of a generation follow; takes the arrays of their outcomes and leaves their
    /// numbers. `births` have running ids.
    void succeed(std::span<const evolve::Member> members, std::span<const evolve::Birth> births,
                 GenerationResults& results);

    [[nodiscard]] std::size_t size() const { return members_.size(); }
    [[nodiscard]] const Member& operator[](std::size_t place) const { return members_[place]; }
    /// A member as births name it.
    [[nodiscard]] evolve::Parent parent(std::size_t place) const;
    /// All genomes, by place.
    [[nodiscard]] SharedGenomes genomes();
    /// The place of a genome in the pool.
    [[nodiscard]] std::optional<std::size_t> find(Hash128 genome);
    /// Retired genomes: members of the former pool that nobody needs any more, to be freed where
    /// nobody waits.
    [[nodiscard]] std::shared_ptr<const void> take_retired() { return std::move(retired_); }

  private:
    using Genomes = std::vector<SharedGenome>;

    GenomeMaker maker_;
    ThreadPool* threads_;
    std::vector<Member> members_;
    std::shared_ptr<Genomes> genomes_ = std::make_shared<Genomes>();
    SharedGenomes former_;  ///< Until all of `genomes_` are there.
    std::shared_ptr<const void> retired_;
    std::unordered_map<Hash128, std::size_t, Hash128Hasher> places_;  ///< Where find() was asked.
};

}  // namespace cambrian::distributed

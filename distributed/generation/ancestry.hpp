#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cambrian/distributed/generation/genome_pool.hpp"
#include "cambrian/distributed/generation/round.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// The way from a generation whose genomes are all known to a later one: whatever was born on it
/// can be made again, without a single evaluation.
class Ancestry {
  public:
    using Genomes = std::unordered_map<evolve::BirthId, SharedIndividual>;

    /// Begins anew. @param genomes of all members by place, of the open states one after another,
    /// the
    ///     oldest first.
    void begin(SharedStrategy strategy, std::span<const SharedIndividual> genomes);
    /// The next step. Throws InputError where the decision is about another state.
    void add(std::span<const std::byte> decision);
    /// The same where the state is known already.
    void add(SharedStrategy next);
    [[nodiscard]] const SharedStrategy& last() const { return states_.back(); }
    /// What the states since begin() take in memory, about.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Whether make() makes the genome of a birth: it was born on the way, or a member before.
    [[nodiscard]] bool knows(evolve::BirthId origin) const;

    /// Makes of children of a generation what they have learned in it.
    using Teach = std::function<void(std::vector<SharedIndividual>&, std::uint64_t generation)>;
    /// The genomes that these births made, of any generation on the way. Throws InputError for one
    /// that was not born on it.
    /// @param teach where children inherit what their parents have learned.
    [[nodiscard]] Genomes make(std::span<const evolve::BirthId> origins,
                               const evolve::Variation& variation, GenomePool& memory,
                               ThreadPool& threads, const Teach& teach = {}) const;

  private:
    using Needed = std::map<std::size_t, std::vector<std::uint64_t>>;  ///< Positions, by state.
    [[nodiscard]] Needed ancestors_of(std::span<const evolve::BirthId> origins) const;
    /// The state that gives a birth; nothing where none on the way does.
    [[nodiscard]] std::optional<std::size_t> state_of(evolve::BirthId origin) const;

    std::vector<SharedStrategy> states_;  ///< Births of each have higher ids than those before.
    std::size_t bytes_ = 0;
    Genomes known_;
};

}  // namespace cambrian::distributed

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/distributed/generation/genome_pool.hpp"
#include "cambrian/distributed/generation/kept_children.hpp"
#include "cambrian/distributed/generation/origin_index.hpp"
#include "cambrian/distributed/generation/round.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::distributed {

/// Genomes by place in a parent pool; null where they are not here.
using PoolGenomes = std::vector<SharedIndividual>;
/// Whether the weights of some lie on a backend alone.
[[nodiscard]] bool any_on_backend(const PoolGenomes& genomes);

/// Parents that are to be made once more where weights lie on a backend, by its thread.
struct Remakes {
    struct Recipe {
        std::uint32_t place = 0;
        evolve::Birth birth;  ///< Of the round before; its parents are places in `former`.
    };
    std::vector<Recipe> recipes;
    std::shared_ptr<const PoolGenomes> former;  ///< The parents of the round before.
};

/// What a shard lacks.
struct MissingParents {
    std::vector<std::uint32_t> places;  ///< Of genomes that other ranks have.
    Remakes remakes;                    ///< Makes the others, before the shard is begun.
    std::size_t remade = 0;             ///< So many were made once more at once.
};

/// One rank's view of a run: the rounds that are open, the one that was closed last, and the
/// genomes of all of them that lie here. A round is named by its generation. Follows records, or
/// jumps to a state. Used by one thread; jobs share what they read.
class Follower {
  public:
    struct Settings {
        bool reevaluate = false;
        std::uint32_t ranks = 1;  ///< A record that names others is refused.
        bool remakes = true;  ///< Whether a child is what its birth says: not where it has learned.
        /// Generations in which whoever is carried over is evaluated, too, whatever `reevaluate`
        /// says: the first that another task judges. Ascending.
        std::vector<std::uint64_t> task_changes{};
        bool on_backend = false;  ///< Whether weights may lie on the backend of this rank.
    };
    /// @param start the strategy of a run before its first generation.
    Follower(SharedStrategy start, Settings settings, const evolve::Variation& variation,
             GenomePool& memory, ThreadPool& threads);

    /// The oldest open round, which is told next, and the newest one, whose strategy names the
    /// state. They are one where there is no steady state.
    [[nodiscard]] const SharedRound& round() const { return open_.front().round; }
    [[nodiscard]] const SharedRound& newest() const { return open_.back().round; }
    [[nodiscard]] bool is_open(std::uint64_t generation) const {
        return generation - round()->generation() < open_.size();
    }
    [[nodiscard]] std::size_t open() const { return open_.size(); }
    /// Whether a round is another one than the open round of its generation: this rank has come to
    /// another state, and nothing that was made of its births counts. Of several open rounds the
    /// parents tell: digests of those before the newest are others after a jump.
    [[nodiscard]] bool contradicts(const Round& other) const;
    /// An open round.
    [[nodiscard]] const SharedRound& round(std::uint64_t generation) const {
        return at(generation).round;
    }
    /// The parents of a round.
    [[nodiscard]] std::shared_ptr<const PoolGenomes> parents(const Round& round) const {
        return at(round.generation()).pool;
    }
    /// The same for a job on another thread, in whose list nothing changes any more: what it reads
    /// is there before it begins.
    [[nodiscard]] std::shared_ptr<const PoolGenomes> lend_parents(const Round& round);

    /// Closes the oldest round and opens the next. Returns genomes that nobody needs any more, to
    /// be freed where nobody waits. Throws InputError, and stays where it is, for a record of
    /// another round.
    /// @param known the state after the decision, where it was asked for before.
    std::shared_ptr<const void> apply(const Record& record, SharedStrategy known = {});
    /// Does a little of what apply() will have to; false where nothing is left to do. For ranks
    /// that wait for evaluations.
    bool foresee() { return open() == 1 && distributed::foresee(*newest(), foresight_); }
    /// Whether this rank is at one of these states.
    [[nodiscard]] bool is_at(std::span<const Hash128> states) const;
    /// Jumps to a state. Genomes that live in it and are here stay, if this rank is at a state that
    /// the run passed: what another one made has the names of other genomes.
    /// @param state see Strategy::save.
    /// @param holders of the open rounds, one after another, the oldest first.
    /// @param passed digests of that state and of some before it.
    std::shared_ptr<const void> load(std::span<const std::byte> state,
                                     std::vector<std::uint32_t> holders,
                                     std::span<const Hash128> passed = {});
    /// What load() wants of the holders.
    [[nodiscard]] std::vector<std::uint32_t> holders() const;

    /// The parents of some births, and the representatives that they are compared with, that are
    /// not here. Who has all parents of a round can make all of the next: so where one round is
    /// open and at most `remakes` are not here, all of them, if weights lie on a backend, and if
    /// they are few beside the births those of the others that can be made, too. Up to
    /// `remakes` of the missing ones are made once more, as they were made elsewhere, where what
    /// they were made of is here: at once where weights are on the host, else by whoever asks, who
    /// fills them in.
    /// @param made whether the children are made already: then they need no parents.
    [[nodiscard]] MissingParents missing_parents(const Round& round, OrderRange births,
                                                 std::size_t remakes, bool made = false);
    void fill(const Round& round, std::size_t place, SharedIndividual genome);
    /// The same where a birth is a parent in an open round that lacks it; else nothing.
    void fill(evolve::BirthId origin, const SharedIndividual& genome);

    /// Takes the children of a shard, until it is known who of them lives; not those of a round
    /// that is closed, or that contradicts the one that is open.
    void keep(const Round& round, OrderRange births, std::vector<SharedIndividual>&& children);
    /// The genome that a birth made; null where it is not here.
    [[nodiscard]] SharedIndividual find(evolve::BirthId origin);
    /// The child of a position of the oldest round that was made here; null for others.
    [[nodiscard]] SharedIndividual child(std::uint64_t position) const {
        return open_.front().children.at(position);
    }

  private:
    struct Open {
        SharedRound round;
        std::shared_ptr<PoolGenomes> pool;  ///< The parents.
        KeptChildren children;
        OriginIndex places{};          ///< Of origins in the pool; made when they are needed.
        bool lent = false;             ///< Whether others read the pool.
        std::vector<char> promised{};  ///< By place, who is being made on a backend; or empty.

        [[nodiscard]] std::optional<std::size_t> place_of(evolve::BirthId origin);
        [[nodiscard]] SharedIndividual parent(evolve::BirthId origin);
        /// Places of parents that are not.
        [[nodiscard]] std::vector<std::uint32_t> absent() const;
        /// Whether a parent is here, or will be before a shard that is begun from now on.
        [[nodiscard]] bool has(std::uint32_t place) const {
            return (*pool)[place] != nullptr || (!promised.empty() && promised[place] != 0);
        }
        /// To be written: another list where others read this one.
        [[nodiscard]] PoolGenomes& own_pool();
    };

    [[nodiscard]] const Open& at(std::uint64_t generation) const;
    [[nodiscard]] Open& at(std::uint64_t generation);
    /// Whether births of a generation that are carried over are evaluated, too.
    [[nodiscard]] bool reevaluates(std::uint64_t generation) const;
    /// What is not open any more, to be let go.
    [[nodiscard]] std::shared_ptr<const void> retire(std::deque<Open> closed);
    /// What a member was born as, where what it was made of is here.
    [[nodiscard]] std::optional<evolve::Birth> recipe_of(const evolve::Member& member) const;
    void check_ranks(std::span<const std::uint32_t> holders) const;

    Settings settings_;
    const evolve::Variation& variation_;
    GenomePool& memory_;
    ThreadPool& threads_;
    Foresight foresight_;
    std::deque<Open> open_;       ///< The oldest first.
    std::optional<Open> former_;  ///< Closed last; nothing before the first record or after a jump.
};

}  // namespace cambrian::distributed

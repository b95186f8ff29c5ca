#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/core/unset_vector.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::distributed {

/// A range of Round::order.
struct OrderRange {
    std::size_t begin = 0;
    std::size_t end = 0;
    [[nodiscard]] std::size_t size() const { return end - begin; }
    bool operator==(const OrderRange&) const = default;
};

/// The ranks that evaluated a generation, by ranges of Round::order: up to `end` it was `rank`.
struct HolderRange {
    std::uint32_t end = 0;
    std::uint32_t rank = 0;
    bool operator==(const HolderRange&) const = default;
};

/// What a generation, or block of births, came to: all that ranks must hear to follow a run.
struct Record {
    std::uint64_t generation = 0;
    evolve::Decision decision;
    std::vector<HolderRange> holders;
    bool operator==(const Record&) const = default;
};

using SharedStrategy = std::shared_ptr<const evolve::Strategy>;

/// A generation before it is evaluated, the same on every rank: who is born, in which order births
/// are handed out, and who has the genomes of their parents. Never changes.
struct Round {
    SharedStrategy strategy;
    Hash128 digest;  ///< Of the strategy.
    std::vector<std::uint32_t>
        holders;  ///< By place in the parent pool: a rank that has its genome.
    /// The positions that are evaluated, those together whose first parents one rank has, so that
    /// children are made where their parents lie. An order is a range of it.
    UnsetVector<std::uint32_t> order;
    /// The part of the order that belongs to each rank, which has the first parents; without one
    /// for ranks above the last that has some, and none at all before there are parents.
    std::vector<OrderRange> zones;
    std::vector<evolve::Kinship> kinship;  ///< Of the strategy.
    bool regulated = false;                ///< Whether it asks for the complexity of births.

    [[nodiscard]] std::uint64_t generation() const { return strategy->generation(); }
};
using SharedRound = std::shared_ptr<const Round>;

/// Which Kinship of a round, which has some, a position belongs to.
[[nodiscard]] std::size_t kinship_at(const Round& round, std::uint64_t position);

/// The first parents of births to come, as far as they can be drawn before it is decided who the
/// parents are: a rank has time for that while it evaluates.
struct Foresight {
    std::uint64_t generation = 0;
    std::size_t members = 0;            ///< Of the parent pool, if it is as large again.
    std::vector<std::uint32_t> places;  ///< By position, of the first births or all.
};
/// Draws some more of them; false where there are none. @param newest the round before.
bool foresee(const Round& newest, Foresight& foresight);

/// @param reevaluate whether births that are carried over are evaluated, too.
[[nodiscard]] SharedRound make_round(SharedStrategy strategy, std::vector<std::uint32_t> holders,
                                     bool reevaluate, ThreadPool& threads,
                                     const Foresight& foresight = {});

/// The states of all open generations, the oldest first; `newest` is the last.
[[nodiscard]] std::vector<SharedStrategy> open_states(SharedStrategy newest);

/// Where the genome of a parent was before the decision that made it one.
struct MemberSource {
    enum class Place : std::uint8_t {
        child,   ///< The child of a position of the generation that was told,
        parent,  ///< a place among the parents of that generation, from which it was carried over,
        member,  ///< or a place among those of the newest one: it stays.
    };
    Place place = Place::child;
    std::size_t index = 0;
};
/// A round that opens, and where the genomes of its members were before.
struct NextRound {
    SharedRound round;
    std::vector<MemberSource> sources;
};
/// What follows from a record of the oldest open round, `told`, while `newest` was the last that
/// was open. Throws InputError where the record is of another one, or a member was in neither.
/// @param next the state after the decision, where it is known already.
[[nodiscard]] NextRound next_round(const Round& told, const Round& newest, const Record& record,
                                   bool reevaluate, ThreadPool& threads,
                                   const Foresight& foresight = {}, SharedStrategy next = {});

/// Who evaluated each position of a round; nobody: the position was carried over.
inline constexpr std::uint32_t nobody = 0xFFFFFFFFU;
[[nodiscard]] std::vector<std::uint32_t> evaluators(const Round& round,
                                                    std::span<const HolderRange> holders);

}  // namespace cambrian::distributed

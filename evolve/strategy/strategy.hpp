#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/strategy/age_layers.hpp"
#include "cambrian/evolve/strategy/islands.hpp"
#include "cambrian/evolve/strategy/kinship.hpp"
#include "cambrian/evolve/strategy/scores.hpp"
#include "cambrian/evolve/strategy/species.hpp"
#include "cambrian/evolve/variation/birth.hpp"
#include "cambrian/evolve/variation/complexity.hpp"

namespace cambrian::evolve {

/// A member of a population that may become a parent.
struct Member {
    BirthId birth = 0;
    BirthId origin = 0;  ///< The birth that made its genome: another one where it was carried over.
    double fitness = worst_fitness;
    bool operator==(const Member&) const = default;
};

/// The fitter first; of equals the one with the lower id.
[[nodiscard]] inline bool fitter(const Member& a, const Member& b) {
    return a.fitness != b.fitness ? a.fitness > b.fitness : a.birth < b.birth;
}

/// What a strategy decided about a generation, in its own words: small, and all that other ranks
/// need to follow.
using Decision = std::vector<std::byte>;

/// Who is born next: a state between two generations, which never changes. Every rank of a run
/// holds an equal one. Scores become a decision once, on one rank; the decision becomes the next
/// state on every rank. Holds no genomes and no random state: draws come from (seed, birth id).
/// In the steady state several generations are open at once: births of the newest are drawn while
/// scores of the oldest are still to come.
class Strategy {
  public:
    virtual ~Strategy() = default;
    /// Number of the generation whose births it gives, from 0: the newest that is open.
    [[nodiscard]] virtual std::uint64_t generation() const = 0;
    /// Generations that are open.
    [[nodiscard]] virtual std::uint64_t open() const { return 1; }
    /// Gives the births of the open generation before this one; null where this is the oldest. It
    /// is neither decided nor applied.
    [[nodiscard]] virtual std::unique_ptr<Strategy> former() const { return nullptr; }
    /// The generation that the next decision is about: the oldest open one.
    [[nodiscard]] std::uint64_t told() const { return generation() + 1 - open(); }
    /// Whether members stay parents without being born again; else they are carried over.
    [[nodiscard]] virtual bool members_stay() const { return false; }
    /// How many are born. Their ids are first_birth() + position.
    [[nodiscard]] virtual std::uint64_t births() const = 0;
    [[nodiscard]] virtual BirthId first_birth() const = 0;
    /// One of them: a function of this state alone, for any thread of any rank.
    [[nodiscard]] virtual Birth birth(std::uint64_t position) const = 0;
    /// Whether a birth only carries its parent over.
    [[nodiscard]] virtual bool carries(std::uint64_t position) const {
        return birth(position).recipe == Recipe::carry;
    }
    /// The place of the first parent of a birth in this generation or a later one, if the parent
    /// pool has so many members then; nothing where that depends on more, or there is none.
    [[nodiscard]] virtual std::optional<std::uint32_t> first_parent(std::uint64_t /*generation*/,
                                                                    std::uint64_t /*position*/,
                                                                    std::size_t /*members*/) const {
        return std::nullopt;
    }
    /// The most members that the parent pool ever has; 0: not known, as where no first parents are.
    [[nodiscard]] virtual std::size_t max_members() const { return 0; }
    /// Members that births may name as parents; Parent::place is a place here.
    [[nodiscard]] virtual std::span<const Member> parent_pool() const = 0;

    /// With whom its births are compared to tell their species, by ranges that follow each other;
    /// none where it has no species.
    [[nodiscard]] virtual std::vector<Kinship> kinship() const { return {}; }
    /// The species that each birth of this generation is of, by their numbers from 1 on; 0: none.
    /// @param scores of all of them. Empty where there are no species.
    [[nodiscard]] virtual std::vector<std::uint64_t> species_of(const Scores&) const { return {}; }
    /// The species of the generation that was told last, those that die out included.
    [[nodiscard]] virtual std::vector<SpeciesSummary> species() const { return {}; }

    /// Whether all have died out where that ends the run; of this state, for ever.
    [[nodiscard]] virtual bool extinct() const { return false; }
    /// Whether the best so far is the best of the members after whatever decision, too. Else the
    /// state after one tells.
    [[nodiscard]] virtual bool keeps_best() const { return false; }

    /// Whether it asks for Scores::complexity, by which its births gain or lose genes.
    [[nodiscard]] virtual bool regulates() const { return false; }
    /// How many islands (of one, 0 or 1) have births that lose genes.
    [[nodiscard]] virtual std::uint64_t simplifying() const { return 0; }
    /// Tells a state that was just made whether its births keep their second parents. For one that
    /// asks itself for the parents of its births; the others need not know.
    virtual void keep_second_parents(bool /*keep*/) {}

    /// What follows from the scores of all births of told(), in the order of their positions. May
    /// be dear, and may use the mathematics of the machine: it is called on one rank.
    [[nodiscard]] virtual Decision decide(const Scores& scores, ThreadPool& threads) const = 0;
    /// The state after a decision about this one. Cheap, and the same bits on every machine. Throws
    /// InputError for bytes that are no decision about this state.
    [[nodiscard]] virtual std::unique_ptr<Strategy> apply(
        std::span<const std::byte> decision) const = 0;

    /// The same generation with parents from other islands, who take the places of those of its own
    /// that are less fit, or of all where these have died out; none where it has just restarted.
    /// Throws ConfigError where a strategy takes none.
    [[nodiscard]] virtual std::unique_ptr<Strategy> receive(std::span<const Member> immigrants,
                                                            bool extinct) const;

    /// This state in bytes, and the state that such bytes hold, which must be of a strategy with
    /// equal settings: else load throws InputError.
    [[nodiscard]] virtual std::vector<std::byte> save() const = 0;
    [[nodiscard]] virtual std::unique_ptr<Strategy> load(
        std::span<const std::byte> bytes) const = 0;
    /// Names a state: ranks whose digests are equal give equal births. Asked for after every
    /// decision, so a state that saves much says it shorter.
    [[nodiscard]] virtual Hash128 digest() const;
};

// How others ask a strategy for a state, as it may be one of a user's program: where that makes
// none or throws what is no Error, a ConfigError says so.

/// See Strategy::apply.
[[nodiscard]] std::unique_ptr<Strategy> state_after(const Strategy& strategy,
                                                    std::span<const std::byte> decision);
/// See Strategy::receive.
[[nodiscard]] std::unique_ptr<Strategy> state_with(const Strategy& strategy,
                                                   std::span<const Member> immigrants,
                                                   bool extinct);
/// See Strategy::load.
[[nodiscard]] std::unique_ptr<Strategy> state_of(const Strategy& strategy,
                                                 std::span<const std::byte> bytes);

struct PopulationSettings {
    std::uint64_t size = 256;
    double elite_fraction = 0.25;

    static constexpr auto fields = FieldTable{
        Field{"size", &PopulationSettings::size},
        Field{"elite_fraction", &PopulationSettings::elite_fraction},
    };
};

/// The birth that made the genome of one of its births: another one where that is carried over.
[[nodiscard]] inline BirthId origin_of(const Strategy& strategy, const Birth& birth) {
    return birth.recipe == Recipe::carry
               ? strategy.parent_pool()[index_of(birth.parents.front().place)].origin
               : birth.id;
}

/// How many are carried over: ⌈fraction · size⌉, at least one.
[[nodiscard]] std::uint64_t elite_count(const PopulationSettings& settings);

/// How parents are drawn. truncation: each is as likely as another. tournament: the fittest of so
/// many drawn. roulette: by ranks, the fittest of n is n times as likely as the last.
enum class Selection : std::uint8_t { truncation, tournament, roulette };
inline constexpr std::array<std::string_view, 3> selection_names{"truncation", "tournament",
                                                                 "roulette"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Selection) {
    return selection_names;
}

/// Who may be a parent and how parents are drawn. `fields` are the keys of the section "selection".
struct SelectionSettings {
    Selection type = Selection::truncation;
    std::uint64_t tournament_size = 3;
    double parent_fraction = 0.0;
    std::uint64_t restart_after = 0;
    double bytes_weight = 0.0;
    double products_weight = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"type", &SelectionSettings::type,
              "How parents are drawn. truncation: each is as likely as another. tournament: the "
              "fittest of some. roulette: by ranks, the fittest of n is n times as likely as the "
              "last."},
        Field{"tournament_size", &SelectionSettings::tournament_size, FieldRange{1.0, 1e6},
              "How many are drawn for a tournament, each of all."},
        Field{"parent_fraction", &SelectionSettings::parent_fraction, from_zero_to_one,
              "Share of the population that may be parents, the fittest. 0: with truncation those "
              "that are carried over, else all."},
        Field{"restart_after", &SelectionSettings::restart_after, FieldRange{0.0, 1e9},
              "Generations without a new best after which all give way to founders; best.cmb keeps "
              "the best. 0: never."},
        Field{"bytes_weight", &SelectionSettings::bytes_weight, not_negative,
              "Fitness that a network loses for each byte of its weights as they are stored, see "
              "network.dtype: an objective beside that of the task. Validation and tests do not "
              "count it."},
        Field{"products_weight", &SelectionSettings::products_weight, not_negative,
              "Fitness that a network loses for each multiplication of the products of one "
              "evaluation (matrices, kernels, connections between neurons; a row, one step), as "
              "for bytes."},
    };
};

/// How many may be parents.
[[nodiscard]] std::uint64_t parent_count(const SelectionSettings& selection,
                                         const PopulationSettings& population);

/// Births without generations: scores are told in blocks, and what was told becomes known to births
/// a window later, so that no rank waits for the slowest birth of a block.
struct SteadyStateSettings {
    static constexpr std::uint64_t max_open_blocks = 1024;
    /// Births that may be in flight, a multiple of `block` and at most max_open_blocks of them; 0:
    /// off.
    std::uint64_t window = 0;
    std::uint64_t block = 1;  ///< Births whose scores are told together.

    [[nodiscard]] bool on() const { return window > 0; }
    static constexpr auto fields = FieldTable{
        Field{"window", &SteadyStateSettings::window},
        Field{"block", &SteadyStateSettings::block},
    };
};

/// Which births are a strategy's: of `stride` in a generation those from `offset` on.
struct IdSpace {
    std::uint64_t offset = 0;
    std::uint64_t stride = 0;  ///< 0: as many as there are births.
    bool operator==(const IdSpace&) const = default;
};

/// What every strategy is made from.
struct StrategyContext {
    std::uint64_t seed = 1;
    PopulationSettings population{};
    float splice_rate = 0.0F;
    IslandSettings islands{};
    SteadyStateSettings steady_state{};
    SelectionSettings selection{};
    AgeLayerSettings age_layers{};
    SpeciesSettings species{};
    ComplexitySettings complexity{};
    std::vector<float> splice_rates{};  ///< Of each island; empty: `splice_rate` of all.
    /// The first generation of every other task, ascending: what was best before is no record.
    std::vector<std::uint64_t> task_changes{};
    // Of one island.
    std::uint32_t island = 0;
    IdSpace ids{};
};

/// Strategies by `strategy.type`, passed by value: a program adds its own.
class StrategyRegistry {
  public:
    using Factory = std::function<std::unique_ptr<Strategy>(const StrategyContext& context)>;
    /// Throws ConfigError when the name is taken.
    void add(std::string name, Factory factory);
    /// A run before its first generation, on one island or on many, each with phases of its own
    /// where complexity is regulated. Throws ConfigError naming the nearest type, for a steady
    /// state that does not fit, and for one with phases.
    [[nodiscard]] std::unique_ptr<Strategy> make(std::string_view type,
                                                 const StrategyContext& context) const;
    [[nodiscard]] std::vector<std::string> names() const;

  private:
    std::map<std::string, Factory, std::less<>> factories_;
};

/// A strategy on each of several islands, which exchange parents by IslandSettings. A decision is
/// those of all; migration follows from it on every rank.
[[nodiscard]] std::unique_ptr<Strategy> make_islands(const StrategyRegistry::Factory& factory,
                                                     const StrategyContext& context);

/// The strategies that come with Cambrian: age_layers, elite, species.
[[nodiscard]] StrategyRegistry standard_strategies();

/// Selection with elites: the best ⌈fraction·size⌉ are carried over (ties: lower id) and, unless
/// SelectionSettings says otherwise, are the parents of the rest; a child takes one parent, or with
/// the splice rate two different ones, the fitter first. Births that are not ok are never carried
/// and never parents; a generation without an ok birth is followed by fresh founders.
[[nodiscard]] std::unique_ptr<Strategy> make_elite_strategy(const StrategyContext& context);

/// Layers by age (Hornby 2006): founders begin in the lowest layer again and again, who is too old
/// for a layer moves up, and a layer's parents are those who live in it or right below. So young
/// genomes compete with young ones.
[[nodiscard]] std::unique_ptr<Strategy> make_age_layers_strategy(const StrategyContext& context);

/// Species of similar genomes (Stanley and Miikkulainen 2002), which share the births by their
/// shared fitness and have parents of their own, see SpeciesSettings.
[[nodiscard]] std::unique_ptr<Strategy> make_species_strategy(const StrategyContext& context);

/// The selection of elites without generations: a block's births compete with the members, of whom
/// the best ⌈fraction·size⌉ stay and are the parents. Nobody is carried over; a fitness is final.
/// The first `population.size` births are founders.
[[nodiscard]] std::unique_ptr<Strategy> make_steady_strategy(const StrategyContext& context);

}  // namespace cambrian::evolve

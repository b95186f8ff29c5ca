#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/strategy/selection.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

// What the strategy of species is between two generations, and its decisions as bytes.
namespace cambrian::evolve {

/// A species after a generation. Who is kept of it follows each other in the pool, the fittest
/// first.
struct SpeciesState {
    std::uint64_t id = 0;
    std::uint64_t born = 0;         ///< Generation.
    std::uint64_t improved = 0;     ///< Generation of the last new best,
    double record = worst_fitness;  ///< and that best.
    std::uint64_t size = 0;         ///< In the last generation.
    double best = worst_fitness;
    double mean = worst_fitness;
    std::uint64_t offspring = 0;       ///< Births of the next generation; 0: it has died out.
    std::uint64_t carried = 0;         ///< Of these, by the fittest.
    std::uint64_t kept = 0;            ///< In the pool: parents, and who is carried over.
    std::uint64_t parents = 0;         ///< Of these, the fittest: who may be a parent.
    std::uint64_t representative = 0;  ///< Which of the parents.
    // Worked out by arrange().
    std::uint64_t first_position = 0;  ///< Of its births.
    std::uint64_t first_place = 0;     ///< In the pool.

    void get_no_births() { offspring = carried = kept = parents = representative = 0; }
};

/// Of written states.
inline constexpr std::uint32_t species_format = 3;
inline constexpr std::uint32_t oldest_species_format = 2;

/// All species, those that live in the order of their ids before those that do not.
struct SpeciesPopulation {
    double threshold = 0.0;       ///< For the births of this generation,
    double last_threshold = 0.0;  ///< and of the one before.
    std::uint64_t next_id = 1;
    std::vector<SpeciesState> species;
    std::vector<Member> pool;

    [[nodiscard]] std::span<const SpeciesState> living() const {
        return std::span(species).first(living_);
    }
    /// Whose birth a position is; null where all are founders.
    [[nodiscard]] const SpeciesState* species_at(std::uint64_t position) const;
    /// How many may be parents, of all species.
    [[nodiscard]] std::uint64_t parents() const { return parents_; }
    /// Where in the pool the nth parent of all species but this one is.
    [[nodiscard]] std::size_t parent_elsewhere(const SpeciesState& own, std::uint64_t nth) const;
    /// Puts the living first and works out where each begins. Throws InputError for a state that
    /// contradicts itself.
    void arrange(std::uint64_t births, std::uint64_t generation);
    /// Nobody lives any more.
    void die_out();
    /// Takes births from the largest species for new ones, as many as they are parents; all where
    /// nobody else lives. Their fittest is carried over where it is the fittest of all.
    void make_room(SpeciesState& visitors, std::uint64_t births);
    void write(ArchiveWriter& writer) const;
    /// @param format of the state; in 2 all who are kept are parents.
    void read(ArchiveReader& reader, std::uint32_t format, std::uint64_t births);

  private:
    std::size_t living_ = 0;
    std::uint64_t parents_ = 0;
};

/// What one generation came to.
struct SpeciesDecision {
    double threshold = 0.0;
    std::uint64_t next_id = 1;
    std::vector<SpeciesState> species;
    std::vector<Survivor> survivors;  ///< Who is kept, of one species after another.
};
[[nodiscard]] Decision encode(const SpeciesDecision& decision);
/// Throws InputError for bytes that are no decision about so many births.
[[nodiscard]] SpeciesDecision read_species_decision(std::span<const std::byte> bytes,
                                                    std::uint64_t births, std::uint64_t generation);

}  // namespace cambrian::evolve

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/strategy/selection.hpp"
#include "cambrian/evolve/strategy/species.hpp"
#include "cambrian/evolve/strategy/species_state.hpp"

// Which species of a generation live on, and what each gets of the next one.
namespace cambrian::evolve {

/// What a species is after a generation, and who was born in it.
struct SpeciesGroup {
    SpeciesState state;
    std::vector<Survivor> members;  ///< The fittest first.
};

/// Ranks the members, and works out how fit the species is. It gets no births yet.
/// @param new_task whether a record of before counts no more.
void rank_members(SpeciesGroup& group, std::uint64_t generation, bool new_task);

/// Takes those away that die out: the stagnant, and the least fit where there are more than the
/// births can feed.
void drop_species(std::vector<SpeciesGroup*>& living, const SpeciesSettings& settings,
                  std::uint64_t births, std::uint64_t generation);

/// What each gets of so many births, who of it is carried over, and who may be a parent.
void divide_births(std::span<SpeciesGroup* const> living, const SpeciesSettings& settings,
                   std::uint64_t births, std::uint64_t generation);

/// One parent of each, drawn or the fittest.
void choose_representatives(std::span<SpeciesGroup* const> living, Representative representative,
                            RandomStream rng);

}  // namespace cambrian::evolve

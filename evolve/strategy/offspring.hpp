#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/evolve/strategy/selection.hpp"
#include "cambrian/evolve/strategy/species.hpp"

// How the births of a generation are divided among species.
namespace cambrian::evolve {

/// A species as its shared fitness is worked out.
struct SharingSpecies {
    std::span<const Survivor> members;
    std::uint64_t age = 0;  ///< Generations.
};

/// The fitness of each species: the mean of its members' after Sharing, times the factor of its
/// age. None is negative. Throws ConfigError for a negative fitness where sharing is plain.
[[nodiscard]] std::vector<double> shared_fitness(std::span<const SharingSpecies> species,
                                                 const SpeciesSettings& settings);

/// Whole numbers in proportion to the shares that add up to `births`: each gets what its quota has
/// before the point, the largest remainders get one more (of equals the first), and then whoever
/// has less than `least` gets that of those that have most. All are equal where no share is above
/// 0. Contract: least · shares.size() ≤ births.
[[nodiscard]] std::vector<std::uint64_t> offspring_counts(std::span<const double> shares,
                                                          std::uint64_t births,
                                                          std::uint64_t least);

}  // namespace cambrian::evolve

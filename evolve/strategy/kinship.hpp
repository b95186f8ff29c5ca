#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/evolve/genome/distance.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/variation/birth.hpp"

// Whose species a birth is of. Whoever makes a child compares it with one representative of each
// species; those that match none are few, and found new species in the order of their positions.
namespace cambrian::evolve {

/// Which species a child joins of those whose representative is within the threshold.
enum class Matching : std::uint8_t { first, nearest };
inline constexpr std::array<std::string_view, 2> matching_names{"first", "nearest"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Matching) {
    return matching_names;
}

/// Not within the threshold of any representative.
inline constexpr std::uint32_t unmatched = 0xFFFFFFFFU;

/// With whom a range of births is compared.
struct Kinship {
    std::uint64_t begin = 0;  ///< Positions.
    std::uint64_t end = 0;
    std::vector<PoolPlace>
        representatives{};   ///< One of each species, in the order they are tried.
    double threshold = 0.0;  ///< A distance below it is within.
    Matching matching = Matching::first;
    DistanceSettings distance{};
};

/// Index of the genome that a child matches, or `unmatched`: the first below the threshold, or of
/// all below it the nearest (of equals the first). Weights are on the host.
[[nodiscard]] std::uint32_t matching_species(const Kinship& kinship, const Individual& child,
                                             std::span<const Individual* const> representatives);

/// Numbers for births that match no representative, from `representatives` on: each matches one
/// that founded a species before it, or founds the next one.
/// @param genomes in the order of their positions.
[[nodiscard]] std::vector<std::uint32_t> found_species(const Kinship& kinship,
                                                       std::span<const Individual* const> genomes);

}  // namespace cambrian::evolve

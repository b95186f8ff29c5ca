#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/json/field.hpp"

namespace cambrian::evolve {

/// Which islands send migrants to which.
enum class Topology : std::uint8_t { ring, torus, complete, star, hypercube, random };
inline constexpr std::array<std::string_view, 6> topology_names{"ring", "torus",     "complete",
                                                                "star", "hypercube", "random"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Topology) {
    return topology_names;
}

/// Who migrates.
enum class Migrants : std::uint8_t { best, random };
inline constexpr std::array<std::string_view, 2> migrants_names{"best", "random"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Migrants) {
    return migrants_names;
}

/// Several populations, each with its own selection, that exchange parents now and then.
struct IslandSettings {
    std::uint64_t count = 1;
    Topology topology = Topology::ring;
    std::uint64_t every = 10;    ///< Generations between migrations; 0: none.
    std::uint64_t migrants = 1;  ///< Members that each island sends to each neighbour.
    Migrants choice = Migrants::best;
    /// Generations between extinctions: the island whose best is worst, before migrants come, loses
    /// all members, and the best of the others take their place. 0: none.
    std::uint64_t extinction_every = 0;
    std::vector<std::uint64_t> sizes{};  ///< Of each; none: equal shares of population.size.

    static constexpr auto fields = FieldTable{
        Field{"count", &IslandSettings::count},
        Field{"topology", &IslandSettings::topology},
        Field{"every", &IslandSettings::every},
        Field{"migrants", &IslandSettings::migrants},
        Field{"choice", &IslandSettings::choice},
        Field{"extinction_every", &IslandSettings::extinction_every},
        Field{"sizes", &IslandSettings::sizes},
    };
};

/// The islands that send migrants to one, ascending and without itself, at the migration after a
/// generation. ring: the one before. torus: the four beside it on the squarest grid that holds all.
/// complete: all. star: the first sends to all and all to the first. hypercube: those whose numbers
/// differ in one bit. random: one other, drawn anew at each migration.
[[nodiscard]] std::vector<std::uint64_t> neighbours(const IslandSettings& settings,
                                                    std::uint64_t island, std::uint64_t generation,
                                                    std::uint64_t seed);

/// How many live on each island. Throws ConfigError where the sizes do not fit the population.
[[nodiscard]] std::vector<std::uint64_t> island_sizes(const IslandSettings& settings,
                                                      std::uint64_t population);

}  // namespace cambrian::evolve

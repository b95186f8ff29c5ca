#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/evolve/genome/distance.hpp"
#include "cambrian/evolve/strategy/kinship.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::evolve {

/// What fitness is before a species shares it among its members. shifted: how far it is above the
/// least of the generation, as a share of the range; ranks: its rank, 1 for the least; plain: as it
/// is, which must not be negative.
enum class Sharing : std::uint8_t { shifted, ranks, plain };
inline constexpr std::array<std::string_view, 3> sharing_names{"shifted", "ranks", "plain"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Sharing) {
    return sharing_names;
}

/// Which of its parents stands for a species in comparisons.
enum class Representative : std::uint8_t { random, best };
inline constexpr std::array<std::string_view, 2> representative_names{"random", "best"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Representative) {
    return representative_names;
}

/// What follows where no species is left. reset: founders; error: the run ends.
enum class Extinction : std::uint8_t { reset, error };
inline constexpr std::array<std::string_view, 2> extinction_names{"reset", "error"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Extinction) {
    return extinction_names;
}

/// How species come to be, how long they live, and who is born in them. `fields` are the keys of
/// the section "species".
struct SpeciesSettings {
    double threshold = 3.0;
    std::uint64_t target = 0;
    double threshold_change = 0.1;
    Matching matching = Matching::first;
    Representative representative = Representative::random;
    DistanceSettings distance{};
    Sharing sharing = Sharing::shifted;
    double survival = 0.2;
    std::uint64_t elitism = 1;
    std::uint64_t elitism_size = 5;
    std::uint64_t min_size = 1;
    std::uint64_t stagnation = 15;
    std::uint64_t protected_species = 2;
    std::uint64_t young_age = 10;
    double young_boost = 1.0;
    std::uint64_t old_age = 30;
    double old_penalty = 1.0;
    float interspecies_rate = 0.001F;
    Extinction extinction = Extinction::reset;

    static constexpr auto fields = FieldTable{
        Field{"threshold", &SpeciesSettings::threshold, positive,
              "Distance from a representative below which a child is of its species."},
        Field{"target", &SpeciesSettings::target, FieldRange{0.0, 1e6},
              "Species that the threshold moves towards; 0: it stays as it is."},
        Field{"threshold_change", &SpeciesSettings::threshold_change, FieldRange{0.0, 10.0},
              "After a generation with more species than the target the threshold is times 1 + "
              "this, after one with fewer it is divided by as much."},
        Field{"matching", &SpeciesSettings::matching,
              "Of several species within the threshold a child joins the first (the oldest) or the "
              "nearest."},
        Field{"representative", &SpeciesSettings::representative,
              "Which of its parents a species is compared by in the next generation."},
        Field{"distance", &SpeciesSettings::distance, "How far two genomes are apart."},
        Field{"sharing", &SpeciesSettings::sharing,
              "What fitness is before a species shares it: shifted, how far it is above the least "
              "of all species that live on; ranks, its rank; plain, as it is, never negative."},
        Field{"survival", &SpeciesSettings::survival, FieldRange{0.0, 1.0, true, false},
              "Share of a species that may be parents, its fittest; one at least."},
        Field{"elitism", &SpeciesSettings::elitism, FieldRange{0.0, 1e6},
              "Fittest of a species that are carried over. The fittest of all always is."},
        Field{"elitism_size", &SpeciesSettings::elitism_size, FieldRange{1.0, 1e6},
              "Members from which on a species carries its fittest over."},
        Field{"min_size", &SpeciesSettings::min_size, FieldRange{0.0, 1e6},
              "Births that a species gets at least; 0: it dies out where its share is none."},
        Field{"stagnation", &SpeciesSettings::stagnation, FieldRange{0.0, 1e9},
              "Generations without a new best after which a species dies out; 0: never."},
        Field{"protected_species", &SpeciesSettings::protected_species, FieldRange{0.0, 1e6},
              "Species with the fittest members that never die out of stagnation."},
        Field{"young_age", &SpeciesSettings::young_age, FieldRange{0.0, 1e9},
              "Generations that a species is young for."},
        Field{"young_boost", &SpeciesSettings::young_boost, positive,
              "Factor of the shared fitness of a young species."},
        Field{"old_age", &SpeciesSettings::old_age, FieldRange{0.0, 1e9},
              "Generations after which a species is old."},
        Field{"old_penalty", &SpeciesSettings::old_penalty, positive,
              "Factor of the shared fitness of an old species."},
        Field{
            "interspecies_rate", &SpeciesSettings::interspecies_rate, from_zero_to_one,
            "Of children that are to have two parents, the share whose second parent is of another "
            "species. One that is alone in its species finds a mate there alone."},
        Field{"extinction", &SpeciesSettings::extinction,
              "Where no species is left: reset, founders begin anew; error, the run ends."},
    };
};

/// One species of a generation, for logs.
struct SpeciesSummary {
    std::uint64_t id = 0;  ///< From 1 on, in the order in which they were founded.
    std::uint32_t island = 0;
    std::uint64_t size = 0;  ///< Valid births.
    double best = worst_fitness;
    double mean = worst_fitness;
    std::uint64_t born = 0;       ///< Generation in which it was founded,
    std::uint64_t improved = 0;   ///< and that of its last new best.
    std::uint64_t offspring = 0;  ///< Births of the next generation; 0: it dies out.
    double threshold = 0.0;       ///< That its members were within.
    /// Who stands for it in the next generation, and its fittest; nothing where it dies out.
    std::optional<BirthId> representative;
    std::optional<PoolPlace> champion;
};

}  // namespace cambrian::evolve

#pragma once

#include <cstdint>
#include <span>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/evolve/genome/history.hpp"
#include "cambrian/evolve/genome/structure.hpp"

namespace cambrian::evolve {

/// Weights of the compatibility distance of NEAT (Stanley and Miikkulainen 2002),
/// excess · E/N + disjoint · D/N + weight · W̄. Genes match by historical id, where their weights
/// mean the same (HistoricalGene::form). E counts those that only one genome has and that are
/// younger than all of the other; D the rest that only one has, and those that both have in
/// different forms. N is the number of genes of the larger genome, and 1 where that is below
/// `small_genome`. W̄ is the mean absolute difference over all weights of matching genes.
struct DistanceSettings {
    double excess = 1.0;
    double disjoint = 1.0;
    double weight = 0.4;
    std::uint64_t small_genome = 20;

    bool operator==(const DistanceSettings&) const = default;

    static constexpr auto fields = FieldTable{
        Field{"excess", &DistanceSettings::excess, FieldRange{0.0, 1e6},
              "What a gene counts that only one of two genomes has and that is younger than all "
              "of the other."},
        Field{"disjoint", &DistanceSettings::disjoint, FieldRange{0.0, 1e6},
              "What any other gene counts that only one of two genomes has, or that both have with "
              "weights of other shapes or wiring."},
        Field{"weight", &DistanceSettings::weight, FieldRange{0.0, 1e6},
              "What the mean absolute difference of matching weights counts."},
        Field{"small_genome", &DistanceSettings::small_genome, FieldRange{0.0, 1e9},
              "Counts of genes are divided by those of the larger genome, unless it has fewer than "
              "that many."},
    };
};

/// One side of a comparison.
struct Compared {
    const History& history;
    std::span<const float> weights;
};

/// How many genes of two genomes match, and how many do not; each gene counts once.
struct GeneCounts {
    std::int64_t matching = 0;
    std::int64_t disjoint = 0;  ///< Of one genome, or of both in different forms.
    std::int64_t excess = 0;    ///< Younger than all of the other genome.
};
[[nodiscard]] GeneCounts count_genes(const History& a, const History& b);

/// The distance of two genomes: symmetric, and the same bits on every machine, since terms are
/// added in a fixed order in double precision.
[[nodiscard]] double distance(const Compared& a, const Compared& b,
                              const DistanceSettings& settings);
/// Of two individuals whose weights are on the host.
[[nodiscard]] double distance(const Individual& a, const Individual& b,
                              const DistanceSettings& settings);
[[nodiscard]] double distance(const Genome& a, const Genome& b,
                              const DistanceSettings& settings = {});

}  // namespace cambrian::evolve

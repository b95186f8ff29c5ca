#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/evolve/genome/genome.hpp"

namespace cambrian::evolve {

/// Genes, whose own weights are not looked at, and weights for them.
struct WeightedGenes {
    const Genome& genes;
    std::span<const float> weights;
};

/// The weights of `b` with its units in the order in which they are most like those of `a`: a
/// network of the same function. Layers match by historical id, else by place.
///
/// The order of each group of units is the one with the largest sum of cosines, over the layers and
/// links that make and read the units, between both networks, so that each counts alike, however
/// large its weights: exact for one group while the others stay (Hungarian method), and groups take
/// turns until none changes, eight at most (Ainsworth and others, "Git Re-Basin", 2023). How units
/// of a recurrent layer read each other follows their order and has no say in it. An order that is
/// no better than the one there is changes nothing. The same bits on every machine.
[[nodiscard]] std::vector<float> aligned_weights(const WeightedGenes& a, const WeightedGenes& b);
/// The same as a genome.
[[nodiscard]] Genome aligned(const Genome& a, const Genome& b);

}  // namespace cambrian::evolve

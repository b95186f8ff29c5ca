#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/evolve/genome/genome.hpp"

namespace cambrian::evolve {

/// A gene as comparisons of two genomes see it.
struct HistoricalGene {
    Hash128 id;
    std::uint64_t born = 0;   ///< Birth in which an ancestor first carried it.
    std::uint64_t form = 0;   ///< Equal where weight i of two genes means the same.
    std::int64_t offset = 0;  ///< Of its weights in the weight vector.
    std::int64_t count = 0;
    bool operator==(const HistoricalGene&) const = default;
};

/// Every gene of a genome, in the order of ids: two genomes are compared by one walk over both. The
/// weight of a neuron's gene is its bias.
struct History {
    std::vector<HistoricalGene> genes;
    std::uint64_t last_born = 0;  ///< Of its youngest gene.
};

/// The history of a genome's structure.
[[nodiscard]] History history_of(const Genome& genome);

}  // namespace cambrian::evolve

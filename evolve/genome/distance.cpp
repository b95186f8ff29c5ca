#include <algorithm>
#include <unordered_map>

#include "cambrian/evolve/genome/dna.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/genome/weight_math.hpp"

namespace cambrian::evolve {

namespace {

using GeneMap = std::unordered_map<Hash128, GeneWeights, Hash128Hasher>;  // looked up, not walked

GeneMap by_id(const Genome& genome, const std::vector<GeneWeights>& genes) {
    GeneMap map;
    for (const GeneWeights& gene : genes) {
        map.emplace(gene_at(genome, gene).id, gene);
    }
    return map;
}

std::uint64_t youngest(const Genome& genome, const std::vector<GeneWeights>& genes) {
    std::uint64_t born = 0;
    for (const GeneWeights& gene : genes) {
        born = std::max(born, gene_at(genome, gene).born);
    }
    return born;
}

struct Unmatched {
    double excess = 0.0;
    double disjoint = 0.0;
};

/// Genes of one genome that the other lacks: excess when younger than all of the other's.
void count_unmatched(const Genome& genome, const std::vector<GeneWeights>& genes,
                     const GeneMap& other, std::uint64_t other_youngest, Unmatched& counts) {
    for (const GeneWeights& gene : genes) {
        if (const Gene& here = gene_at(genome, gene); !other.contains(here.id)) {
            (here.born > other_youngest ? counts.excess : counts.disjoint) += 1.0;
        }
    }
}

/// W̄: mean over all weights of the genes that match in id and shape.
double mean_difference(const Genome& a, const std::vector<GeneWeights>& genes, const Genome& b,
                       const GeneMap& others) {
    double sum = 0.0;
    double count = 0.0;
    for (const GeneWeights& gene : genes) {
        const auto other = others.find(gene_at(a, gene).id);
        if (other != others.end() && same_weights(a.blueprint, gene, b.blueprint, other->second)) {
            sum += absolute_difference(weights_of(a, gene), weights_of(b, other->second));
            count += static_cast<double>(gene.count);
        }
    }
    return count > 0.0 ? sum / count : 0.0;
}

}  // namespace

double distance(const Genome& a, const Genome& b, const DistanceCoefficients& coefficients) {
    const std::vector<GeneWeights> genes_a = gene_weights(a.blueprint);
    const std::vector<GeneWeights> genes_b = gene_weights(b.blueprint);
    const GeneMap map_a = by_id(a, genes_a);
    const GeneMap map_b = by_id(b, genes_b);
    Unmatched counts;
    count_unmatched(a, genes_a, map_b, youngest(b, genes_b), counts);
    count_unmatched(b, genes_b, map_a, youngest(a, genes_a), counts);
    const auto larger = static_cast<double>(std::max(genes_a.size(), genes_b.size()));
    return (coefficients.excess * counts.excess + coefficients.disjoint * counts.disjoint) /
               larger +
           coefficients.weight * mean_difference(a, genes_a, b, map_b);
}

}  // namespace cambrian::evolve

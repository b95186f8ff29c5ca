#include "cambrian/evolve/genome/history.hpp"

#include <algorithm>
#include <functional>

#include "cambrian/evolve/genome/genome_layout.hpp"

namespace cambrian::evolve {

namespace {

/// What the weights of a gene mean: layer type, names and shapes of parameters; see same_weights().
std::uint64_t form_of(const Blueprint& blueprint, const GeneWeights& gene) {
    Hasher hasher;
    hasher.add(gene.link < 0 ? layer_at(blueprint, gene.slot).type() : std::string_view{});
    for (const ParameterSpec& parameter : gene_parameters(blueprint, gene)) {
        hasher.add(parameter.name);
        for (const std::int64_t extent : parameter.shape.extents()) {
            hasher.add(extent);
        }
    }
    return hasher.hash64();
}

}  // namespace

History history_of(const Genome& genome) {
    History history;
    for (const GeneWeights& weights : gene_weights(genome.blueprint)) {
        const Gene& gene = gene_at(genome, weights);
        history.genes.push_back({.id = gene.id,
                                 .born = gene.born,
                                 .form = form_of(genome.blueprint, weights),
                                 .offset = weights.offset,
                                 .count = weights.count});
        history.last_born = std::max(history.last_born, gene.born);
    }
    std::ranges::sort(history.genes, {}, &HistoricalGene::id);
    return history;
}

}  // namespace cambrian::evolve

#include "cambrian/evolve/genome/history.hpp"

#include <algorithm>
#include <functional>

#include "cambrian/evolve/genome/genome_layout.hpp"

namespace cambrian::evolve {

namespace {

// Forms of single neurons and of their connections, which are alike in every layer.
constexpr std::uint64_t neuron_form = 1;
constexpr std::uint64_t connection_form = 2;

/// What the weights of a gene mean: layer type, wiring, names and shapes of parameters; see
/// same_weights().
std::uint64_t form_of(const Blueprint& blueprint, const GeneWeights& gene) {
    Hasher hasher;
    hasher.add(gene.link < 0 ? layer_at(blueprint, gene.slot).type() : std::string_view{});
    if (gene.link < 0) {
        hasher.add(wiring_of(layer_at(blueprint, gene.slot)));
    }
    for (const ParameterSpec& parameter : gene_parameters(blueprint, gene)) {
        hasher.add(parameter.name);
        for (const std::int64_t extent : parameter.shape.extents()) {
            hasher.add(extent);
        }
    }
    return hasher.hash64();
}

/// The genes of a layer of neurons, one for each weight and bias.
void add_neurons(History& history, const NeuronGenes& genes, std::int64_t offset) {
    const auto add = [&](const Gene& gene, std::uint64_t form) {
        history.genes.push_back(
            {.id = gene.id, .born = gene.born, .form = form, .offset = offset++, .count = 1});
    };
    for (const Gene& gene : genes.connections) {
        add(gene, connection_form);
    }
    for (const Gene& gene : genes.neurons) {
        add(gene, neuron_form);
    }
}

}  // namespace

History history_of(const Genome& genome) {
    History history;
    auto neurons = genome.neuron_genes.begin();
    for (const GeneWeights& weights : gene_weights(genome.blueprint)) {
        if (neurons != genome.neuron_genes.end() && weights.slot == neurons->slot) {
            add_neurons(history, *neurons++, weights.offset);
            continue;
        }
        const Gene& gene = gene_at(genome, weights);
        history.genes.push_back({.id = gene.id,
                                 .born = gene.born,
                                 .form = form_of(genome.blueprint, weights),
                                 .offset = weights.offset,
                                 .count = weights.count});
    }
    for (const HistoricalGene& gene : history.genes) {
        history.last_born = std::max(history.last_born, gene.born);
    }
    std::ranges::sort(history.genes, {}, &HistoricalGene::id);
    return history;
}

}  // namespace cambrian::evolve

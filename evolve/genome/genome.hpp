#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian::evolve {

/// Name of a gene for matching between genomes.
struct Gene {
    Hash128 id;  ///< Historical id: equal structural mutations get equal ids on every rank.
    std::uint64_t born =
        0;  ///< Birth in which this genome's ancestor first carried it; tells excess from disjoint.
    bool operator==(const Gene&) const = default;
};

/// Historical id = XXH3-128 of (parent id, operation, layer type, occurrence): `occurrence` counts
/// the earlier genes of the same genome that came from the same parent, operation and type.
[[nodiscard]] Hash128 historical_id(Hash128 parent, std::string_view operation,
                                    std::string_view layer_type, std::uint64_t occurrence);

/// Genes inside one layer `neurons`: of each neuron and connection, in the order of its lists.
struct NeuronGenes {
    int slot = 0;  ///< slots() for the head.
    std::vector<Gene> neurons;
    std::vector<Gene> connections;
    bool operator==(const NeuronGenes&) const = default;
};

/// A network description with history: layers and links are genes, and in a graph of neurons these
/// and their connections. Weights lie in the order of Network::weights(). A genome in the hands of
/// others is valid: Network(blueprint) builds.
struct Genome {
    Blueprint blueprint;
    std::vector<Gene> slot_genes;  ///< One for each slot; all zero for an empty one.
    std::vector<Gene> link_genes;  ///< One for each link, in the order of blueprint.links.
    Gene head_gene;
    /// By slot. A layer with an entry has no cycle of connections without delay, those that are
    /// disabled included. Empty: layers are genes as a whole.
    std::vector<NeuronGenes> neuron_genes{};
    std::vector<float> weights;
    /// Its own deviation of the noise on weights, where that evolves; 0: that of the settings.
    float weight_power = 0.0F;

    bool operator==(const Genome&) const = default;
};

/// Every gene but those of empty slots.
template <class G, class F>
void for_each_gene(G& genome, const F& f) {
    for (std::size_t slot = 0; slot < genome.slot_genes.size(); ++slot) {
        if (genome.blueprint.slots[slot]) {
            f(genome.slot_genes[slot]);
        }
    }
    for (auto& gene : genome.link_genes) {
        f(gene);
    }
    f(genome.head_gene);
    for (auto& layer : genome.neuron_genes) {
        for (auto& gene : layer.neurons) {
            f(gene);
        }
        for (auto& gene : layer.connections) {
            f(gene);
        }
    }
}

/// Empty text where structure and genes fit each other and so many weights, else what is wrong.
[[nodiscard]] std::string structure_fault(const Genome& genome, std::int64_t weights);

/// Throws ContractViolation unless sizes agree, the network builds, weights are finite and no two
/// genes share an id.
void check(const Genome& genome);

/// Bytes for files and messages, and back. decode throws InputError naming `source` for anything
/// that is not a valid genome.
[[nodiscard]] std::vector<std::byte> encode(const Genome& genome);
[[nodiscard]] Genome decode_genome(std::span<const std::byte> bytes, std::string_view source);

/// XXH3-128 over everything that makes the genome what it is (structure, genes, weights).
[[nodiscard]] Hash128 content_hash(const Genome& genome);

/// A founder: the blueprint with fresh weights from the stream; genes named after their slots, so
/// all founders of a blueprint have the same gene ids.
[[nodiscard]] Genome sample_genome(const Blueprint& blueprint, RandomStream& rng,
                                   std::uint64_t birth);
/// The same for a network that is already built.
[[nodiscard]] Genome sample_genome(const Network& network, RandomStream& rng, std::uint64_t birth);
/// Its structure alone.
[[nodiscard]] Genome founder_genome(const Blueprint& blueprint, std::uint64_t birth);

}  // namespace cambrian::evolve

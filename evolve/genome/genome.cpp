#include "cambrian/evolve/genome/genome.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/structure_words.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"

namespace cambrian::evolve {

namespace {

std::vector<Hash128> sorted_ids(const Genome& genome) {
    std::vector<Hash128> ids;
    for_each_gene(genome, [&ids](const Gene& gene) { ids.push_back(gene.id); });
    std::sort(ids.begin(), ids.end());
    return ids;
}

/// The same with every connection enabled.
Neurons wholly_enabled(Neurons layer) {
    for (Neurons::Connection& connection : layer.connections) {
        connection.enabled = true;
    }
    return layer;
}

/// Of genes inside layers; the network builds.
std::string neuron_fault(const Genome& genome) {
    int last = -1;
    for (const NeuronGenes& genes : genome.neuron_genes) {
        const bool filled =
            genes.slot > last && genes.slot <= genome.blueprint.grid.slots() &&
            (genes.slot == genome.blueprint.grid.slots() ||
             genome.blueprint.slots[static_cast<std::size_t>(genes.slot)].has_value());
        const Neurons* layer =
            filled ? std::get_if<Neurons>(&layer_at(genome.blueprint, genes.slot).variant())
                   : nullptr;
        if (layer == nullptr) {
            return "genes of neurons are of no layer of neurons";
        }
        if (genes.neurons.size() != layer->neurons.size() ||
            genes.connections.size() != layer->connections.size()) {
            return "the number of genes is not the number of neurons and connections";
        }
        static_cast<void>(NeuronPlan(wholly_enabled(*layer)));  // throws for a cycle
        last = genes.slot;
    }
    return {};
}

}  // namespace

std::string structure_fault(const Genome& genome, std::int64_t weights) {
    const Blueprint& blueprint = genome.blueprint;
    if (genome.slot_genes.size() != blueprint.slots.size() ||
        genome.link_genes.size() != blueprint.links.size()) {
        return "the number of genes is not the number of slots and links";
    }
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot) {
        if (!blueprint.slots[slot] && genome.slot_genes[slot] != Gene{}) {
            return "empty slot " + std::to_string(slot) + " has a gene";
        }
    }
    if (!std::isfinite(genome.weight_power) || genome.weight_power < 0.0F) {
        return "its own deviation of noise is not a positive number";
    }
    const std::vector<Hash128> ids = sorted_ids(genome);
    if (ids.front() == Hash128{}) {
        return "a gene has no id";
    }
    if (const auto same = std::adjacent_find(ids.begin(), ids.end()); same != ids.end()) {
        return "two genes share the id " + same->hex();
    }
    try {
        const Network network(blueprint);
        if (network.blueprint() != blueprint) {
            return "a width is left open";
        }
        if (network.weight_count() != weights) {
            return "it has " + std::to_string(weights) + " weights for a network of " +
                   std::to_string(network.weight_count());
        }
        if (std::string text = neuron_fault(genome); !text.empty()) {
            return text;
        }
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

namespace {

/// Empty text for a valid genome, else what is wrong with it.
std::string fault(const Genome& genome) {
    if (std::string text = structure_fault(genome, std::ssize(genome.weights)); !text.empty()) {
        return text;
    }
    if (!std::all_of(genome.weights.begin(), genome.weights.end(),
                     [](float weight) { return std::isfinite(weight); })) {
        return "a weight is not finite";
    }
    return {};
}

}  // namespace

Hash128 historical_id(Hash128 parent, std::string_view operation, std::string_view layer_type,
                      std::uint64_t occurrence) {
    return Hasher().add(parent).add(operation).add(layer_type).add(occurrence).hash128();
}

void check(const Genome& genome) {
    if (const std::string text = fault(genome); !text.empty()) {
        throw ContractViolation("invalid genome (" + text + ")");
    }
}

Hash128 content_hash(const Genome& genome) {
    StructureWords words(StructureWords::Genes::hashed);
    words.add(genome.blueprint);
    const auto add_gene = [&words](const Gene& gene) {
        words.add(gene.id);
        words.add(gene.born);
    };
    std::for_each(genome.slot_genes.begin(), genome.slot_genes.end(), add_gene);
    std::for_each(genome.link_genes.begin(), genome.link_genes.end(), add_gene);
    add_gene(genome.head_gene);
    for (const NeuronGenes& genes : genome.neuron_genes) {
        words.add(static_cast<std::uint64_t>(genes.slot));
        std::for_each(genes.neurons.begin(), genes.neurons.end(), add_gene);
        std::for_each(genes.connections.begin(), genes.connections.end(), add_gene);
    }
    words.add(static_cast<std::uint64_t>(genome.weights.size()));
    words.add(hash128(std::as_bytes(std::span(genome.weights))));
    if (genome.weight_power > 0.0F) {
        words.add(genome.weight_power);
    }
    return words.hash();
}

Genome founder_genome(const Blueprint& blueprint, std::uint64_t birth) {
    Genome genome;
    genome.blueprint = blueprint;
    genome.slot_genes.resize(blueprint.slots.size());
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot) {
        if (blueprint.slots[slot]) {
            const std::string_view type = blueprint.slots[slot]->layer.type();
            genome.slot_genes[slot] = {historical_id({}, "founder", type, slot), birth};
        }
    }
    genome.head_gene = {historical_id({}, "founder_head", blueprint.head.type(), 0), birth};
    for (const Link& link : blueprint.links) {
        genome.link_genes.push_back(derive_link_gene(genome, link, birth));
    }
    return genome;
}

Genome sample_genome(const Network& network, RandomStream& rng, std::uint64_t birth) {
    Genome genome = founder_genome(network.blueprint(), birth);
    genome.weights = network.initial_weights(rng);
    return genome;
}

Genome sample_genome(const Blueprint& blueprint, RandomStream& rng, std::uint64_t birth) {
    return sample_genome(Network(blueprint), rng, birth);
}

}  // namespace cambrian::evolve

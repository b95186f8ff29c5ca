#include "cambrian/evolve/variation/neat/neat_layers.hpp"

#include <variant>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::string_view layer_type = Neurons::name;

Hash128 input_id(Hash128 layer, std::int64_t source) {
    return source == Neurons::constant
               ? historical_id(layer, "constant", layer_type, 0)
               : historical_id(layer, "input", layer_type, static_cast<std::uint64_t>(source));
}

Hash128 source_id(const Neurons& layer, Hash128 layer_id, const std::vector<Gene>& neurons,
                  std::int64_t source) {
    return source < layer.in ? input_id(layer_id, source)
                             : neurons[static_cast<std::size_t>(source - layer.in)].id;
}

}  // namespace

const Neurons& neurons_of(const Genome& genome, int slot) {
    return std::get<Neurons>(layer_at(genome.blueprint, slot).variant());
}

Neurons& neurons_of(Genome& genome, int slot) {
    const auto index = static_cast<std::size_t>(slot);
    Blueprint& blueprint = genome.blueprint;
    AnyLayer& layer =
        index == blueprint.slots.size() ? blueprint.head : blueprint.slots[index]->layer;
    return std::get<Neurons>(layer.variant());
}

std::int64_t first_weight(const Genome& genome, int slot) {
    for (const GeneWeights& gene : gene_weights(genome.blueprint)) {
        if (gene.slot == slot) {
            return gene.offset;
        }
    }
    CAMBRIAN_ASSERT(false);
    return -1;
}

NeuronGenes founder_neurons(const Neurons& layer, int slot, const Gene& layer_gene) {
    NeuronGenes genes{.slot = slot, .neurons = {}, .connections = {}};
    for (std::size_t i = 0; i < layer.neurons.size(); ++i) {
        genes.neurons.push_back(
            {historical_id(layer_gene.id, "neuron", layer_type, i), layer_gene.born});
    }
    for (const Neurons::Connection& each : layer.connections) {
        const Hash128 source = source_id(layer, layer_gene.id, genes.neurons, each.source);
        const Hash128 target = genes.neurons[static_cast<std::size_t>(each.target)].id;
        genes.connections.push_back({connection_id(source, target, each.delay), layer_gene.born});
    }
    return genes;
}

Hash128 connection_id(Hash128 source, Hash128 target, std::int64_t delay) {
    const Hash128 ends = Hasher().add(source).add(target).hash128();
    return historical_id(ends, "connection", layer_type, static_cast<std::uint64_t>(delay));
}

Hash128 source_id(const Genome& genome, const NeuronGenes& genes, std::int64_t source) {
    const Hash128 layer_id = gene_at(genome, {.slot = genes.slot}).id;
    return source_id(neurons_of(genome, genes.slot), layer_id, genes.neurons, source);
}

std::int64_t parameter_in(const Neurons& other, const Neurons& layer, std::int64_t parameter) {
    if (parameter == 0) {
        return 0;
    }
    if (layer.continuous && parameter == 1) {
        return other.continuous ? 1 : -1;
    }
    const std::int64_t of_rule = parameter - (layer.continuous ? 2 : 1);
    return other.plastic ? of_rule + (other.continuous ? 2 : 1) : -1;
}

bool closes_cycle(const Neurons& layer, std::int64_t source, std::int64_t target) {
    if (source < layer.in) {
        return false;
    }
    const std::int64_t origin = source - layer.in;
    // Neurons that the target reaches, in the order in which they were found.
    std::vector<std::int64_t> found{target};
    std::vector<bool> reached(layer.neurons.size(), false);
    reached[static_cast<std::size_t>(target)] = true;
    for (std::size_t next = 0; next < found.size(); ++next) {
        if (found[next] == origin) {
            return true;
        }
        for (const Neurons::Connection& each : layer.connections) {
            if (each.delay > 0 || each.source != layer.in + found[next] ||
                reached[static_cast<std::size_t>(each.target)]) {
                continue;
            }
            reached[static_cast<std::size_t>(each.target)] = true;
            found.push_back(each.target);
        }
    }
    return false;
}

}  // namespace cambrian::evolve

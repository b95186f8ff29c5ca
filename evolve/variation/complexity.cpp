#include "cambrian/evolve/variation/complexity.hpp"

#include <algorithm>

namespace cambrian::evolve {

std::uint32_t complexity(const Genome& genome) {
    std::size_t genes = 0;
    for (const NeuronGenes& layer : genome.neuron_genes) {
        genes += layer.neurons.size() + layer.connections.size();
    }
    if (genome.neuron_genes.empty()) {
        const auto& slots = genome.blueprint.slots;
        genes = static_cast<std::size_t>(std::ranges::count_if(
                    slots, [](const auto& slot) { return slot.has_value(); })) +
                genome.blueprint.links.size();
    }
    return static_cast<std::uint32_t>(genes);
}

}  // namespace cambrian::evolve

#pragma once

#include <cstdint>

#include "cambrian/evolve/genome/genome.hpp"

// The layers of neurons of a genome, which the operators of NEAT work on.
namespace cambrian::evolve {

[[nodiscard]] const Neurons& neurons_of(const Genome& genome, int slot);
[[nodiscard]] Neurons& neurons_of(Genome& genome, int slot);
/// Where the weights of a layer begin: first of its connections, then what each neuron has, a bias
/// and further parameters, see Neurons::parameters.
[[nodiscard]] std::int64_t first_weight(const Genome& genome, int slot);

/// Genes of every neuron and connection of a layer as founders have them. @param layer_gene the
/// gene of the layer itself.
[[nodiscard]] NeuronGenes founder_neurons(const Neurons& layer, int slot, const Gene& layer_gene);

/// Historical id of a connection: equal for equal ends and delay in any genome.
[[nodiscard]] Hash128 connection_id(Hash128 source, Hash128 target, std::int64_t delay);
/// The id of what a connection comes from: an input of a layer, or one of its neurons.
[[nodiscard]] Hash128 source_id(const Genome& genome, const NeuronGenes& genes,
                                std::int64_t source);

/// Where a layer of the same kind has a parameter that neurons of `layer` have, counted from the
/// bias; -1: nowhere.
[[nodiscard]] std::int64_t parameter_in(const Neurons& other, const Neurons& layer,
                                        std::int64_t parameter);

/// Whether a connection without delay from a source to a neuron would close a cycle of such
/// connections, those that are disabled included.
[[nodiscard]] bool closes_cycle(const Neurons& layer, std::int64_t source, std::int64_t target);

}  // namespace cambrian::evolve

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/weight_layout.hpp"
#include "cambrian/evolve/genome/genome.hpp"

// What variation needs to know about a blueprint without building a Network: building costs many
// times what the mutation of a small genome costs.
namespace cambrian::evolve {

/// The weights of one gene.
using GeneWeights = WeightBlock;

/// Every gene in the order of the weight vector: filled slots, head, links.
[[nodiscard]] std::vector<GeneWeights> gene_weights(const Blueprint& blueprint);

/// Shape of a row of the chain before every slot, then before the head.
[[nodiscard]] std::vector<Shape> chain_shapes(const Blueprint& blueprint);

/// Whether a filled slot gives as many elements as it takes, so that it may be disabled.
[[nodiscard]] bool keeps_width(std::span<const Shape> shapes, int slot);

/// The parameter tensors of one gene, in the order of its weights.
[[nodiscard]] std::vector<ParameterSpec> gene_parameters(const Blueprint& blueprint,
                                                         const GeneWeights& gene);

/// What weights belong to where shapes do not tell: of layers of neurons, inner ones too, a hash of
/// the ends and delays of their connections, else 0.
[[nodiscard]] std::uint64_t wiring_of(const AnyLayer& layer);

/// Whether two genes have equal types, wiring and parameter shapes, so that weight i means the same
/// in both.
[[nodiscard]] bool same_weights(const Blueprint& a, const GeneWeights& gene_a, const Blueprint& b,
                                const GeneWeights& gene_b);

/// The layer of a filled slot, or the head for slots().
[[nodiscard]] const AnyLayer& layer_at(const Blueprint& blueprint, int slot);

/// Whether a layer put into a slot would come between an empty residual and the layer whose input
/// it adds, which changes the function whatever the layer computes.
[[nodiscard]] bool parts_a_residual(const Blueprint& blueprint, int slot);

[[nodiscard]] const Gene& gene_at(const Genome& genome, const GeneWeights& gene);
[[nodiscard]] std::span<const float> weights_of(const Genome& genome, const GeneWeights& gene);

/// The id of what a link joins: a slot's gene, the head's gene, or all zero for the input port.
[[nodiscard]] Hash128 end_id(const Genome& genome, int end);

/// A gene whose id no other gene of the genome has. A gene does not store where it came from, so
/// the occurrence number is the first one whose id is free.
[[nodiscard]] Gene derive_gene(const Genome& genome, Hash128 parent, std::string_view operation,
                               std::string_view layer_type, std::uint64_t birth);

/// The gene of a link between two ends.
[[nodiscard]] Gene derive_link_gene(const Genome& genome, const Link& link, std::uint64_t birth);

/// The order of blueprint.links.
[[nodiscard]] bool link_before(const Link& a, const Link& b);

/// Hash of a layer's type and fields, with its activations.
[[nodiscard]] Hash128 structure_hash(const AnyLayer& layer);

}  // namespace cambrian::evolve

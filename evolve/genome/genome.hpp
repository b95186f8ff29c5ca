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

/// A network description with history: layers and links are genes. Weights lie in the order of
/// Network::weights(). A genome in the hands of others is valid: Network(blueprint) builds.
struct VolumetricGenome {
    Blueprint blueprint;
    std::vector<Gene> slot_genes;  ///< One for each slot; all zero for an empty one.
    std::vector<Gene> link_genes;  ///< One for each link, in the order of blueprint.links.
    Gene head_gene;
    std::vector<float> weights;
    /// Its own deviation of the noise on weights, where that evolves; 0: that of the settings.
    float weight_power = 0.0F;

    bool operator==(const VolumetricGenome&) const = default;
};

/// The genome kind of a run.
using Genome = VolumetricGenome;

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

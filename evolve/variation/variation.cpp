#include "cambrian/evolve/variation/variation.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

namespace {

/// What a vary birth mutates: its parent, or the splice of both.
void start(Individual& child, RandomKey key, const SpliceSettings& settings, const Birth& birth,
           std::span<const Individual* const> parents) {
    child = *parents[0];
    if (parents.size() == 2) {
        RandomStream rng(key, birth.id);
        splice_into(child, rng, settings, birth.parents[0].fitness, *parents[1],
                    birth.parents[1].fitness);
    }
}

/// Noise of mutation.weight_power on every weight.
MutationSettings noise_on_all(MutationSettings settings) {
    settings.weight_rate = 1.0F;
    settings.weight_replace_rate = 0.0F;
    return settings;
}

}  // namespace

InitialNetwork::InitialNetwork(Genome network, bool keeps)
    : genome(std::move(network)), keeps_weights(keeps) {
    for (std::vector<Gene>* genes : {&genome.slot_genes, &genome.link_genes}) {
        for (Gene& gene : *genes) {
            gene.born = 0;
        }
    }
    genome.head_gene.born = 0;
}

Hash128 content_hash(const InitialNetwork& initial) {
    Genome founder = initial.genome;
    if (!initial.keeps_weights) {
        founder.weights.clear();
    }
    return content_hash(founder);
}

Variation::Variation(std::uint64_t seed, VariationSettings settings)
    : settings_(std::move(settings)),
      founder_(std::make_shared<const Network>(settings_.founder)),
      initial_(settings_.initial ? std::make_shared<const Structure>(settings_.initial->genome)
                                 : nullptr),
      founder_noise_(noise_on_all(settings_.mutation)),
      sample_key_(random_key(seed, "sample")),
      splice_key_(random_key(seed, "splice")),
      mutate_key_(random_key(seed, "mutate")) {
    CAMBRIAN_EXPECT(!settings_.initial || settings_.initial->genome.blueprint == settings_.founder);
    for (const std::string& type : settings_.mutation.layer_types) {
        static_cast<void>(
            fitted_layer(type, {1}, {1}));  // an unknown type throws now, not in a birth
    }
}

Offspring Variation::materialise(const Birth& birth, std::span<const Genome* const> parents) const {
    std::vector<Individual> individuals;
    std::vector<const Individual*> pointers;
    individuals.reserve(parents.size());
    for (const Genome* parent : parents) {
        pointers.push_back(&individuals.emplace_back(*parent));
    }
    Individual child;
    const std::uint32_t retries = materialise(birth, pointers, child);
    return {genome_of(child), retries};
}

std::uint32_t Variation::materialise(const Birth& birth, std::span<const Individual* const> parents,
                                     Individual& child) const {
    CAMBRIAN_ASSERT(parents.size() == birth.parents.size());
    if (birth.recipe == Recipe::sample) {
        CAMBRIAN_ASSERT(parents.empty());
        found(birth, child);
        return 0;
    }
    if (birth.recipe == Recipe::carry) {
        CAMBRIAN_ASSERT(parents.size() == 1);
        child = *parents[0];
        return 0;
    }
    CAMBRIAN_ASSERT(birth.recipe == Recipe::vary && !parents.empty() && parents.size() <= 2);
    start(child, splice_key_, splice_of(birth), birth, parents);
    RandomStream rng(mutate_key_, birth.id);
    return mutate(rng, mutation_of(birth), settings_.limits, child, birth.id);
}

const MutationSettings& Variation::mutation_of(const Birth& birth) const {
    return settings_.islands.empty() ? settings_.mutation
                                     : settings_.islands.at(birth.island).mutation;
}

const SpliceSettings& Variation::splice_of(const Birth& birth) const {
    return settings_.islands.empty() ? settings_.splice : settings_.islands.at(birth.island).splice;
}

/// Of an initial network with its weights, birth 0 is that very network: no generation is worse.
void Variation::found(const Birth& birth, Individual& child) const {
    RandomStream rng(sample_key_, birth.id);
    if (!settings_.initial) {
        child = Individual(sample_genome(*founder_, rng, birth.id));
        return;
    }
    child.structure = initial_;
    if (!settings_.initial->keeps_weights) {
        child.weights = founder_->initial_weights(rng);
        return;
    }
    child.weights = settings_.initial->genome.weights;
    if (birth.id != 0) {
        mutate_weights(rng, founder_noise_, child);
    }
}

}  // namespace cambrian::evolve

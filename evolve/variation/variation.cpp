#include "cambrian/evolve/variation/variation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/genome/alignment.hpp"
#include "cambrian/evolve/variation/new_layer.hpp"
#include "cambrian/evolve/variation/weight_power.hpp"

namespace cambrian::evolve {

namespace {

/// Noise of mutation.weight_power on every weight.
MutationSettings noise_on_all(MutationSettings settings) {
    settings.weight_rate = 1.0F;
    settings.weight_replace_rate = 0.0F;
    settings.weight_power_change = 0.0F;
    settings.weight_power_schedule = WeightPowerSchedule::constant;
    return settings;
}

/// Throws ConfigError where settings have no meaning together.
void check_mutation(const MutationSettings& settings) {
    check_new_layers(settings);
    check_schedule(settings);
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
      founder_(Network(settings_.founder).blueprint()),
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
    check_mutation(settings_.mutation);
    for (const IslandVariation& island : settings_.islands) {
        check_mutation(island.mutation);
    }
}

Offspring Variation::materialise(const Birth& birth, std::span<const Genome* const> parents) const {
    ChildPlan plan;
    Individual child;
    materialise(birth, Individuals(parents).pointers, plan, child);
    return {genome_of(child), plan.retries};
}

void Variation::materialise(const Birth& birth, std::span<const Individual* const> parents,
                            ChildPlan& plan, Individual& child) const {
    std::array<const SharedStructure*, Parents::max_count> structures{};
    std::ranges::transform(parents, structures.begin(),
                           [](const Individual* parent) { return &parent->structure; });
    this->plan(birth, std::span(structures).first(parents.size()), plan);
    const auto weights = [&](std::size_t parent) {
        return parent < parents.size() ? std::span<const float>(parents[parent]->weights)
                                       : std::span<const float>();
    };
    std::vector<float> ordered;
    std::span<const float> second = weights(1);
    if (parents.size() == 2 && splice_of(birth).align == SpliceAlign::permutation) {
        ordered = aligned_weights({parents[0]->structure->genome(), weights(0)},
                                  {parents[1]->structure->genome(), second});
        second = ordered;
    }
    write_weights(plan, parents.empty() ? initial_weights() : weights(0), second, child.weights);
    child.structure = std::move(plan.structure);
    child.row.reset();
}

void Variation::plan(const Birth& birth, std::span<const SharedStructure* const> parents,
                     ChildPlan& child) const {
    CAMBRIAN_ASSERT(parents.size() == birth.parents.size());
    if (birth.recipe == Recipe::sample) {
        CAMBRIAN_ASSERT(parents.empty());
        found(birth, child);
        return;
    }
    CAMBRIAN_ASSERT(!parents.empty() && parents.size() <= 2);
    child.begin(*parents[0]);
    if (birth.recipe == Recipe::carry) {
        return;
    }
    if (parents.size() == 2) {
        RandomStream rng(splice_key_, birth.id);
        splice(rng, splice_of(birth), child, birth.parents[0].fitness, **parents[1],
               birth.parents[1].fitness);
    }
    RandomStream rng(mutate_key_, birth.id);
    const MutationSettings& settings = mutation_of(birth);
    mutate_structure(rng, settings, settings_.limits, child, birth.id);
    mutate_weights(rng, settings, child, birth.id);
}

bool Variation::reads_weights() const {
    const auto aligns = [](const SpliceSettings& splice) {
        return splice.align != SpliceAlign::none;
    };
    return aligns(settings_.splice) ||
           std::ranges::any_of(settings_.islands, aligns, &IslandVariation::splice);
}

std::span<const float> Variation::initial_weights() const {
    return settings_.initial ? std::span<const float>(settings_.initial->genome.weights)
                             : std::span<const float>();
}

const MutationSettings& Variation::mutation_of(const Birth& birth) const {
    return settings_.islands.empty() ? settings_.mutation
                                     : settings_.islands.at(birth.island).mutation;
}

const SpliceSettings& Variation::splice_of(const Birth& birth) const {
    return settings_.islands.empty() ? settings_.splice : settings_.islands.at(birth.island).splice;
}

SharedStructure Variation::founder_structure(BirthId birth) const {
    return initial_ ? initial_ : std::make_shared<const Structure>(founder_genome(founder_, birth));
}

/// Of an initial network with its weights, birth 0 is that very network: no generation is worse.
void Variation::found(const Birth& birth, ChildPlan& child) const {
    RandomStream rng(sample_key_, birth.id);
    SharedStructure structure = founder_structure(birth.id);
    if (!settings_.initial || !settings_.initial->keeps_weights) {
        child.begin_fresh(std::move(structure), rng.field());
        return;
    }
    child.begin(std::move(structure));
    if (birth.id != 0) {
        mutate_weights(rng, founder_noise_, child);
    }
}

}  // namespace cambrian::evolve

#include "cambrian/evolve/variation.hpp"

#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

namespace {

/// The structure of a vary birth before mutation: the parent's, or a splice of both.
Genome start_of(RandomKey key, const SpliceSettings& settings, const Birth& birth,
                std::span<const Genome* const> parents) {
    if (parents.size() == 1) {
        return *parents[0];
    }
    RandomStream rng(key, birth.id);
    return splice(rng, settings, *parents[0], birth.parents[0].fitness, *parents[1],
                  birth.parents[1].fitness);
}

}  // namespace

Variation::Variation(std::uint64_t seed, VariationSettings settings)
    : settings_(std::move(settings)),
      founder_(std::make_shared<const Network>(settings_.founder)),
      sample_key_(random_key(seed, "sample")),
      splice_key_(random_key(seed, "splice")),
      mutate_key_(random_key(seed, "mutate")) {
    for (const std::string& type : settings_.mutation.layer_types) {
        static_cast<void>(fitted_layer(type, 1, 1));  // an unknown type throws now, not in a birth
    }
}

Offspring Variation::materialise(const Birth& birth, std::span<const Genome* const> parents) const {
    CAMBRIAN_ASSERT(parents.size() == birth.parents.size());
    if (birth.recipe == Recipe::sample) {
        CAMBRIAN_ASSERT(parents.empty());
        RandomStream rng(sample_key_, birth.id);
        return {.genome = sample_genome(*founder_, rng, birth.id)};
    }
    if (birth.recipe == Recipe::carry) {
        CAMBRIAN_ASSERT(parents.size() == 1);
        return {.genome = *parents[0]};
    }
    CAMBRIAN_ASSERT(birth.recipe == Recipe::vary && !parents.empty() && parents.size() <= 2);
    RandomStream rng(mutate_key_, birth.id);
    MutationResult result =
        mutate(rng, settings_.mutation, settings_.limits,
               start_of(splice_key_, settings_.splice, birth, parents), birth.id);
    return {.genome = std::move(result.genome), .redrawn = result.redrawn};
}

}  // namespace cambrian::evolve

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"

namespace cambrian::evolve {

namespace {

bool ends_at(const Link& link, int slot) {
    return link.source == slot || link.target == slot;
}

/// Empties a slot and takes its links away, with their weights.
Mutant without(const Genome& genome, int slot) {
    Mutant child{genome};
    Blueprint& blueprint = child.genome.blueprint;
    std::int64_t at = 0;
    for (const GeneWeights& gene : gene_weights(genome.blueprint)) {
        const bool goes =
            gene.link < 0
                ? gene.slot == slot
                : ends_at(genome.blueprint.links[static_cast<std::size_t>(gene.link)], slot);
        if (goes) {
            child.edits.push_back({at, gene.count});
        } else {
            at += gene.count;
        }
    }
    blueprint.slots[static_cast<std::size_t>(slot)].reset();
    child.genome.slot_genes[static_cast<std::size_t>(slot)] = {};
    for (std::size_t i = blueprint.links.size(); i-- > 0;) {
        if (ends_at(blueprint.links[i], slot)) {
            blueprint.links.erase(blueprint.links.begin() + static_cast<std::ptrdiff_t>(i));
            child.genome.link_genes.erase(child.genome.link_genes.begin() +
                                          static_cast<std::ptrdiff_t>(i));
        }
    }
    return child;
}

}  // namespace

bool builds(const Blueprint& blueprint) {
    try {
        return Network(blueprint).blueprint() == blueprint;
    } catch (const ShapeError&) {
        return false;
    }
}

std::optional<Mutant> remove_layer(RandomStream& rng, const MutationSettings&, const GenomeLimits&,
                                   const Genome& genome, std::uint64_t) {
    // As for one that is disabled: what follows sees rows of as many elements.
    const std::vector<int> slots = togglable_slots(genome.blueprint);
    if (slots.empty()) {
        return std::nullopt;
    }
    const int slot = pick(rng, slots);
    const bool is_reader = slot == last_reader_of_ids(genome.blueprint);
    if (is_reader || is_last_enabled(genome.blueprint, slot)) {
        return std::nullopt;
    }
    Mutant child = without(genome, slot);
    if (!builds(child.genome.blueprint)) {
        return std::nullopt;
    }
    return child;
}

}  // namespace cambrian::evolve

#include "cambrian/engine/network/ties.hpp"
#include "cambrian/evolve/variation/layer_change.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"

// Wider and deeper networks of the same function.
namespace cambrian::evolve {

namespace {

/// The first filled slot after another, or the head.
int next_filled(const Blueprint& blueprint, int slot) {
    const int head = blueprint.grid.slots();
    for (++slot; slot < head; ++slot) {
        if (blueprint.slots[static_cast<std::size_t>(slot)]) {
            break;
        }
    }
    return slot;
}

}  // namespace

std::optional<Mutant> change_fields(RandomStream& rng, const GenomeLimits& limits,
                                    const Genome& genome, int slot, const AnyLayer& layer,
                                    NewWeights added) {
    if (!is_possible(layer, limits)) {
        return std::nullopt;
    }
    std::optional<Blueprint> changed = with_changed_layer(genome.blueprint, slot, layer, added);
    if (!changed) {
        return std::nullopt;
    }
    auto edits = resize_weights(rng, genome.blueprint, *changed, added);
    if (!edits || added_weights(*edits) > max_new_weights) {
        return std::nullopt;
    }
    Mutant child{genome, *std::move(edits)};
    child.genome.blueprint = *std::move(changed);
    return child;
}

std::optional<Mutant> widen_layer(RandomStream& rng, const MutationSettings& settings,
                                  const GenomeLimits& limits, const Genome& genome, std::uint64_t) {
    const std::vector<int> filled = filled_slots(genome.blueprint);
    if (filled.empty()) {
        return std::nullopt;
    }
    const int slot = pick(rng, filled);
    const auto most = static_cast<std::uint32_t>(settings.layer_widen_units);
    const std::int64_t units = 1 + std::int64_t{rng.index(most)};
    const Slot& before = *genome.blueprint.slots[static_cast<std::size_t>(slot)];
    const std::optional<AnyLayer> layer = widened(before.layer, units);
    // A slot that is disabled must keep its width, and what reads by a weight that is lent would
    // read new units by new weights, not by zeros.
    if (!layer || !before.enabled || slot < last_reader_of_ids(genome.blueprint) ||
        lends(genome.blueprint, slot)) {
        return std::nullopt;
    }
    return change_fields(rng, limits, genome, slot, *layer, NewWeights::keep_function);
}

std::optional<Mutant> deepen_layer(RandomStream& rng, const MutationSettings& settings,
                                   const GenomeLimits& limits, const Genome& genome,
                                   std::uint64_t birth) {
    const std::vector<int> filled = filled_slots(genome.blueprint);
    if (filled.empty()) {
        return std::nullopt;
    }
    const int slot = pick(rng, filled);
    const Slot& before = *genome.blueprint.slots[static_cast<std::size_t>(slot)];
    std::optional<DeeperLayer> added = deeper(before.layer);
    const bool fits = added && before.enabled && !parts_a_residual(genome.blueprint, slot) &&
                      slot >= last_reader_of_ids(genome.blueprint) &&
                      is_possible(added->layer, limits);
    if (!fits) {
        return std::nullopt;
    }
    const std::string type(added->layer.type());
    NewLayer layer{std::move(added->layer), std::move(added->weights), "deepen", type,
                   before.formats};
    if (slot + 1 < next_filled(genome.blueprint, slot)) {
        return with_layer(genome, slot + 1, std::move(layer), birth);
    }
    const std::optional<LargerGenome> larger =
        with_larger_grid(genome, slot + 1, settings.grid_limit);
    if (!larger) {
        return std::nullopt;
    }
    return with_layer(larger->genome, larger->empty, std::move(layer), birth);
}

}  // namespace cambrian::evolve

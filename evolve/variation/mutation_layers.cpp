#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/identity.hpp"
#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/evolve/variation/new_layer.hpp"

namespace cambrian::evolve {

namespace {

Slot& slot_of(Genome& genome, int slot) {
    return *genome.blueprint.slots[static_cast<std::size_t>(slot)];
}

/// Name of a place in the chain: hash of the genes before and after it.
Hash128 place_id(const Genome& genome, int slot) {
    Hash128 before;
    Hash128 after = genome.head_gene.id;
    const std::vector<int> filled = filled_slots(genome.blueprint);
    for (const int other : filled) {
        const Hash128 id = genome.slot_genes[static_cast<std::size_t>(other)].id;
        if (other > slot) {
            after = id;
            break;
        }
        before = id;
    }
    return Hasher().add(before).add(after).hash128();
}

/// In a mesh, lets values pass a new slot in no time: it sees what the one before it gives now. The
/// one that was the first saw the input now, and goes on doing so through the new first one.
void set_clocks(Blueprint& blueprint, int slot) {
    if (blueprint.mode == NetworkMode::chain) {
        return;
    }
    const std::vector<int> filled = filled_slots(blueprint);
    if (filled.front() != slot) {
        blueprint.slots[static_cast<std::size_t>(slot)]->clocked = false;
    } else if (filled.size() > 1) {
        blueprint.slots[static_cast<std::size_t>(filled[1])]->clocked = false;
    }
}

}  // namespace

GeneWeights slot_weights(const Blueprint& blueprint, int slot) {
    const std::vector<GeneWeights> genes = gene_weights(blueprint);
    const auto found = std::find_if(genes.begin(), genes.end(),
                                    [slot](const GeneWeights& gene) { return gene.slot == slot; });
    CAMBRIAN_ASSERT(found != genes.end());
    return *found;
}

std::vector<int> empty_slots(const Blueprint& blueprint) {
    std::vector<int> empty;
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot) {
        if (!blueprint.slots[slot]) {
            empty.push_back(static_cast<int>(slot));
        }
    }
    return empty;
}

bool is_possible(const AnyLayer& layer, const GenomeLimits& limits) {
    std::int64_t weights = 0;
    for (const ParameterSpec& parameter : layer.parameters()) {
        weights += parameter.shape.elements();
    }
    return weights <= max_new_weights && (limits.time || !layer.stateful());
}

Mutant with_layer(const Genome& genome, int slot, NewLayer added, std::uint64_t birth) {
    const auto index = static_cast<std::size_t>(slot);
    Mutant child{genome};
    child.genome.blueprint.slots[index] =
        Slot{.layer = std::move(added.layer), .formats = added.formats};
    set_clocks(child.genome.blueprint, slot);
    child.genome.slot_genes[index] =
        derive_gene(genome, place_id(genome, slot), added.operation, added.type, birth);
    const std::int64_t place = slot_weights(child.genome.blueprint, slot).offset;
    child.edits.push_back({place, 0, std::move(added.weights)});
    return child;
}

std::int64_t added_weights(const std::vector<WeightEdit>& edits) {
    std::int64_t added = 0;
    for (const WeightEdit& edit : edits) {
        added += std::ssize(edit.inserted);
    }
    return added;
}

std::vector<float> fresh_weights(RandomStream& rng, const AnyLayer& layer) {
    std::vector<float> weights;
    for (const ParameterSpec& parameter : layer.parameters()) {
        const std::size_t start = weights.size();
        weights.resize(start + static_cast<std::size_t>(parameter.shape.elements()));
        fill_initial(parameter, rng, std::span(weights).subspan(start));
    }
    return weights;
}

std::optional<Mutant> change_layer_type(RandomStream& rng, const MutationSettings& settings,
                                        const GenomeLimits& limits, const Genome& genome, int slot,
                                        std::uint64_t birth) {
    const AnyLayer& old = layer_at(genome.blueprint, slot);
    std::vector<std::string> types = settings.layer_types;
    std::erase(types, old.type());
    if (types.empty() || slot < last_reader_of_ids(genome.blueprint)) {
        return std::nullopt;
    }
    const std::string type = pick(rng, types);
    const std::vector<Shape> shapes = chain_shapes(genome.blueprint);
    const auto before = static_cast<std::size_t>(slot);
    const std::optional<AnyLayer> layer =
        new_layer(type, shapes[before], shapes[before + 1], settings);
    if (!layer || !is_possible(*layer, limits)) {
        return std::nullopt;
    }
    Mutant child{genome};
    const GeneWeights weights = slot_weights(genome.blueprint, slot);
    child.edits.push_back({weights.offset, weights.count, fresh_weights(rng, *layer)});
    slot_of(child.genome, slot).layer = *layer;
    Gene& gene = child.genome.slot_genes[static_cast<std::size_t>(slot)];
    gene = derive_gene(genome, gene.id, "layer_type", type, birth);
    return child;
}

std::optional<Mutant> mutate_layer_type(RandomStream& rng, const MutationSettings& settings,
                                        const GenomeLimits& limits, const Genome& genome,
                                        std::uint64_t birth) {
    const std::vector<int> filled = filled_slots(genome.blueprint);
    if (filled.empty()) {
        return std::nullopt;
    }
    return change_layer_type(rng, settings, limits, genome, pick(rng, filled), birth);
}

std::optional<Mutant> insert_layer(RandomStream& rng, const MutationSettings& settings,
                                   const GenomeLimits& limits, const Genome& parent,
                                   std::uint64_t birth) {
    std::vector<int> empty = empty_slots(parent.blueprint);
    std::optional<LargerGenome> larger;
    if (empty.empty() && settings.grid_limit > 0) {
        const auto places = static_cast<std::uint32_t>(parent.blueprint.grid.slots() + 1);
        const int place = static_cast<int>(rng.index(places));
        larger = with_larger_grid(parent, place, settings.grid_limit);
        if (larger) {
            empty = {larger->empty};
        }
    }
    if (empty.empty() || settings.layer_types.empty()) {
        return std::nullopt;
    }
    const Genome& genome = larger ? larger->genome : parent;
    const int slot = pick(rng, empty);
    const std::string& type = pick(rng, settings.layer_types);
    if (parts_a_residual(genome.blueprint, slot) || slot < last_reader_of_ids(genome.blueprint)) {
        return std::nullopt;
    }
    const auto index = static_cast<std::size_t>(slot);
    const std::optional<AnyLayer> layer =
        new_identity(type, chain_shapes(genome.blueprint)[index], settings);
    if (!layer || !is_possible(*layer, limits)) {
        return std::nullopt;
    }
    return with_layer(genome, slot,
                      {*layer, identity_parameters(*layer, rng), "insert", type, settings.formats},
                      birth);
}

bool is_last_enabled(const Blueprint& blueprint, int slot) {
    return blueprint.slots[static_cast<std::size_t>(slot)]->enabled &&
           std::count_if(
               blueprint.slots.begin(), blueprint.slots.end(),
               [](const std::optional<Slot>& other) { return other && other->enabled; }) == 1;
}

std::optional<Mutant> change_enabled(const Genome& genome, int slot) {
    if (is_last_enabled(genome.blueprint, slot)) {
        return std::nullopt;
    }
    Mutant child{genome};
    slot_of(child.genome, slot).enabled = !slot_of(child.genome, slot).enabled;
    return child;
}

std::optional<Mutant> toggle_layer(RandomStream& rng, const MutationSettings&, const GenomeLimits&,
                                   const Genome& genome, std::uint64_t) {
    const std::vector<int> slots = togglable_slots(genome.blueprint);
    if (slots.empty()) {
        return std::nullopt;
    }
    return change_enabled(genome, pick(rng, slots));
}

}  // namespace cambrian::evolve

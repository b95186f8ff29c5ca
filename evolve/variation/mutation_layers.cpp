#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/identity.hpp"
#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"

namespace cambrian::evolve {

namespace {

Slot& slot_of(Genome& genome, int slot) {
    return *genome.blueprint.slots[static_cast<std::size_t>(slot)];
}

GeneWeights slot_weights(const Blueprint& blueprint, int slot) {
    const std::vector<GeneWeights> genes = gene_weights(blueprint);
    const auto found = std::find_if(genes.begin(), genes.end(),
                                    [slot](const GeneWeights& gene) { return gene.slot == slot; });
    CAMBRIAN_ASSERT(found != genes.end());
    return *found;
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

std::vector<int> empty_slots(const Blueprint& blueprint) {
    std::vector<int> empty;
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot) {
        if (!blueprint.slots[slot]) {
            empty.push_back(static_cast<int>(slot));
        }
    }
    return empty;
}

/// Whether the task allows a new layer, and its size.
bool is_possible(const AnyLayer& layer, const GenomeLimits& limits) {
    std::int64_t weights = 0;
    for (const ParameterSpec& parameter : layer.parameters()) {
        weights += parameter.shape.elements();
    }
    return weights <= max_new_weights && (limits.time || !layer.stateful());
}

/// Whether a layer put there would come between an empty residual and the layer whose input it
/// adds, which changes the function whatever the layer computes.
bool parts_a_residual(const Blueprint& blueprint, int slot) {
    for (auto next = static_cast<std::size_t>(slot) + 1; next < blueprint.slots.size(); ++next) {
        if (blueprint.slots[next]) {
            return adds_preceding_input(blueprint.slots[next]->layer);
        }
    }
    return adds_preceding_input(blueprint.head);
}

}  // namespace

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
    const std::optional<AnyLayer> layer = fitted_layer(type, shapes[before], shapes[before + 1]);
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
                                   const GenomeLimits& limits, const Genome& genome,
                                   std::uint64_t birth) {
    // A slot of a mesh takes a step, whatever its layer computes.
    if (genome.blueprint.mode == NetworkMode::mesh) {
        return std::nullopt;
    }
    const std::vector<int> empty = empty_slots(genome.blueprint);
    if (empty.empty() || settings.layer_types.empty()) {
        return std::nullopt;
    }
    const int slot = pick(rng, empty);
    const std::string& type = pick(rng, settings.layer_types);
    if (parts_a_residual(genome.blueprint, slot) || slot < last_reader_of_ids(genome.blueprint)) {
        return std::nullopt;
    }
    const auto index = static_cast<std::size_t>(slot);
    const std::optional<AnyLayer> layer =
        identity_layer(type, chain_shapes(genome.blueprint)[index]);
    if (!layer || !is_possible(*layer, limits)) {
        return std::nullopt;
    }
    Mutant child{genome};
    child.genome.blueprint.slots[index] = Slot{.layer = *layer};
    child.genome.slot_genes[index] =
        derive_gene(genome, place_id(genome, slot), "insert", type, birth);
    const std::int64_t place = slot_weights(child.genome.blueprint, slot).offset;
    child.edits.push_back({place, 0, identity_parameters(*layer)});
    return child;
}

std::optional<Mutant> change_enabled(const Genome& genome, int slot) {
    const auto index = static_cast<std::size_t>(slot);
    if (genome.blueprint.slots[index]->enabled) {
        const auto enabled =
            std::count_if(genome.blueprint.slots.begin(), genome.blueprint.slots.end(),
                          [](const std::optional<Slot>& other) { return other && other->enabled; });
        if (enabled == 1) {
            return std::nullopt;
        }
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

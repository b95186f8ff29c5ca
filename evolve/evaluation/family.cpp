#include "cambrian/evolve/evaluation/family.hpp"

#include <algorithm>

namespace cambrian::evolve {
namespace {

/// Activations and toggles do not change the graph of a network.
bool makes_structures(const MutationSettings& mutation) {
    return mutation.layer_type_rate > 0.0F || mutation.layer_insert_rate > 0.0F ||
           mutation.link_add_rate > 0.0F || mutation.link_drop_rate > 0.0F ||
           mutation.layer_remove_rate > 0.0F || mutation.layer_widen_rate > 0.0F ||
           mutation.layer_deepen_rate > 0.0F || mutation.layer_field_rate > 0.0F;
}

}  // namespace

Family family_of(FamilyChoice choice, const MutationSettings& mutation) {
    const bool interpreted = choice == FamilyChoice::interpreted ||
                             (choice == FamilyChoice::automatic && makes_structures(mutation));
    return interpreted ? Family::interpreted : Family::graph;
}

Family family_of(FamilyChoice choice, const VariationSettings& variation) {
    const bool interpreted =
        family_of(choice, variation.mutation) == Family::interpreted ||
        std::ranges::any_of(variation.islands, [choice](const IslandVariation& island) {
            return family_of(choice, island.mutation) == Family::interpreted;
        });
    return interpreted ? Family::interpreted : Family::graph;
}

}  // namespace cambrian::evolve

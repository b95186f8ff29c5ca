#include "cambrian/evolve/evaluation/family.hpp"

namespace cambrian::evolve {
namespace {

/// Activations and toggles do not change the graph of a network.
bool makes_structures(const MutationSettings& mutation) {
    return mutation.layer_type_rate > 0.0F || mutation.layer_insert_rate > 0.0F ||
           mutation.link_add_rate > 0.0F || mutation.link_drop_rate > 0.0F;
}

}  // namespace

Family family_of(FamilyChoice choice, const MutationSettings& mutation) {
    const bool interpreted = choice == FamilyChoice::interpreted ||
                             (choice == FamilyChoice::automatic && makes_structures(mutation));
    return interpreted ? Family::interpreted : Family::graph;
}

}  // namespace cambrian::evolve

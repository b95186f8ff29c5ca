#include "cambrian/evolve/evaluation/family.hpp"

namespace cambrian::evolve {
Family family_of(FamilyChoice choice, const MutationSettings& mutation) {
    const bool interpreted = choice == FamilyChoice::interpreted ||
                             (choice == FamilyChoice::automatic && makes_structures(mutation));
    return interpreted ? Family::interpreted : Family::graph;
}

Family family_of(FamilyChoice choice, const VariationSettings& variation) {
    const bool interpreted = choice == FamilyChoice::interpreted ||
                             (choice == FamilyChoice::automatic && makes_structures(variation));
    return interpreted ? Family::interpreted : Family::graph;
}

}  // namespace cambrian::evolve

#pragma once

#include "cambrian/evolve/variation/child_plan.hpp"
#include "cambrian/evolve/variation/neat/neat_settings.hpp"

namespace cambrian::evolve {

/// The child of two parents as NEAT makes it (Stanley and Miikkulainen 2002), from a plan that has
/// begun with the first parent, the fitter one. Genes match by historical id: a matching one is
/// drawn from either parent as a whole (a connection with its weight, a neuron with bias, time
/// constant, activation and aggregation), or all are averaged. Genes that one parent alone has come
/// from the fitter parent; of equally fit ones from that with fewer genes, and of these from the
/// first. A matching connection that is disabled in a parent is so in the child at a rate, else
/// enabled. The structure is that parent's own where none of its connections or neurons changes.
void cross(RandomStream& rng, const NeatSettings& settings, ChildPlan& child, double first_fitness,
           const SharedStructure& second, double second_fitness);
/// The same of two genomes.
[[nodiscard]] Genome cross(RandomStream& rng, const NeatSettings& settings, const Genome& first,
                           double first_fitness, const Genome& second, double second_fitness);

}  // namespace cambrian::evolve

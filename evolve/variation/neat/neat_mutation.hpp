#pragma once

#include <cstdint>
#include <optional>

#include "cambrian/evolve/variation/child_plan.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/evolve/variation/neat/neat_settings.hpp"

// The operators of NEAT (Stanley and Miikkulainen 2002) on the structure of a genome, of whose
// layers of neurons each works on one that is drawn. They read no weights and return a valid
// structure, or nothing where the draw has no valid outcome.
namespace cambrian::evolve {

using NeatMutation = std::optional<Mutant> (*)(RandomStream& rng, const NeatSettings& settings,
                                               const Genome& genome, std::uint64_t birth);

/// Splits an enabled connection by a neuron with a bias of 0; the delay stays before the neuron.
/// The id comes from that of the connection and from how often a genome already holds it so.
[[nodiscard]] std::optional<Mutant> add_node(RandomStream&, const NeatSettings&, const Genome&,
                                             std::uint64_t birth);
/// Joins two ends that are not joined with the same delay.
[[nodiscard]] std::optional<Mutant> add_connection(RandomStream&, const NeatSettings&,
                                                   const Genome&, std::uint64_t birth);
/// Removes a neuron that is no output, and its connections.
[[nodiscard]] std::optional<Mutant> delete_node(RandomStream&, const NeatSettings&, const Genome&,
                                                std::uint64_t birth);
[[nodiscard]] std::optional<Mutant> delete_connection(RandomStream&, const NeatSettings&,
                                                      const Genome&, std::uint64_t birth);
[[nodiscard]] std::optional<Mutant> toggle_connection(RandomStream&, const NeatSettings&,
                                                      const Genome&, std::uint64_t birth);
/// Of a layer whose connections may be plastic.
[[nodiscard]] std::optional<Mutant> toggle_plastic(RandomStream&, const NeatSettings&,
                                                   const Genome&, std::uint64_t birth);
/// Other activations and aggregations at their rates; nothing where none changes.
[[nodiscard]] std::optional<Mutant> mutate_functions(RandomStream&, const NeatSettings&,
                                                     const Genome&, std::uint64_t birth);

/// Per layer with weights that formats hold: another of mutation.dtypes, at mutation.dtype_rate.
/// Draws nothing at a rate of 0.
void mutate_formats(RandomStream& rng, const MutationSettings& settings, ChildPlan& child);

/// All of them at their rates, to a plan.
void mutate_structure(RandomStream& rng, const NeatSettings& settings, ChildPlan& child,
                      std::uint64_t birth);

}  // namespace cambrian::evolve

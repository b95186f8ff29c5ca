#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cambrian/evolve/variation/child_plan.hpp"

namespace cambrian::evolve {

/// Rates are probabilities per gene (weights, activation, type, toggle) or per genome (insert,
/// links). `fields` are the keys of the section "mutation"; that of layer_insert_rate may say
/// "auto", which is the rate here but in a mesh.
struct MutationSettings {
    float weight_rate = 0.8F;          ///< Per layer and link: add Gaussian noise to its weights.
    float weight_power = 0.1F;         ///< Standard deviation of that noise.
    float weight_replace_rate = 0.0F;  ///< Per weight: draw a fresh initial value instead.
    float activation_rate = 0.02F;
    float layer_type_rate = 0.02F;
    float layer_insert_rate = 0.02F;
    float layer_toggle_rate = 0.01F;
    float link_add_rate = 0.05F;
    float link_drop_rate = 0.02F;
    std::vector<std::string> layer_types{"dense", "rms_norm", "residual"};
    std::vector<Activation> activations{Activation::relu,    Activation::silu,
                                        Activation::gelu,    Activation::tanh,
                                        Activation::sigmoid, Activation::identity};

    static constexpr auto fields = std::tuple{
        Field{"weight_rate", &MutationSettings::weight_rate},
        Field{"weight_power", &MutationSettings::weight_power},
        Field{"weight_replace_rate", &MutationSettings::weight_replace_rate},
        Field{"activation_rate", &MutationSettings::activation_rate},
        Field{"activations", &MutationSettings::activations},
        Field{"layer_type_rate", &MutationSettings::layer_type_rate},
        Field{"layer_toggle_rate", &MutationSettings::layer_toggle_rate},
        Field{"link_add_rate", &MutationSettings::link_add_rate},
        Field{"link_drop_rate", &MutationSettings::link_drop_rate},
        Field{"layer_types", &MutationSettings::layer_types},
    };
};

/// Whether children have graphs that no parent has: activations and toggles do not change these.
[[nodiscard]] bool makes_structures(const MutationSettings& settings);

/// What the task allows a network to be.
struct GenomeLimits {
    bool time = false;  ///< Whether state (rnn, backward links) makes sense.
};

/// One operator: const, stream first; reads no weights. Returns a valid structure, or nothing when
/// the draw has no valid outcome (no empty slot, no legal link, ...); the caller draws again and
/// counts.
using Mutation = std::optional<Mutant> (*)(RandomStream& rng, const MutationSettings& settings,
                                           const GenomeLimits& limits, const Genome& genome,
                                           std::uint64_t birth);

[[nodiscard]] std::optional<Mutant> mutate_activation(RandomStream&, const MutationSettings&,
                                                      const GenomeLimits&, const Genome&,
                                                      std::uint64_t birth);
/// Another type between the same shapes, with fresh weights.
[[nodiscard]] std::optional<Mutant> mutate_layer_type(RandomStream&, const MutationSettings&,
                                                      const GenomeLimits&, const Genome&,
                                                      std::uint64_t birth);
/// Fills an empty slot with a layer that starts as the identity: the function is unchanged. Never
/// in a mesh, where every slot delays what passes it by a step.
[[nodiscard]] std::optional<Mutant> insert_layer(RandomStream&, const MutationSettings&,
                                                 const GenomeLimits&, const Genome&,
                                                 std::uint64_t birth);
/// Enables or disables a slot whose widths agree; never the last enabled layer of the genome.
[[nodiscard]] std::optional<Mutant> toggle_layer(RandomStream&, const MutationSettings&,
                                                 const GenomeLimits&, const Genome&,
                                                 std::uint64_t birth);
/// A link between two ends not yet joined, starting at zero: the function is unchanged.
[[nodiscard]] std::optional<Mutant> add_link(RandomStream&, const MutationSettings&,
                                             const GenomeLimits&, const Genome&,
                                             std::uint64_t birth);
[[nodiscard]] std::optional<Mutant> drop_link(RandomStream&, const MutationSettings&,
                                              const GenomeLimits&, const Genome&,
                                              std::uint64_t birth);
/// Structural operators at their rates, to the structure of a plan and to its pieces.
void mutate_structure(RandomStream& rng, const MutationSettings& settings,
                      const GenomeLimits& limits, ChildPlan& child, std::uint64_t birth);
/// Noise and replacement for the pieces of a plan whose structure is final.
void mutate_weights(RandomStream& rng, const MutationSettings& settings, ChildPlan& child);

/// Noise and replacement alone, for a genome by itself.
void mutate_weights(RandomStream& rng, const MutationSettings& settings, Genome& genome);
struct MutationResult {
    Genome genome;
    std::uint32_t retries = 0;  ///< Structural draws that had no valid outcome.
};
/// All operators at their rates, structure first, then weights, for a genome by itself.
[[nodiscard]] MutationResult mutate(RandomStream& rng, const MutationSettings& settings,
                                    const GenomeLimits& limits, Genome genome, std::uint64_t birth);

}  // namespace cambrian::evolve

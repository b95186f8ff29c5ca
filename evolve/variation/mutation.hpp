#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/variation/child_plan.hpp"

namespace cambrian::evolve {

/// What the noise on weights becomes as a run goes on.
enum class WeightPowerSchedule : std::uint8_t { constant, linear, exponential };
inline constexpr std::array<std::string_view, 3> weight_power_schedule_names{"constant", "linear",
                                                                             "exponential"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(WeightPowerSchedule) {
    return weight_power_schedule_names;
}

/// The longest schedule.
inline constexpr double largest_births = 1e15;

struct MutationSettings;
struct GenomeLimits;

/// An operator from elsewhere, see Mutation.
using MutationOperator = std::function<std::optional<Mutant>(
    RandomStream& rng, const MutationSettings& settings, const GenomeLimits& limits,
    const Genome& genome, std::uint64_t birth)>;

/// A mutation that a program or a plug-in adds to those of volumetric genomes: per genome, after
/// all others, in the order in which they were added. At a rate of 0 it draws nothing.
struct CustomMutation {
    std::string key;      ///< Of its rate in the section "mutation": "flip_rate".
    std::string meaning;  ///< A line for those who choose the rate.
    MutationOperator apply;
    float rate = 0.0F;
};

/// Rates are probabilities per gene (weights, activation, type, toggle) or per genome (insert,
/// links). `fields` are the keys of the section "mutation"; that of layer_insert_rate may say
/// "auto", which is the rate here but in a mesh. `layers` is a key of its own.
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
    float layer_remove_rate = 0.0F;
    float layer_widen_rate = 0.0F;
    float layer_deepen_rate = 0.0F;
    float layer_field_rate = 0.0F;
    std::int64_t layer_widen_units = 4;  ///< Most units that a layer gains at once.
    std::int64_t grid_limit = 0;         ///< Slots that a full grid may grow to; 0: it does not.
    WeightPowerSchedule weight_power_schedule = WeightPowerSchedule::constant;
    float weight_power_end = 0.01F;
    std::int64_t weight_power_births = 100000;
    float weight_power_change = 0.0F;  ///< Above 0: each genome has a power of its own.
    /// Fields of new layers, by their types: those that differ from the type's defaults.
    std::vector<AnyLayer> layers{};
    float dtype_rate = 0.0F;
    std::vector<Dtype> dtypes{Dtype::float32, Dtype::bfloat16, Dtype::float8_e4m3fn, Dtype::int8,
                              Dtype::int4,    Dtype::ternary,  Dtype::binary};
    /// Of new layers that say nothing themselves: what the network section says.
    ParameterRules rules{};
    LayerFormats formats{};  ///< Of inserted layers: what the network section says.
    std::vector<CustomMutation> custom{};
    std::vector<std::string> layer_types{"dense", "rms_norm", "residual"};
    std::vector<Activation> activations{Activation::relu,    Activation::silu,
                                        Activation::gelu,    Activation::tanh,
                                        Activation::sigmoid, Activation::identity};

    static constexpr auto fields = FieldTable{
        Field{"weight_rate", &MutationSettings::weight_rate},
        Field{"weight_power", &MutationSettings::weight_power},
        Field{"weight_replace_rate", &MutationSettings::weight_replace_rate},
        Field{"activation_rate", &MutationSettings::activation_rate},
        Field{"activations", &MutationSettings::activations},
        Field{"layer_type_rate", &MutationSettings::layer_type_rate},
        Field{"layer_toggle_rate", &MutationSettings::layer_toggle_rate},
        Field{"link_add_rate", &MutationSettings::link_add_rate},
        Field{"link_drop_rate", &MutationSettings::link_drop_rate},
        Field{"layer_remove_rate", &MutationSettings::layer_remove_rate},
        Field{"layer_widen_rate", &MutationSettings::layer_widen_rate},
        Field{"layer_deepen_rate", &MutationSettings::layer_deepen_rate},
        Field{"layer_field_rate", &MutationSettings::layer_field_rate},
        Field{"layer_widen_units", &MutationSettings::layer_widen_units,
              FieldRange{1.0, static_cast<double>(largest_count)}},
        Field{"grid_limit", &MutationSettings::grid_limit, FieldRange{0.0, largest_grid}},
        Field{"weight_power_schedule", &MutationSettings::weight_power_schedule},
        Field{"weight_power_end", &MutationSettings::weight_power_end},
        Field{"weight_power_births", &MutationSettings::weight_power_births,
              FieldRange{1.0, largest_births}},
        Field{"weight_power_change", &MutationSettings::weight_power_change},
        Field{"dtype_rate", &MutationSettings::dtype_rate},
        Field{"dtypes", &MutationSettings::dtypes},
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
/// Fills an empty slot with a layer that starts as the identity: the function is unchanged. A full
/// grid grows up to its limit. In a mesh the slot is one without a clock.
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
/// Empties a slot whose widths agree, with its links; never the last enabled layer.
[[nodiscard]] std::optional<Mutant> remove_layer(RandomStream&, const MutationSettings&,
                                                 const GenomeLimits&, const Genome&,
                                                 std::uint64_t birth);
/// More units of a layer, which nothing reads yet: the function is unchanged. Those that cannot
/// are told by widening_fault; what follows must read them by weights, with at most pooling,
/// dropout and batch_norm between: a norm over features would see them.
[[nodiscard]] std::optional<Mutant> widen_layer(RandomStream&, const MutationSettings&,
                                                const GenomeLimits&, const Genome&,
                                                std::uint64_t birth);
/// A layer of the same kind and activation after another, which passes on what it is given: the
/// function is unchanged. Those that cannot are told by deepening_fault.
[[nodiscard]] std::optional<Mutant> deepen_layer(RandomStream&, const MutationSettings&,
                                                 const GenomeLimits&, const Genome&,
                                                 std::uint64_t birth);
/// Another value of one field of a layer, from what it is (a step or a factor of two). Weights that
/// both have stay, others start afresh, and layers after it take the rows that it gives.
[[nodiscard]] std::optional<Mutant> mutate_field(RandomStream&, const MutationSettings&,
                                                 const GenomeLimits&, const Genome&,
                                                 std::uint64_t birth);
/// Another of the settings' formats for the weights of a layer that has any, the head's too.
[[nodiscard]] std::optional<Mutant> mutate_dtype(RandomStream&, const MutationSettings&,
                                                 const GenomeLimits&, const Genome&,
                                                 std::uint64_t birth);
/// Structural operators at their rates, to the structure of a plan and to its pieces.
void mutate_structure(RandomStream& rng, const MutationSettings& settings,
                      const GenomeLimits& limits, ChildPlan& child, std::uint64_t birth);
/// Noise and replacement for the pieces of a plan whose structure is final.
/// @param birth by which the power of the noise is scheduled.
void mutate_weights(RandomStream& rng, const MutationSettings& settings, ChildPlan& child,
                    std::uint64_t birth);

/// Noise and replacement alone, for a genome by itself, as in birth 0.
void mutate_weights(RandomStream& rng, const MutationSettings& settings, Genome& genome);
struct MutationResult {
    Genome genome;
    std::uint32_t retries = 0;  ///< Structural draws that had no valid outcome.
};
/// All operators at their rates, structure first, then weights, for a genome by itself.
[[nodiscard]] MutationResult mutate(RandomStream& rng, const MutationSettings& settings,
                                    const GenomeLimits& limits, Genome genome, std::uint64_t birth);

}  // namespace cambrian::evolve

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/evolve/variation/weight_resize.hpp"

// The operators with their gene already chosen, for mutate(), which draws per gene.
namespace cambrian::evolve {

/// New layers and links with more weights are no valid outcome: between images a dense layer or a
/// projection would outgrow the rest of a network by far.
inline constexpr std::int64_t max_new_weights = std::int64_t{1} << 20U;

[[nodiscard]] std::optional<Mutant> change_activation(RandomStream& rng,
                                                      const MutationSettings& settings,
                                                      const Genome& genome, ActivationGene gene);
/// @param slot a filled one, or slots() for the head.
[[nodiscard]] std::optional<Mutant> change_dtype(RandomStream& rng,
                                                 const MutationSettings& settings,
                                                 const Genome& genome, int slot);
/// Slots whose layers have matrices or connections that a format may hold, and the head if it has.
[[nodiscard]] std::vector<int> encoded_slots(const Blueprint& blueprint);
/// Of a filled slot, or of the head for slots().
[[nodiscard]] LayerFormats& formats_of(Blueprint& blueprint, int slot);
[[nodiscard]] std::optional<Mutant> change_layer_type(RandomStream& rng,
                                                      const MutationSettings& settings,
                                                      const GenomeLimits& limits,
                                                      const Genome& genome, int slot,
                                                      std::uint64_t birth);
[[nodiscard]] std::optional<Mutant> change_enabled(const Genome& genome, int slot);

/// The weights of a filled slot, or of the head.
[[nodiscard]] GeneWeights slot_weights(const Blueprint& blueprint, int slot);

/// Whether the task allows a new layer, and its size.
[[nodiscard]] bool is_possible(const AnyLayer& layer, const GenomeLimits& limits);

/// Whether no other slot is enabled.
[[nodiscard]] bool is_last_enabled(const Blueprint& blueprint, int slot);

/// Whether it is the blueprint of a network.
[[nodiscard]] bool builds(const Blueprint& blueprint);

/// The layers that differ from one in a number of their fields, by a step or a factor of two, and
/// build on rows of a shape.
[[nodiscard]] std::vector<AnyLayer> field_changes(const AnyLayer& layer, const Shape& row);

/// The genome with another layer of the same type in a slot.
[[nodiscard]] std::optional<Mutant> change_fields(RandomStream& rng, const GenomeLimits& limits,
                                                  const Genome& genome, int slot,
                                                  const AnyLayer& layer, NewWeights added);

/// Slots without a layer.
[[nodiscard]] std::vector<int> empty_slots(const Blueprint& blueprint);

struct LargerGenome {
    Genome genome;
    int empty = 0;  ///< The slot that was asked for.
};
/// The genome in a grid with a layer more in each cell, all in their order, with an empty slot
/// before a slot (slots(): after the last). Nothing beyond a limit of slots.
[[nodiscard]] std::optional<LargerGenome> with_larger_grid(const Genome& genome, int slot,
                                                           std::int64_t limit);

/// A layer that keeps the function where it stands, and what its gene is named after.
struct NewLayer {
    AnyLayer layer;
    std::vector<float> weights;
    std::string_view operation;
    std::string_view type;
    LayerFormats formats{};
};
/// Puts a layer that keeps the function into an empty slot: genes, weights, and the clock that a
/// mesh needs for it.
[[nodiscard]] Mutant with_layer(const Genome& genome, int slot, NewLayer added,
                                std::uint64_t birth);

/// The sum of the elements that edits bring.
[[nodiscard]] std::int64_t added_weights(const std::vector<WeightEdit>& edits);

/// Fresh initial values for a layer, parameter by parameter.
[[nodiscard]] std::vector<float> fresh_weights(RandomStream& rng, const AnyLayer& layer);

/// A uniform element. The list is not empty.
template <class Value>
[[nodiscard]] const Value& pick(RandomStream& rng, const std::vector<Value>& values) {
    return values[rng.index(static_cast<std::uint32_t>(values.size()))];
}

// The deviation of the noise on the weights of a child (weight_power.cpp).

/// What the settings say for a birth: weight_power at birth 0, weight_power_end from birth
/// weight_power_births on, between them on a straight line or by equal factors. Of the birth alone,
/// so every rank knows it; made of our own functions, so it has the same bits everywhere.
[[nodiscard]] float scheduled_power(const MutationSettings& settings, std::uint64_t birth);

/// Throws ConfigError where powers go by equal factors from or to 0.
void check_schedule(const MutationSettings& settings);

/// A genome's own power as its child has it: times e^(change · n) with a normal n, as evolution
/// strategies do (Schwefel, "Numerical Optimization of Computer Models", 1981), within
/// [1e-6, 1e3].
[[nodiscard]] float inherited_power(RandomStream& rng, float power, float change);

/// The power of a child's noise. Where powers evolve the child gets its own into its structure,
/// which it shares with nobody then; else no draw is made.
[[nodiscard]] float child_power(RandomStream& rng, const MutationSettings& settings,
                                ChildPlan& child, std::uint64_t birth);

}  // namespace cambrian::evolve

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/variation/mutation.hpp"

// The operators with their gene already chosen, for mutate(), which draws per gene.
namespace cambrian::evolve {

/// New layers and links with more weights are no valid outcome: between images a dense layer or a
/// projection would outgrow the rest of a network by far.
inline constexpr std::int64_t max_new_weights = std::int64_t{1} << 20U;

[[nodiscard]] std::optional<Mutant> change_activation(RandomStream& rng,
                                                      const MutationSettings& settings,
                                                      const Genome& genome, ActivationGene gene);
[[nodiscard]] std::optional<Mutant> change_layer_type(RandomStream& rng,
                                                      const MutationSettings& settings,
                                                      const GenomeLimits& limits,
                                                      const Genome& genome, int slot,
                                                      std::uint64_t birth);
[[nodiscard]] std::optional<Mutant> change_enabled(const Genome& genome, int slot);

/// Fresh initial values for a layer, parameter by parameter.
[[nodiscard]] std::vector<float> fresh_weights(RandomStream& rng, const AnyLayer& layer);

/// A uniform element. The list is not empty.
template <class Value>
[[nodiscard]] const Value& pick(RandomStream& rng, const std::vector<Value>& values) {
    return values[rng.index(static_cast<std::uint32_t>(values.size()))];
}

}  // namespace cambrian::evolve

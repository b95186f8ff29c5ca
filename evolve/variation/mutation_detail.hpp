#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/variation/mutation.hpp"

// The operators with their gene already chosen, for mutate(), which draws per gene.
namespace cambrian::evolve {

/// New layers and links with more weights are no valid outcome: between images a dense layer or a
/// projection would outgrow the rest of a network by far.
inline constexpr std::int64_t max_new_weights = std::int64_t{1} << 20U;

/// One activation gene: the `index`-th of a slot's layer, depth first.
struct ActivationGene {
    int slot = 0;
    std::size_t index = 0;
};

/// Activation genes of the filled slots. The head's are not listed: they belong to the task.
[[nodiscard]] std::vector<ActivationGene> activation_genes(const Blueprint& blueprint);
[[nodiscard]] std::vector<int> filled_slots(const Blueprint& blueprint);
/// The last filled slot whose layer reads ids (slots(): the head), or -1. What comes before it must
/// go on giving ids, and nothing can be added to them.
[[nodiscard]] int last_reader_of_ids(const Blueprint& blueprint);
[[nodiscard]] std::vector<int> togglable_slots(const Blueprint& blueprint);

[[nodiscard]] std::optional<Genome> change_activation(RandomStream& rng,
                                                      const MutationSettings& settings,
                                                      const Genome& genome, ActivationGene gene);
[[nodiscard]] std::optional<Genome> change_layer_type(RandomStream& rng,
                                                      const MutationSettings& settings,
                                                      const GenomeLimits& limits,
                                                      const Genome& genome, int slot,
                                                      std::uint64_t birth);
[[nodiscard]] std::optional<Genome> change_enabled(const Genome& genome, int slot);

/// Fresh initial values for a layer, parameter by parameter.
[[nodiscard]] std::vector<float> fresh_weights(RandomStream& rng, const AnyLayer& layer);

/// A uniform element. The list is not empty.
template <class Value>
[[nodiscard]] const Value& pick(RandomStream& rng, const std::vector<Value>& values) {
    return values[rng.index(static_cast<std::uint32_t>(values.size()))];
}

}  // namespace cambrian::evolve

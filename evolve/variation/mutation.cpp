#include "cambrian/evolve/variation/mutation.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"

namespace cambrian::evolve {

namespace {

constexpr int draws_per_hit = 8;
constexpr std::size_t chunk_size = 1024;  // a multiple of four: chunks join to one run of draws
using Chunk = std::array<float, chunk_size>;

/// Applies hits to a child; a draw without a valid outcome is counted and drawn again.
class Variator {
  public:
    Variator(RandomStream& rng, const MutationSettings& settings, const GenomeLimits& limits,
             Individual& child, std::uint64_t birth)
        : rng_(rng), settings_(settings), limits_(limits), child_(child), birth_(birth) {}

    /// One draw for the genome.
    void per_genome(float rate, Mutation mutation) {
        if (rng_.chance(rate)) {
            apply([&](const Genome& genome) { return draw(mutation, genome); }, mutation);
        }
    }

    /// One draw for each gene; the first attempt of a hit is on that gene, later ones on any.
    template <class Gene, class Change>
    void per_gene(float rate, const std::vector<Gene>& genes, Mutation mutation,
                  const Change& change) {
        const SharedStructure owner = child_.structure;  // of the genes
        for (const Gene& gene : genes) {
            if (rng_.chance(rate)) {
                apply([&](const Genome& genome) { return change(genome, gene); }, mutation);
            }
        }
    }

    [[nodiscard]] std::uint32_t retries() const { return retries_; }

  private:
    [[nodiscard]] std::optional<Genome> draw(Mutation mutation, const Genome& genome) {
        return mutation(rng_, settings_, limits_, genome, birth_);
    }

    template <class First>
    void apply(const First& first, Mutation again) {
        const Genome before = genome_of(child_);
        std::optional<Genome> after = first(before);
        for (int drawn = 1; !after; ++drawn) {
            ++retries_;
            if (drawn == draws_per_hit) {
                return;
            }
            after = draw(again, before);
        }
        child_ = Individual(*std::move(after));
    }

    RandomStream& rng_;
    const MutationSettings& settings_;
    const GenomeLimits& limits_;
    Individual& child_;
    std::uint64_t birth_;
    std::uint32_t retries_ = 0;
};

void add_noise(RandomStream& rng, float power, std::span<float> weights) {
    constexpr float largest = std::numeric_limits<float>::max();
    Chunk noise;
    while (!weights.empty()) {
        const std::size_t count = std::min(weights.size(), chunk_size);
        rng.fill_normal(std::span(noise).first(count));
        for (std::size_t i = 0; i < count; ++i) {
            const float moved = weights[i] + power * noise[i];
            weights[i] = std::min(std::max(moved, -largest), largest);  // stays finite
        }
        weights = weights.subspan(count);
    }
}

void replace_some(RandomStream& rng, float rate, const ParameterSpec& parameter,
                  std::span<float> weights) {
    Chunk choice;
    Chunk fresh;
    for (std::size_t start = 0; start < weights.size(); start += chunk_size) {
        const std::size_t count = std::min(weights.size() - start, chunk_size);
        rng.fill_uniform(std::span(choice).first(count));
        rng.fill_uniform(std::span(fresh).first(count));
        for (std::size_t i = 0; i < count; ++i) {
            if (choice[i] < rate) {
                weights[start + i] =
                    initial_value(parameter, static_cast<std::int64_t>(start + i), fresh[i]);
            }
        }
    }
}

std::span<float> range(std::vector<float>& weights, std::int64_t offset, std::int64_t count) {
    return std::span(weights).subspan(static_cast<std::size_t>(offset),
                                      static_cast<std::size_t>(count));
}

void replace_weights(RandomStream& rng, float rate, Individual& individual) {
    const Structure& structure = *individual.structure;
    for (const GeneWeights& gene : structure.genes()) {
        std::int64_t offset = gene.offset;
        for (const ParameterSpec& parameter : gene_parameters(structure.blueprint(), gene)) {
            const std::int64_t count = parameter.shape.elements();
            if (!parameter.buffer) {
                replace_some(rng, rate, parameter, range(individual.weights, offset, count));
            }
            offset += count;
        }
    }
}

}  // namespace

std::optional<Genome> change_activation(RandomStream& rng, const MutationSettings& settings,
                                        const Genome& genome, ActivationGene gene) {
    const Activation old = layer_at(genome.blueprint, gene.slot).activations()[gene.index];
    std::vector<Activation> others = settings.activations;
    std::erase(others, old);
    if (others.empty()) {
        return std::nullopt;
    }
    Genome child = genome;
    AnyLayer& layer = child.blueprint.slots[static_cast<std::size_t>(gene.slot)]->layer;
    *layer.activations()[gene.index] = pick(rng, others);
    return child;
}

std::optional<Genome> mutate_activation(RandomStream& rng, const MutationSettings& settings,
                                        const GenomeLimits&, const Genome& genome, std::uint64_t) {
    const std::vector<ActivationGene> genes = activation_genes(genome.blueprint);
    if (genes.empty()) {
        return std::nullopt;
    }
    return change_activation(rng, settings, genome, pick(rng, genes));
}

void mutate_weights(RandomStream& rng, const MutationSettings& settings, Individual& individual) {
    const Structure& structure = *individual.structure;
    std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // neighbours share one run of noise
    runs.reserve(structure.genes().size());
    const auto add = [&runs](std::int64_t offset, std::int64_t count) {
        if (!runs.empty() && runs.back().first + runs.back().second == offset) {
            runs.back().second += count;
        } else {
            runs.emplace_back(offset, count);
        }
    };
    for (const GeneWeights& gene : structure.genes()) {
        if (!rng.chance(settings.weight_rate)) {
            continue;
        }
        if (gene.link >= 0 || !layer_at(structure.blueprint(), gene.slot).has_buffers()) {
            add(gene.offset, gene.count);
            continue;
        }
        std::int64_t offset = gene.offset;
        for (const ParameterSpec& parameter : gene_parameters(structure.blueprint(), gene)) {
            const std::int64_t count = parameter.shape.elements();
            if (!parameter.buffer) {
                add(offset, count);
            }
            offset += count;
        }
    }
    for (const auto& [offset, count] : runs) {
        add_noise(rng, settings.weight_power, range(individual.weights, offset, count));
    }
    if (settings.weight_replace_rate > 0.0F) {
        replace_weights(rng, settings.weight_replace_rate, individual);
    }
}

void mutate_weights(RandomStream& rng, const MutationSettings& settings, Genome& genome) {
    Individual individual(std::move(genome));
    mutate_weights(rng, settings, individual);
    genome = genome_of(individual);
}

std::uint32_t mutate(RandomStream& rng, const MutationSettings& settings,
                     const GenomeLimits& limits, Individual& child, std::uint64_t birth) {
    Variator variator(rng, settings, limits, child, birth);
    variator.per_gene(settings.activation_rate, child.structure->activation_genes(),
                      mutate_activation, [&](const Genome& parent, ActivationGene gene) {
                          return change_activation(rng, settings, parent, gene);
                      });
    variator.per_gene(settings.layer_type_rate, child.structure->filled_slots(), mutate_layer_type,
                      [&](const Genome& parent, int slot) {
                          return change_layer_type(rng, settings, limits, parent, slot, birth);
                      });
    variator.per_genome(settings.layer_insert_rate, insert_layer);
    variator.per_gene(settings.layer_toggle_rate, child.structure->togglable_slots(), toggle_layer,
                      [](const Genome& parent, int slot) { return change_enabled(parent, slot); });
    variator.per_genome(settings.link_add_rate, add_link);
    variator.per_genome(settings.link_drop_rate, drop_link);
    mutate_weights(rng, settings, child);
    return variator.retries();
}

MutationResult mutate(RandomStream& rng, const MutationSettings& settings,
                      const GenomeLimits& limits, Genome genome, std::uint64_t birth) {
    Individual child(std::move(genome));
    const std::uint32_t retries = mutate(rng, settings, limits, child, birth);
    return {genome_of(child), retries};
}

}  // namespace cambrian::evolve

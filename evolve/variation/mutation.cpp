#include "cambrian/evolve/variation/mutation.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"

namespace cambrian::evolve {

namespace {

constexpr int draws_per_hit = 8;

/// Applies hits to a child; a draw without a valid outcome is counted and drawn again.
class Variator {
  public:
    Variator(RandomStream& rng, const MutationSettings& settings, const GenomeLimits& limits,
             ChildPlan& child, std::uint64_t birth)
        : rng_(rng), settings_(settings), limits_(limits), child_(child), birth_(birth) {}

    /// One draw for the genome.
    void per_genome(float rate, const MutationOperator& mutation) {
        if (rng_.chance(rate)) {
            apply([&](const Genome& genome) { return draw(mutation, genome); }, mutation);
        }
    }

    /// The same for operators that came later: none where the rate is 0, so that the draws after
    /// them stay what they were.
    void per_genome_if(float rate, const MutationOperator& mutation) {
        if (rate > 0.0F) {
            per_genome(rate, mutation);
        }
    }

    /// One draw for each gene; the first attempt of a hit is on that gene, later ones on any.
    template <class Gene, class Change>
    void per_gene(float rate, const std::vector<Gene>& genes, const MutationOperator& mutation,
                  const Change& change) {
        for (const Gene& gene : genes) {
            if (rng_.chance(rate)) {
                apply([&](const Genome& genome) { return change(genome, gene); }, mutation);
            }
        }
    }

  private:
    [[nodiscard]] std::optional<Mutant> draw(const MutationOperator& mutation,
                                             const Genome& genome) {
        return mutation(rng_, settings_, limits_, genome, birth_);
    }

    /// Nothing for a child in which a shared weight would be none any more.
    static std::optional<Mutant> tied(std::optional<Mutant> child) {
        if (child && !tie_fault(child->genome.blueprint).empty()) {
            return std::nullopt;
        }
        return child;
    }

    template <class First>
    void apply(const First& first, const MutationOperator& again) {
        const Genome& before = child_.structure->genome();
        std::optional<Mutant> after = tied(first(before));
        for (int drawn = 1; !after; ++drawn) {
            ++child_.retries;
            if (drawn == draws_per_hit) {
                return;
            }
            after = tied(draw(again, before));
        }
        // Whoever goes through the genes of the former structure is not done with it.
        former_.push_back(child_.become(*std::move(after)));
    }

    RandomStream& rng_;
    const MutationSettings& settings_;
    const GenomeLimits& limits_;
    ChildPlan& child_;
    std::uint64_t birth_;
    std::vector<SharedStructure> former_;
};

/// Whether all weights of a gene vary alike, by noise and fresh values on pieces.
bool is_plain(const ChildPlan& child, const GeneWeights& gene) {
    if (gene.link >= 0) {
        return true;
    }
    const AnyLayer& layer = layer_at(child.structure->blueprint(), gene.slot);
    return !layer.has_buffers() && !layer.has_positive();
}

/// Places of the rules of parameters that stay above 0.
enum : std::size_t { fresh_rule, noise_rule };

/// The same draws as all others have, with limits.
void set_positive_rules(ChildPlan& child) {
    if (child.rules.ranges.empty()) {
        return;
    }
    ValueRule rule{.replace_rate = child.draws.replace_rate,
                   .power = child.draws.noise_power,
                   .least = smallest_positive,
                   .largest = largest_positive};
    child.rules.rules[fresh_rule] = rule;
    rule.noise_rate = 1.0F;
    child.rules.rules[noise_rule] = rule;
    child.rules.choice = child.draws.replace;
    child.rules.noise = child.draws.noise;
    child.rules.uniform_noise = child.draws.fresh;
}

/// Noise on a gene, if any, and the rules of what stays above 0 in it.
void vary(ChildPlan& child, const GeneWeights& gene, bool noise) {
    if (is_plain(child, gene)) {
        for (WeightPiece& piece : child.range(gene.offset, gene.count)) {
            piece.noise = noise;
        }
        return;
    }
    child.for_each_parameter(
        gene, [&](const ParameterSpec& parameter, std::span<WeightPiece> pieces) {
            for (WeightPiece& piece : pieces) {
                piece.noise = noise && varies_by_pieces(parameter);
            }
            if (parameter.positive && !pieces.empty()) {
                child.rules.ranges.push_back({pieces.front().to, parameter.shape.elements(),
                                              noise ? noise_rule : fresh_rule,
                                              initial_rule(parameter)});
            }
        });
}

void replace_some(ChildPlan& child, const GeneWeights& gene) {
    child.for_each_parameter(gene,
                             [](const ParameterSpec& parameter, std::span<WeightPiece> pieces) {
                                 for (WeightPiece& piece : pieces) {
                                     piece.replace = varies_by_pieces(parameter);
                                 }
                             });
}

}  // namespace

std::vector<int> encoded_slots(const Blueprint& blueprint) {
    std::vector<int> slots = filled_slots(blueprint);
    slots.push_back(blueprint.grid.slots());
    std::erase_if(slots, [&](int slot) {
        return std::ranges::none_of(layer_at(blueprint, slot).parameters(),
                                    &ParameterSpec::encoded);
    });
    return slots;
}

LayerFormats& formats_of(Blueprint& blueprint, int slot) {
    return slot == blueprint.grid.slots()
               ? blueprint.head_formats
               : blueprint.slots[static_cast<std::size_t>(slot)]->formats;
}

bool makes_structures(const MutationSettings& settings) {
    return settings.layer_type_rate > 0.0F || settings.layer_insert_rate > 0.0F ||
           settings.link_add_rate > 0.0F || settings.link_drop_rate > 0.0F ||
           settings.layer_remove_rate > 0.0F || settings.layer_widen_rate > 0.0F ||
           settings.layer_deepen_rate > 0.0F || settings.layer_field_rate > 0.0F ||
           std::ranges::any_of(settings.custom,
                               [](const CustomMutation& added) { return added.rate > 0.0F; });
}

std::optional<Mutant> change_activation(RandomStream& rng, const MutationSettings& settings,
                                        const Genome& genome, ActivationGene gene) {
    const Activation old = layer_at(genome.blueprint, gene.slot).activations()[gene.index];
    std::vector<Activation> others = settings.activations;
    std::erase(others, old);
    if (others.empty()) {
        return std::nullopt;
    }
    Mutant child{genome};
    AnyLayer& layer = child.genome.blueprint.slots[static_cast<std::size_t>(gene.slot)]->layer;
    *layer.activations()[gene.index] = pick(rng, others);
    return child;
}

std::optional<Mutant> mutate_activation(RandomStream& rng, const MutationSettings& settings,
                                        const GenomeLimits&, const Genome& genome, std::uint64_t) {
    const std::vector<ActivationGene> genes = activation_genes(genome.blueprint);
    if (genes.empty()) {
        return std::nullopt;
    }
    return change_activation(rng, settings, genome, pick(rng, genes));
}

std::optional<Mutant> change_dtype(RandomStream& rng, const MutationSettings& settings,
                                   const Genome& genome, int slot) {
    Mutant child{genome};
    LayerFormats& formats = formats_of(child.genome.blueprint, slot);
    std::vector<Dtype> others = settings.dtypes;
    std::erase(others, formats.weights);
    if (others.empty()) {
        return std::nullopt;
    }
    formats.weights = pick(rng, others);
    formats = formats.settled();
    return child;
}

std::optional<Mutant> mutate_dtype(RandomStream& rng, const MutationSettings& settings,
                                   const GenomeLimits&, const Genome& genome, std::uint64_t) {
    const std::vector<int> slots = encoded_slots(genome.blueprint);
    if (slots.empty()) {
        return std::nullopt;
    }
    return change_dtype(rng, settings, genome, pick(rng, slots));
}

void mutate_structure(RandomStream& rng, const MutationSettings& settings,
                      const GenomeLimits& limits, ChildPlan& child, std::uint64_t birth) {
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
    variator.per_genome_if(settings.layer_remove_rate, remove_layer);
    variator.per_genome_if(settings.layer_widen_rate, widen_layer);
    variator.per_genome_if(settings.layer_deepen_rate, deepen_layer);
    variator.per_genome_if(settings.layer_field_rate, mutate_field);
    if (settings.dtype_rate > 0.0F) {
        variator.per_gene(settings.dtype_rate, encoded_slots(child.structure->blueprint()),
                          mutate_dtype, [&](const Genome& parent, int slot) {
                              return change_dtype(rng, settings, parent, slot);
                          });
    }
    for (const CustomMutation& added : settings.custom) {
        variator.per_genome_if(added.rate, added.apply);
    }
}

void mutate_weights(RandomStream& rng, const MutationSettings& settings, ChildPlan& child,
                    std::uint64_t birth) {
    const float power = child_power(rng, settings, child, birth);
    child.draws.noise = rng.field();
    child.draws.noise_power = power;
    child.draws.replace_rate = settings.weight_replace_rate;
    for (const GeneWeights& gene : child.structure->genes()) {
        const bool noise = rng.chance(settings.weight_rate);
        if (noise || settings.weight_replace_rate > 0.0F) {
            vary(child, gene, noise);
        }
    }
    if (settings.weight_replace_rate > 0.0F) {
        child.draws.replace = rng.field();
        child.draws.fresh = rng.field();
        for (const GeneWeights& gene : child.structure->genes()) {
            replace_some(child, gene);
        }
    }
    set_positive_rules(child);
}

void mutate_weights(RandomStream& rng, const MutationSettings& settings, Genome& genome) {
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(genome));
    mutate_weights(rng, settings, plan, 0);
    genome.weight_power = plan.structure->genome().weight_power;
    write_weights(plan, std::vector(genome.weights), {}, genome.weights);
}

MutationResult mutate(RandomStream& rng, const MutationSettings& settings,
                      const GenomeLimits& limits, Genome genome, std::uint64_t birth) {
    const std::vector<float> weights = std::move(genome.weights);
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(std::move(genome)));
    mutate_structure(rng, settings, limits, plan, birth);
    mutate_weights(rng, settings, plan, birth);
    MutationResult result{plan.structure->genome(), plan.retries};
    write_weights(plan, weights, {}, result.genome.weights);
    return result;
}

}  // namespace cambrian::evolve

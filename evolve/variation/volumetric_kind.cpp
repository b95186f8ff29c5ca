#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/evolve/genome/alignment.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/evolve/variation/new_layer.hpp"

namespace cambrian::evolve {

namespace {

/// Noise of mutation.weight_power on every weight.
MutationSettings noise_on_all(MutationSettings settings) {
    settings.weight_rate = 1.0F;
    settings.weight_replace_rate = 0.0F;
    settings.weight_power_change = 0.0F;
    settings.weight_power_schedule = WeightPowerSchedule::constant;
    return settings;
}

/// Nothing is added, nor by plug-ins, of whose mutations nobody knows what they do; links and
/// layers go at a rate at least.
MutationSettings losing_genes(MutationSettings settings, float rate) {
    settings.layer_insert_rate = 0.0F;
    settings.link_add_rate = 0.0F;
    settings.layer_widen_rate = 0.0F;
    settings.layer_deepen_rate = 0.0F;
    settings.layer_field_rate = 0.0F;
    for (CustomMutation& added : settings.custom) {
        added.rate = 0.0F;
    }
    settings.link_drop_rate = std::max(settings.link_drop_rate, rate);
    settings.layer_remove_rate = std::max(settings.layer_remove_rate, rate);
    return settings;
}

/// Genes are layers and links.
class VolumetricKind final : public GenomeKind {
  public:
    explicit VolumetricKind(const GenomeContext& context)
        : mutation_(context.mutation),
          splice_(context.splice),
          limits_(context.limits),
          simplifying_(losing_genes(context.mutation, context.complexity.delete_rate)),
          founder_noise_(noise_on_all(context.mutation)) {
        for (const std::string& type : mutation_.layer_types) {
            static_cast<void>(
                fitted_layer(type, {1}, {1}));  // an unknown type throws now, not in a birth
        }
        check_new_layers(mutation_);
        check_schedule(mutation_);
    }

    std::string_view type() const override { return "volumetric"; }

    Genome adopt(Genome genome) const override {
        genome.neuron_genes.clear();
        return genome;
    }
    SharedStructure found(RandomStream&, const SharedStructure& whole,
                          std::uint64_t birth) const override {
        Genome founder = whole->genome();
        for_each_gene(founder, [birth](Gene& gene) { gene.born = birth; });
        return std::make_shared<const Structure>(std::move(founder));
    }
    void draw_weights(RandomStream& rng, SharedStructure founder, ChildPlan& child) const override {
        child.begin_fresh(std::move(founder), rng.field());
    }
    void disturb(RandomStream& rng, ChildPlan& child) const override {
        evolve::mutate_weights(rng, founder_noise_, child, 0);
    }

    void cross(RandomStream& rng, ChildPlan& child, double first_fitness,
               const SharedStructure& second, double second_fitness) const override {
        splice(rng, splice_, child, first_fitness, *second, second_fitness);
    }
    void mutate_structure(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const override {
        evolve::mutate_structure(rng, mutation_, limits_, child, birth);
    }
    bool simplifies() const override { return true; }
    void simplify(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const override {
        evolve::mutate_structure(rng, simplifying_, limits_, child, birth);
    }
    void mutate_weights(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const override {
        evolve::mutate_weights(rng, mutation_, child, birth);
    }
    bool reads_weights() const override { return splice_.align == SpliceAlign::permutation; }
    std::vector<float> aligned(const Individual& first, const Individual& second) const override {
        return aligned_weights({first.structure->genome(), first.weights},
                               {second.structure->genome(), second.weights});
    }
    bool makes_structures() const override { return evolve::makes_structures(mutation_); }

  private:
    MutationSettings mutation_;
    SpliceSettings splice_;
    GenomeLimits limits_;
    MutationSettings simplifying_;
    MutationSettings founder_noise_;
};

}  // namespace

std::shared_ptr<const GenomeKind> make_volumetric(const GenomeContext& context) {
    return std::make_shared<const VolumetricKind>(context);
}

/// `{"type": "volumetric"}`: what mutates says the section "mutation", how two mix "splice".
GenomeType volumetric_genome() {
    const auto make = [](const nlohmann::json& settings, const GenomeContext& context) {
        static constexpr std::array<std::string_view, 1> keys{"type"};
        json_read::object(settings, "genome", keys);
        return make_volumetric(context);
    };
    return {"volumetric",
            "Layers in a grid and links between them; the sections mutation and splice say how "
            "they change.",
            make, nullptr};
}

}  // namespace cambrian::evolve

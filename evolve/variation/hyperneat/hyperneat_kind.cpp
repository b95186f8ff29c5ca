#include "cambrian/evolve/variation/hyperneat/hyperneat_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/variation/hyperneat/cppn.hpp"
#include "cambrian/evolve/variation/hyperneat/develop.hpp"
#include "cambrian/evolve/variation/neat/neat_kind.hpp"
#include "cambrian/evolve/variation/neat/neat_layers.hpp"

namespace cambrian::evolve {

namespace {

/// Whether a network is what an empty layer of neurons becomes: its place is taken by what
/// develops.
bool is_plain(const Blueprint& network, const Substrate& substrate) {
    const std::optional<Neurons> plain =
        Neurons::fitted({std::ssize(substrate.inputs())}, {std::ssize(substrate.outputs())});
    const auto* const layer = std::get_if<Neurons>(&network.head.variant());
    return layer != nullptr && plain == *layer && network.links.empty() &&
           std::ranges::none_of(network.slots, [](const auto& slot) { return slot.has_value(); });
}

/// A plan that brings the value of one weight.
void set_weight(ChildPlan& child, const SeedWeight& seed) {
    WeightPiece& piece = child.range(seed.element, 1).front();
    piece = {.to = seed.element,
             .from = std::ssize(child.literals),
             .count = 1,
             .source = WeightSource::literal};
    child.literals.push_back(seed.value);
}

/// Takes weights out of what differs by rules.
void spare(std::vector<ValueRules::Range>& ranges, const std::vector<SeedWeight>& seeds) {
    std::vector<ValueRules::Range> rest;
    for (ValueRules::Range range : ranges) {
        for (const SeedWeight& seed : seeds) {
            const std::int64_t before = seed.element - range.first;
            if (before < 0 || before >= range.count) {
                continue;
            }
            if (before > 0) {
                rest.push_back({range.first, before, range.rule});
            }
            range.first += before + 1;
            range.count -= before + 1;
        }
        if (range.count > 0) {
            rest.push_back(range);
        }
    }
    ranges = std::move(rest);
}

class HyperneatKind final : public GenomeKind {
  public:
    HyperneatKind(NeatSettings settings, const GenomeContext& context, Substrate substrate)
        : neat_(make_neat(std::move(settings), context)), substrate_(std::move(substrate)) {}

    std::string_view type() const override { return "hyperneat"; }

    Genome begin(const Blueprint& network) const override {
        if (!is_plain(network, substrate_)) {
            throw ConfigError(
                "genome.type is \"hyperneat\" (a CPPN draws the neurons and connections of the "
                "network, so that no others are there) set network.layers to [{\"type\": "
                "\"neurons\"}] and leave out the rest");
        }
        if (encodes_weights(network) || encodes_activations(network)) {
            throw ConfigError(
                "network.dtype or network.activation_dtype is set (genome.type is \"hyperneat\", "
                "whose networks are drawn in float32) leave it out, and see 'cambrian quantise'");
        }
        return neat_->adopt(founder_genome(cppn_blueprint(substrate_), 0));
    }
    Genome adopt(Genome genome) const override {
        const Blueprint& cppn = genome.blueprint;
        if (cppn.input_features != substrate_.cppn_inputs() ||
            cppn.output_features != substrate_.cppn_outputs()) {
            throw ConfigError(fmt::format(
                "network.initial has {} inputs and {} outputs (genome.type is \"hyperneat\", and "
                "the CPPN of its substrate has {} and {}) name the best_genotype.cmb of a run with "
                "such a substrate",
                cppn.input_features, cppn.output_features, substrate_.cppn_inputs(),
                substrate_.cppn_outputs()));
        }
        genome = neat_->adopt(std::move(genome));
        const Structure structure(genome);
        if (genome.neuron_genes.size() != 1 || structure.bytecode() == nullptr ||
            structure.bytecode()->capacity.state > 0) {
            throw ConfigError(
                "network.initial is no CPPN (it has other layers, or looks back, and here all that "
                "it knows are two places) name the best_genotype.cmb of a run of genome.type "
                "\"hyperneat\"");
        }
        return genome;
    }
    bool develops() const override { return true; }
    Individual develop(const Individual& genotype) const override {
        return evolve::develop(substrate_, genotype);
    }

    SharedStructure found(RandomStream& rng, const SharedStructure& whole,
                          std::uint64_t birth) const override {
        return neat_->found(rng, whole, birth);
    }
    void draw_weights(RandomStream& rng, SharedStructure founder, ChildPlan& child) const override {
        const std::vector<SeedWeight> seeds = locality_weights(substrate_, founder->genome());
        neat_->draw_weights(rng, std::move(founder), child);
        spare(child.rules.ranges, seeds);
        for (const SeedWeight& seed : seeds) {
            set_weight(child, seed);
        }
    }
    void disturb(RandomStream& rng, ChildPlan& child) const override { neat_->disturb(rng, child); }

    void cross(RandomStream& rng, ChildPlan& child, double first_fitness,
               const SharedStructure& second, double second_fitness) const override {
        neat_->cross(rng, child, first_fitness, second, second_fitness);
    }
    void mutate_structure(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const override {
        neat_->mutate_structure(rng, child, birth);
    }
    void mutate_weights(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const override {
        neat_->mutate_weights(rng, child, birth);
    }
    bool simplifies() const override { return true; }
    void simplify(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const override {
        neat_->simplify(rng, child, birth);
    }
    bool makes_structures() const override { return true; }

  private:
    std::shared_ptr<const GenomeKind> neat_;
    Substrate substrate_;
};

}  // namespace

std::shared_ptr<const GenomeKind> make_hyperneat(NeatSettings settings,
                                                 const GenomeContext& context,
                                                 Substrate substrate) {
    return std::make_shared<const HyperneatKind>(std::move(settings), context,
                                                 std::move(substrate));
}

}  // namespace cambrian::evolve

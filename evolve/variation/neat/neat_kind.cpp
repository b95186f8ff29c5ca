#include "cambrian/evolve/variation/neat/neat_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/variation/neat/neat_crossover.hpp"
#include "cambrian/evolve/variation/neat/neat_layers.hpp"
#include "cambrian/evolve/variation/neat/neat_mutation.hpp"

namespace cambrian::evolve {

namespace {

/// Places of the rules of a plan.
enum : std::size_t { weight_rule, bias_rule, time_constant_rule, learning_rate_rule, rule_rule };

ValueRule rule_of(const ValueSettings& settings) {
    return {.noise_rate = settings.perturb_rate,
            .replace_rate = settings.replace_rate,
            .power = settings.power,
            .mean = settings.mean,
            .deviation = settings.deviation,
            .least = settings.least,
            .largest = settings.largest,
            .uniform = settings.noise == Noise::uniform};
}

using Rules = decltype(ValueRules::rules);

Rules rules_of(const NeatSettings& settings) {
    return {rule_of(settings.weight), rule_of(settings.bias), rule_of(settings.time_constant),
            rule_of(settings.learning_rate), rule_of(settings.rule)};
}

/// Every value starts afresh.
Rules fresh_rules(Rules rules) {
    for (ValueRule& rule : rules) {
        rule.replace_rate = 1.0F;
    }
    return rules;
}

/// Noise on all values but time constants.
Rules noise_rules(Rules rules) {
    for (ValueRule& rule : rules) {
        rule.noise_rate = 1.0F;
        rule.replace_rate = 0.0F;
    }
    rules[time_constant_rule].noise_rate = 0.0F;
    return rules;
}

void add_range(ChildPlan& child, std::int64_t first, std::int64_t count, std::size_t rule) {
    if (count > 0) {
        child.rules.ranges.push_back({first, count, rule});
    }
}

/// Lets all values of layers of neurons differ by rules.
void apply_rules(RandomStream& rng, ChildPlan& child, const Rules& rules) {
    child.rules.rules = rules;
    child.rules.choice = rng.field();
    child.rules.noise = rng.field();
    child.rules.uniform_noise = rng.field();
    auto neurons = child.structure->genome().neuron_genes.begin();
    const auto end = child.structure->genome().neuron_genes.end();
    for (const GeneWeights& block : child.structure->genes()) {
        if (neurons == end || block.slot != neurons->slot) {
            continue;
        }
        const Neurons& layer = neurons_of(child.structure->genome(), block.slot);
        const auto count = std::ssize(neurons->neurons);
        std::int64_t first = block.offset;
        const auto add = [&](std::int64_t values, std::size_t rule) {
            add_range(child, first, values, rule);
            first += values;
        };
        add(std::ssize(neurons->connections), weight_rule);
        add(count, bias_rule);
        add(layer.continuous ? count : 0, time_constant_rule);
        add(layer.plastic ? count : 0, learning_rate_rule);
        add(layer.plastic ? (Neurons::rule_numbers - 1) * count : 0, rule_rule);
        ++neurons;
    }
}

/// Noise on the weights of other layers and of links. Those that stay above 0 differ as time
/// constants do. After apply_rules.
void disturb_others(RandomStream& rng, ChildPlan& child, float power) {
    const Genome& genome = child.structure->genome();
    if (child.structure->genes().size() == genome.neuron_genes.size()) {
        return;
    }
    child.draws.noise = rng.field();
    child.draws.noise_power = power;
    for (const GeneWeights& block : child.structure->genes()) {
        if (std::ranges::find(genome.neuron_genes, block.slot, &NeuronGenes::slot) !=
            genome.neuron_genes.end()) {
            continue;
        }
        child.for_each_parameter(block, [&](const ParameterSpec& parameter,
                                            std::span<WeightPiece> pieces) {
            for (WeightPiece& piece : pieces) {
                piece.noise = varies_by_pieces(parameter);
            }
            if (parameter.positive && !pieces.empty()) {
                add_range(child, pieces.front().to, parameter.shape.elements(), time_constant_rule);
            }
        });
    }
    std::ranges::sort(child.rules.ranges, {}, &ValueRules::Range::first);
}

/// Removes the connections of a founder that are not drawn.
NeuronGenes thinned(RandomStream& rng, float rate, Neurons& layer, const NeuronGenes& genes) {
    NeuronGenes kept{.slot = genes.slot, .neurons = genes.neurons, .connections = {}};
    std::vector<Neurons::Connection> connections;
    for (std::size_t i = 0; i < genes.connections.size(); ++i) {
        if (rng.chance(rate)) {
            kept.connections.push_back(genes.connections[i]);
            connections.push_back(layer.connections[i]);
        }
    }
    layer.connections = std::move(connections);
    return kept;
}

/// Makes connections plastic where the layer has rules for them.
void draw_plastic(RandomStream& rng, float rate, Neurons& layer) {
    if (!layer.plastic) {
        return;
    }
    for (Neurons::Connection& each : layer.connections) {
        each.plastic = rng.chance(rate) || each.plastic;
    }
}

bool is_plastic(const Genome& genome) {
    return std::ranges::any_of(genome.neuron_genes, [&](const NeuronGenes& genes) {
        return neurons_of(genome, genes.slot).plastic;
    });
}

/// Nothing is added; neurons and connections go at a rate at least.
NeatSettings losing_genes(NeatSettings settings, float rate) {
    settings.node_add_rate = 0.0F;
    settings.connection_add_rate = 0.0F;
    settings.node_delete_rate = std::max(settings.node_delete_rate, rate);
    settings.connection_delete_rate = std::max(settings.connection_delete_rate, rate);
    return settings;
}

class NeatKind final : public GenomeKind {
  public:
    NeatKind(NeatSettings settings, const GenomeContext& context)
        : settings_(std::move(settings)),
          simplifying_(losing_genes(settings_, context.complexity.delete_rate)),
          formats_(context.mutation),
          time_(context.limits.time),
          rules_(rules_of(settings_)) {}

    std::string_view type() const override { return "neat"; }

    Genome adopt(Genome genome) const override {
        const auto outputs = genome.blueprint.grid.slots();
        for (int slot = 0; slot <= outputs; ++slot) {
            if (has_neurons(genome, slot)) {
                add_genes(genome, slot);
            }
        }
        if (genome.neuron_genes.empty()) {
            throw ConfigError(
                "genome.type is \"neat\" (the network has no layer of single neurons, whose genes "
                "these are) give network.layers one of type \"neurons\", such as [{\"type\": "
                "\"neurons\"}]");
        }
        refuse_plastic_without_time(genome);
        set_output_activations(genome);
        return genome;
    }

    SharedStructure found(RandomStream& rng, const SharedStructure& whole,
                          std::uint64_t) const override {
        const bool all = settings_.initial_connection_rate >= 1.0F;
        const bool plastic = settings_.plastic_rate > 0.0F && is_plastic(whole->genome());
        if (all && !plastic) {
            return whole;
        }
        Genome founder = whole->genome();
        for (NeuronGenes& genes : founder.neuron_genes) {
            Neurons& layer = neurons_of(founder, genes.slot);
            if (!all) {
                genes = thinned(rng, settings_.initial_connection_rate, layer, genes);
            }
            draw_plastic(rng, settings_.plastic_rate, layer);
        }
        return std::make_shared<const Structure>(std::move(founder));
    }
    void draw_weights(RandomStream& rng, SharedStructure founder, ChildPlan& child) const override {
        child.begin_fresh(std::move(founder), rng.field());
        apply_rules(rng, child, fresh_rules(rules_));
    }
    void disturb(RandomStream& rng, ChildPlan& child) const override {
        apply_rules(rng, child, noise_rules(rules_));
        disturb_others(rng, child, settings_.weight.power);
    }

    void cross(RandomStream& rng, ChildPlan& child, double first_fitness,
               const SharedStructure& second, double second_fitness) const override {
        evolve::cross(rng, settings_, child, first_fitness, second, second_fitness);
    }
    void mutate_structure(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const override {
        evolve::mutate_structure(rng, settings_, child, birth);
        mutate_formats(rng, formats_, child);
    }
    bool simplifies() const override { return true; }
    void simplify(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const override {
        evolve::mutate_structure(rng, simplifying_, child, birth);
        mutate_formats(rng, formats_, child);
    }
    void mutate_weights(RandomStream& rng, ChildPlan& child, std::uint64_t) const override {
        if (rng.chance(settings_.weight_rate)) {
            apply_rules(rng, child, rules_);
            disturb_others(rng, child, settings_.weight.power);
        }
    }
    bool makes_structures() const override { return true; }

  private:
    static bool has_neurons(const Genome& genome, int slot) {
        const bool filled = slot == genome.blueprint.grid.slots() ||
                            genome.blueprint.slots[static_cast<std::size_t>(slot)].has_value();
        return filled &&
               std::holds_alternative<Neurons>(layer_at(genome.blueprint, slot).variant());
    }

    static void add_genes(Genome& genome, int slot) {
        const auto place =
            std::ranges::lower_bound(genome.neuron_genes, slot, {}, &NeuronGenes::slot);
        if (place != genome.neuron_genes.end() && place->slot == slot) {
            return;
        }
        Neurons whole = neurons_of(genome, slot);
        const Gene layer_gene{gene_at(genome, {.slot = slot}).id, 0};
        genome.neuron_genes.insert(place, founder_neurons(whole, slot, layer_gene));
        for (Neurons::Connection& each : whole.connections) {
            each.enabled = true;
        }
        try {
            static_cast<void>(NeuronPlan(whole));
        } catch (const ShapeError& error) {
            throw ConfigError(fmt::format(
                "genome.type is \"neat\" (connections may be enabled at any time, and then {})",
                error.what()));
        }
    }

    void refuse_plastic_without_time(const Genome& genome) const {
        if (is_plastic(genome) && !time_) {
            throw ConfigError(
                "a layer of neurons is plastic (the task has no time: weights that change at each "
                "step would never differ) leave out \"plastic\", or give the task time");
        }
    }

    void set_output_activations(Genome& genome) const {
        const std::vector<NeuronActivation>& given = settings_.output_activations;
        if (given.empty()) {
            return;
        }
        const int head = genome.blueprint.grid.slots();
        const auto outputs = static_cast<std::size_t>(genome.blueprint.output_features);
        if (!has_neurons(genome, head) || (given.size() != 1 && given.size() != outputs)) {
            throw ConfigError(fmt::format(
                "genome.output_activations has {} entries ({}) give one for all outputs, one for "
                "each, or none",
                given.size(),
                has_neurons(genome, head) ? fmt::format("the network has {} outputs", outputs)
                                          : "the last layer of the network is not of neurons"));
        }
        for (std::size_t i = 0; i < outputs; ++i) {
            neurons_of(genome, head).neurons[i].activation = given[given.size() == 1 ? 0 : i];
        }
    }

    NeatSettings settings_;
    NeatSettings simplifying_;
    MutationSettings formats_;  ///< Of which dtype_rate and dtypes are read.
    bool time_;
    Rules rules_;
};

}  // namespace

std::shared_ptr<const GenomeKind> make_neat(NeatSettings settings, const GenomeContext& context) {
    return std::make_shared<const NeatKind>(std::move(settings), context);
}

}  // namespace cambrian::evolve

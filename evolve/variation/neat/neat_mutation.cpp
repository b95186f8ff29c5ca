#include "cambrian/evolve/variation/neat/neat_mutation.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/evolve/variation/neat/neat_layers.hpp"

namespace cambrian::evolve {

namespace {

/// Draws for one hit, as in NEAT: most pairs of a network that is wholly connected have a
/// connection.
constexpr int draws_per_connection = 20;

std::uint32_t count_of(const auto& list) {
    return static_cast<std::uint32_t>(list.size());
}

/// Index of the genes of a layer of neurons. A single one, which most genomes have, takes no draw.
std::size_t draw_layer(RandomStream& rng, const Genome& genome) {
    const auto count = count_of(genome.neuron_genes);
    return count == 1 ? 0 : rng.index(count);
}

/// A copy of a genome on whose layer of neurons an operator works.
struct Draft {
    Draft(const Genome& genome, std::size_t index)
        : mutant{genome},
          genes(mutant.genome.neuron_genes[index]),
          layer(neurons_of(mutant.genome, genes.slot)),
          first(first_weight(genome, genes.slot)) {}

    [[nodiscard]] std::int64_t connections() const { return std::ssize(layer.connections); }
    [[nodiscard]] std::int64_t neurons() const { return std::ssize(layer.neurons); }
    /// Goes on with edits of weights, each before the next one is worked out.
    void edit(std::int64_t at, std::int64_t erased, std::vector<float> inserted = {}) {
        mutant.edits.push_back({first + at, erased, std::move(inserted)});
    }
    void copy_weight(std::int64_t at, std::int64_t connection) {
        mutant.edits.push_back({first + at, 0, {}, first + connection});
    }

    Mutant mutant;
    NeuronGenes& genes;
    Neurons& layer;
    std::int64_t first;
};

float fresh_value(RandomStream& rng, const ValueSettings& settings) {
    const float draw =
        settings.noise == Noise::uniform ? 2.0F * rng.uniform() - 1.0F : rng.normal();
    return std::min(std::max(settings.mean + settings.deviation * draw, settings.least),
                    settings.largest);
}

/// What a new neuron of a layer has: no bias, and a rule that is drawn.
std::vector<float> fresh_neuron(RandomStream& rng, const NeatSettings& settings,
                                const Neurons& layer) {
    std::vector<float> own{0.0F};
    if (layer.continuous) {
        own.push_back(settings.time_constant.mean);
    }
    for (std::int64_t i = 0; layer.plastic && i < Neurons::rule_numbers; ++i) {
        own.push_back(fresh_value(rng, i == 0 ? settings.learning_rate : settings.rule));
    }
    return own;
}

Gene node_gene(const NeuronGenes& genes, Hash128 connection, std::uint64_t birth) {
    const auto is_there = [&genes](Hash128 id) {
        return std::ranges::find(genes.neurons, id, &Gene::id) != genes.neurons.end();
    };
    std::uint64_t occurrence = 0;
    Hash128 id = historical_id(connection, "add_node", Neurons::name, occurrence);
    while (is_there(id)) {
        id = historical_id(connection, "add_node", Neurons::name, ++occurrence);
    }
    return {id, birth};
}

void remove_connection(Draft& draft, std::int64_t connection) {
    draft.edit(connection, 1);
    draft.layer.connections.erase(draft.layer.connections.begin() + connection);
    draft.genes.connections.erase(draft.genes.connections.begin() + connection);
}

void remove_neuron(Draft& draft, std::int64_t neuron) {
    const std::int64_t source = draft.layer.in + neuron;
    for (std::int64_t i = draft.connections() - 1; i >= 0; --i) {
        const Neurons::Connection& each = draft.layer.connections[static_cast<std::size_t>(i)];
        if (each.source == source || each.target == neuron) {
            remove_connection(draft, i);
        }
    }
    for (std::int64_t parameter = draft.layer.weights_of_neuron(); parameter-- > 0;) {
        draft.edit(draft.connections() + parameter * draft.neurons() + neuron, 1);
    }
    draft.layer.neurons.erase(draft.layer.neurons.begin() + neuron);
    draft.genes.neurons.erase(draft.genes.neurons.begin() + neuron);
    for (Neurons::Connection& each : draft.layer.connections) {
        each.source -= each.source > source ? 1 : 0;
        each.target -= each.target > neuron ? 1 : 0;
    }
}

/// Another of the values that may be chosen, where there is one.
template <class Value>
void change(RandomStream& rng, float rate, const std::vector<Value>& choices, Value& value) {
    if (rate == 0.0F || !rng.chance(rate)) {
        return;
    }
    std::vector<Value> others = choices;
    std::erase(others, value);
    if (!others.empty()) {
        value = pick(rng, others);
    }
}

void hit(RandomStream& rng, const NeatSettings& settings, ChildPlan& child, std::uint64_t birth,
         float rate, NeatMutation mutation) {
    if (rate == 0.0F || !rng.chance(rate)) {
        return;
    }
    for (int draw = 0; draw < draws_per_connection; ++draw) {
        if (auto mutant = mutation(rng, settings, child.structure->genome(), birth)) {
            static_cast<void>(child.become(*std::move(mutant)));
            return;
        }
        ++child.retries;
    }
}

}  // namespace

std::optional<Mutant> add_node(RandomStream& rng, const NeatSettings& settings,
                               const Genome& genome, std::uint64_t birth) {
    const std::size_t place = draw_layer(rng, genome);
    const NeuronGenes& before = genome.neuron_genes[place];
    if (before.connections.empty()) {
        return std::nullopt;
    }
    const std::size_t split = rng.index(count_of(before.connections));
    const Neurons::Connection old = neurons_of(genome, before.slot).connections[split];
    // A bias does what a connection from the constant would do through a neuron.
    if (!old.enabled || old.source == Neurons::constant) {
        return std::nullopt;
    }
    Draft draft(genome, place);
    const std::int64_t neuron = draft.neurons();
    const std::int64_t source = draft.layer.in + neuron;
    const Gene gene = node_gene(before, before.connections[split].id, birth);
    const Hash128 from = source_id(genome, before, old.source);
    const Hash128 to = before.neurons[static_cast<std::size_t>(old.target)].id;

    const std::vector<float> own = fresh_neuron(rng, settings, draft.layer);
    for (std::int64_t parameter = std::ssize(own); parameter-- > 0;) {
        draft.edit(draft.connections() + (parameter + 1) * neuron, 0,
                   {own[static_cast<std::size_t>(parameter)]});
    }
    draft.copy_weight(draft.connections(), static_cast<std::int64_t>(split));
    draft.edit(draft.connections(), 0, {1.0F});

    draft.layer.neurons.push_back({.activation = pick(rng, settings.activations),
                                   .aggregation = pick(rng, settings.aggregations)});
    draft.genes.neurons.push_back(gene);
    draft.layer.connections[split].enabled = false;
    draft.layer.connections.push_back(
        {.source = old.source, .target = neuron, .delay = old.delay, .enabled = true});
    draft.layer.connections.push_back(
        {.source = source, .target = old.target, .plastic = old.plastic});
    draft.genes.connections.push_back({connection_id(from, gene.id, old.delay), birth});
    draft.genes.connections.push_back({connection_id(gene.id, to, 0), birth});
    return std::move(draft.mutant);
}

std::optional<Mutant> add_connection(RandomStream& rng, const NeatSettings& settings,
                                     const Genome& genome, std::uint64_t birth) {
    const std::size_t place = draw_layer(rng, genome);
    const NeuronGenes& genes = genome.neuron_genes[place];
    const Neurons& layer = neurons_of(genome, genes.slot);
    const auto inputs = static_cast<std::uint32_t>(layer.in);
    Neurons::Connection added{.source = rng.index(inputs + count_of(layer.neurons)),
                              .target = rng.index(count_of(layer.neurons))};
    const bool looks_back = !settings.feed_forward && rng.chance(settings.delay_rate);
    if (looks_back || closes_cycle(layer, added.source, added.target)) {
        if (settings.feed_forward) {
            return std::nullopt;
        }
        added.delay = 1 + rng.index(static_cast<std::uint32_t>(settings.largest_delay));
    }
    const auto same_ends = [&added](const Neurons::Connection& other) {
        return other.source == added.source && other.target == added.target &&
               other.delay == added.delay;
    };
    if (std::ranges::any_of(layer.connections, same_ends)) {
        return std::nullopt;
    }
    added.plastic = layer.plastic && rng.chance(settings.plastic_rate);
    const Hash128 from = source_id(genome, genes, added.source);
    const Hash128 to = genes.neurons[static_cast<std::size_t>(added.target)].id;
    Draft draft(genome, place);
    draft.edit(draft.connections(), 0, {fresh_value(rng, settings.weight)});
    draft.layer.connections.push_back(added);
    draft.genes.connections.push_back({connection_id(from, to, added.delay), birth});
    return std::move(draft.mutant);
}

std::optional<Mutant> delete_node(RandomStream& rng, const NeatSettings&, const Genome& genome,
                                  std::uint64_t) {
    const std::size_t place = draw_layer(rng, genome);
    const Neurons& layer = neurons_of(genome, genome.neuron_genes[place].slot);
    const auto outputs = static_cast<std::uint32_t>(layer.out);
    const std::uint32_t hidden = count_of(layer.neurons) - outputs;
    if (hidden == 0) {
        return std::nullopt;
    }
    Draft draft(genome, place);
    remove_neuron(draft, outputs + rng.index(hidden));
    return std::move(draft.mutant);
}

std::optional<Mutant> delete_connection(RandomStream& rng, const NeatSettings&,
                                        const Genome& genome, std::uint64_t) {
    const std::size_t place = draw_layer(rng, genome);
    const NeuronGenes& genes = genome.neuron_genes[place];
    if (genes.connections.empty()) {
        return std::nullopt;
    }
    Draft draft(genome, place);
    remove_connection(draft, rng.index(count_of(genes.connections)));
    return std::move(draft.mutant);
}

std::optional<Mutant> toggle_connection(RandomStream& rng, const NeatSettings&,
                                        const Genome& genome, std::uint64_t) {
    const std::size_t place = draw_layer(rng, genome);
    const NeuronGenes& genes = genome.neuron_genes[place];
    if (genes.connections.empty()) {
        return std::nullopt;
    }
    Mutant mutant{genome};
    Neurons& layer = neurons_of(mutant.genome, genes.slot);
    Neurons::Connection& each = layer.connections[rng.index(count_of(genes.connections))];
    each.enabled = !each.enabled;
    return mutant;
}

std::optional<Mutant> toggle_plastic(RandomStream& rng, const NeatSettings&, const Genome& genome,
                                     std::uint64_t) {
    const std::size_t place = draw_layer(rng, genome);
    const NeuronGenes& genes = genome.neuron_genes[place];
    if (genes.connections.empty() || !neurons_of(genome, genes.slot).plastic) {
        return std::nullopt;
    }
    Mutant mutant{genome};
    Neurons& layer = neurons_of(mutant.genome, genes.slot);
    Neurons::Connection& each = layer.connections[rng.index(count_of(genes.connections))];
    each.plastic = !each.plastic;
    return mutant;
}

std::optional<Mutant> mutate_functions(RandomStream& rng, const NeatSettings& settings,
                                       const Genome& genome, std::uint64_t) {
    std::optional<Mutant> mutant;
    for (const NeuronGenes& genes : genome.neuron_genes) {
        const Neurons& layer = neurons_of(genome, genes.slot);
        for (auto i = static_cast<std::size_t>(layer.out); i < layer.neurons.size(); ++i) {
            Neurons::Neuron neuron = layer.neurons[i];
            change(rng, settings.activation_rate, settings.activations, neuron.activation);
            change(rng, settings.aggregation_rate, settings.aggregations, neuron.aggregation);
            if (neuron == layer.neurons[i]) {
                continue;
            }
            if (!mutant) {
                mutant = Mutant{genome};
            }
            neurons_of(mutant->genome, genes.slot).neurons[i] = neuron;
        }
    }
    return mutant;
}

void mutate_formats(RandomStream& rng, const MutationSettings& settings, ChildPlan& child) {
    if (settings.dtype_rate == 0.0F) {
        return;
    }
    for (const int slot : encoded_slots(child.structure->blueprint())) {
        if (!rng.chance(settings.dtype_rate)) {
            continue;
        }
        if (auto mutant = change_dtype(rng, settings, child.structure->genome(), slot)) {
            static_cast<void>(child.become(*std::move(mutant)));
        }
    }
}

void mutate_structure(RandomStream& rng, const NeatSettings& settings, ChildPlan& child,
                      std::uint64_t birth) {
    hit(rng, settings, child, birth, settings.node_add_rate, add_node);
    hit(rng, settings, child, birth, settings.connection_add_rate, add_connection);
    hit(rng, settings, child, birth, settings.node_delete_rate, delete_node);
    hit(rng, settings, child, birth, settings.connection_delete_rate, delete_connection);
    hit(rng, settings, child, birth, settings.connection_toggle_rate, toggle_connection);
    hit(rng, settings, child, birth, settings.plastic_toggle_rate, toggle_plastic);
    if (settings.activation_rate > 0.0F || settings.aggregation_rate > 0.0F) {
        if (auto mutant = mutate_functions(rng, settings, child.structure->genome(), birth)) {
            static_cast<void>(child.become(*std::move(mutant)));
        }
    }
}

}  // namespace cambrian::evolve

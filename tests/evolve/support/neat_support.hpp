#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/evolve/variation/neat/neat_layers.hpp"
#include "cambrian/evolve/variation/neat/neat_settings.hpp"
#include "cambrian/evolve/variation/variation.hpp"

// Genomes of single neurons for the tests of NEAT.
namespace cambrian::evolve::testing {

/// A network whose only layer is a graph of neurons.
inline Blueprint neuron_blueprint(const Neurons& layer) {
    Blueprint blueprint;
    blueprint.input_features = layer.in;
    blueprint.output_features = layer.out;
    blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
    blueprint.head = layer;
    return Network(blueprint).blueprint();
}

/// Every input connected to every output.
inline Blueprint neat_blueprint(std::int64_t in, std::int64_t out) {
    return neuron_blueprint({.in = in, .out = out, .neurons = {}, .connections = {}});
}

/// The kind of a section "genome" of type neat.
inline std::shared_ptr<const GenomeKind> neat_kind(std::string_view settings = "{}",
                                                   GenomeContext context = {}) {
    nlohmann::json json = nlohmann::json::parse(settings);
    json["type"] = "neat";
    return standard_genomes().make(json, context);
}

/// A founder with weights 0.5, 1.5, ..: each tells its place.
inline Genome neat_founder(const Blueprint& blueprint) {
    const auto kind = neat_kind("{}", {.mutation = {}, .splice = {}, .limits = {.time = true}});
    Genome genome = kind->adopt(founder_genome(blueprint, 0));
    genome.weights.resize(static_cast<std::size_t>(Network(blueprint).weight_count()));
    for (std::size_t i = 0; i < genome.weights.size(); ++i) {
        genome.weights[i] = 0.5F + static_cast<float>(i);
    }
    return genome;
}

inline const Neurons& head_of(const Genome& genome) {
    return neurons_of(genome, genome.blueprint.grid.slots());
}
inline const NeuronGenes& head_genes(const Genome& genome) {
    return genome.neuron_genes.front();
}

/// What a mutant of a genome is with its weights.
inline Genome applied(const Genome& genome, Mutant mutant) {
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(genome));
    static_cast<void>(plan.become(std::move(mutant)));
    Genome child = plan.structure->genome();
    write_weights(plan, genome.weights, {}, child.weights);
    return child;
}

}  // namespace cambrian::evolve::testing

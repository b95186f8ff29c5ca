#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/evolve/variation/hyperneat/cppn.hpp"
#include "cambrian/tests/evolve/support/neat_support.hpp"

// CPPNs by hand, and substrates, for the tests of HyperNEAT.
namespace cambrian::evolve::testing {

/// A connection of a CPPN with its weight.
struct CppnConnection {
    std::int64_t source = 0;
    std::int64_t target = 0;
    float weight = 0.0F;
};

/// A CPPN of the neurons given, the outputs first, with biases of 0 unless given.
inline Individual cppn(std::int64_t in, std::int64_t out, std::vector<Neurons::Neuron> neurons,
                       const std::vector<CppnConnection>& connections,
                       std::vector<float> biases = {}) {
    Neurons layer{.in = in, .out = out, .neurons = std::move(neurons), .connections = {}};
    std::vector<float> weights;
    for (const auto& [source, target, weight] : connections) {
        layer.connections.push_back({.source = source, .target = target});
        weights.push_back(weight);
    }
    biases.resize(layer.neurons.size());
    weights.insert(weights.end(), biases.begin(), biases.end());
    Genome genome = founder_genome(neuron_blueprint(layer), 0);
    genome.weights = std::move(weights);
    return Individual(std::move(genome));
}

/// weight = product of the first coordinates of both nodes, in a plane.
inline Individual product_cppn() {
    return cppn(
        4, 1,
        {{.activation = NeuronActivation::identity, .aggregation = NeuronAggregation::product}},
        {{0, 0, 1.0F}, {2, 0, 1.0F}});
}

/// A layer with its nodes at given places.
inline SubstrateLayer at(std::vector<std::vector<double>> nodes) {
    return {.nodes = std::move(nodes)};
}

/// The kind of a section "genome" of type hyperneat.
inline std::shared_ptr<const GenomeKind> hyperneat_kind(std::string_view settings = "{}",
                                                        std::int64_t observations = 2,
                                                        std::int64_t outputs = 1) {
    nlohmann::json json = nlohmann::json::parse(settings);
    json["type"] = "hyperneat";
    GenomeContext context;
    context.observations = observations;
    context.outputs = outputs;
    return standard_genomes().make(json, context);
}

}  // namespace cambrian::evolve::testing

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/genome/genome.hpp"

// Networks of single neurons of random structure, for tests and benchmarks.
namespace cambrian::test {

struct NeuronDraw {
    std::int64_t in = 2;
    std::int64_t out = 1;
    std::int64_t min_hidden = 0;
    std::int64_t max_hidden = 8;
    std::int64_t max_inputs = 4;  ///< Of a neuron.
    bool every_function = false;  ///< Any activation and aggregation, else tanh of sums.
    float delayed = 0.0F;         ///< Share of connections that reach back 1 to 3 steps.
    bool continuous = false;
    float plastic = 0.0F;   ///< Share of connections whose weights change.
    bool all_live = false;  ///< Whether an output depends on every neuron.
};

inline Neurons random_neurons(const NeuronDraw& draw, RandomStream& rng) {
    const auto number = [&rng](std::int64_t least, std::int64_t most) {
        return least + rng.index(static_cast<std::uint32_t>(most - least + 1));
    };
    Neurons layer;
    layer.in = draw.in;
    layer.out = draw.out;
    layer.continuous = draw.continuous;
    layer.plastic = draw.plastic > 0.0F;
    if (layer.plastic) layer.largest_weight = 2.5;
    const std::int64_t count = draw.out + number(draw.min_hidden, draw.max_hidden);
    for (std::int64_t target = 0; target < count; ++target) {
        Neurons::Neuron neuron{.activation = NeuronActivation::tanh};
        if (draw.every_function) {
            neuron.activation =
                static_cast<NeuronActivation>(number(0, std::ssize(neuron_activation_names) - 1));
            neuron.aggregation =
                static_cast<NeuronAggregation>(number(0, std::ssize(neuron_aggregation_names) - 1));
        }
        layer.neurons.push_back(neuron);
        for (std::int64_t i = number(draw.every_function ? 0 : 1, draw.max_inputs); i > 0; --i) {
            const std::int64_t delay = rng.chance(draw.delayed) ? number(1, 3) : 0;
            // Without a delay from later neurons to earlier ones; inputs as often as neurons.
            const std::int64_t first = delay > 0 ? 0 : target + 1;
            const bool from_neuron = first < count && rng.chance(0.6F);
            const Neurons::Connection connection{
                .source = from_neuron ? draw.in + number(first, count - 1)
                                      : number(Neurons::constant, draw.in - 1),
                .target = target,
                .delay = delay,
                .enabled = rng.chance(0.9F),
                .plastic = layer.plastic && rng.chance(draw.plastic)};
            const auto same_ends = [&](const Neurons::Connection& other) {
                return other.source == connection.source && other.target == target &&
                       other.delay == delay;
            };
            if (std::ranges::none_of(layer.connections, same_ends))
                layer.connections.push_back(connection);
        }
    }
    // Where no neuron reads one, an earlier one does now.
    for (std::int64_t i = draw.out; draw.all_live && i < count; ++i) {
        const auto reads = [&](const Neurons::Connection& each) {
            return each.source == draw.in + i && each.delay == 0;
        };
        const auto reads_now = [&](const auto& each) { return each.enabled && reads(each); };
        if (std::ranges::any_of(layer.connections, reads_now)) continue;
        std::erase_if(layer.connections, reads);
        layer.connections.push_back({.source = draw.in + i, .target = number(0, i - 1)});
    }
    return layer;
}

/// A genome whose only layer is one of those.
inline evolve::Genome random_neuron_genome(const NeuronDraw& draw, std::uint64_t id) {
    RandomStream rng(random_key(23, "test.neurons"), id);
    const Neurons layer = random_neurons(draw, rng);
    Blueprint blueprint;
    blueprint.input_features = draw.in;
    blueprint.output_features = draw.out;
    blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
    blueprint.head = layer;
    evolve::Genome genome = evolve::sample_genome(blueprint, rng, id);
    for (float& weight : genome.weights) weight = rng.normal();
    const std::size_t first = layer.connections.size() + layer.neurons.size();
    for (std::size_t i = 0; layer.continuous && i < layer.neurons.size(); ++i)
        genome.weights[first + i] = 0.5F + std::abs(genome.weights[first + i]);
    return genome;
}

}  // namespace cambrian::test

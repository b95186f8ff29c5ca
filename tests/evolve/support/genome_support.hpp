#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/variation/mutation.hpp"

// Small genomes for the tests of variation, and a way to run them.
namespace cambrian::evolve::testing {

/// A row of slots: nothing, or a layer type that fits the width it meets.
struct Place {
    std::string_view type;  // empty: an empty slot
    std::int64_t width = 0;
    Activation activation = Activation::identity;
};

inline void activate_all(AnyLayer& layer, Activation activation) {
    for (Activation* gene : layer.activations()) {
        *gene = activation;
    }
}

/// A 1 × 1 × 1 grid with one slot for each place and a dense head.
inline Blueprint blueprint(std::int64_t inputs, const std::vector<Place>& places,
                           std::int64_t outputs) {
    Blueprint result;
    result.input_features = inputs;
    result.output_features = outputs;
    result.grid.layers_per_cell = static_cast<int>(places.size());
    std::int64_t width = inputs;
    for (const Place& place : places) {
        if (place.type.empty()) {
            result.slots.emplace_back();
            continue;
        }
        AnyLayer layer = fitted_layer(place.type, {width}, {place.width}).value();
        activate_all(layer, place.activation);
        result.slots.emplace_back(Slot{.layer = layer});
        width = place.width;
    }
    result.head = fitted_layer("dense", {width}, {outputs}).value();
    return result;
}

inline Genome founder(const Blueprint& description, std::uint64_t id = 0, std::uint64_t seed = 7) {
    RandomStream rng(random_key(seed, "test.founder"), id);
    return sample_genome(description, rng, id);
}

/// A hidden layer of every kind, empty slots between, and room to grow.
inline Blueprint mixed_blueprint() {
    return blueprint(3,
                     {{"dense", 6, Activation::tanh},
                      {},
                      {"rms_norm", 6},
                      {},
                      {"residual", 6, Activation::silu},
                      {}},
                     2);
}

inline constexpr std::int64_t run_rows = 5;
inline constexpr std::int64_t run_steps = 3;

/// Outputs of a genome for run_rows sequences of run_steps fixed inputs, on the reference backend.
inline Tensor run(Backend& backend, const Genome& genome, std::int64_t steps = run_steps) {
    const Network network(genome.blueprint);
    const Shape shape{run_rows, steps, genome.blueprint.input_features};
    Graph graph;
    const Var x = graph.input("x", ValueType::real, shape);
    const auto activations = std::max<std::int64_t>(network.activation_count(), 1);
    const auto slots = std::max<std::int64_t>(network.slot_count(), 1);
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, {network.weight_count()}),
        .activations = graph.input("activations", ValueType::integer, {activations}),
        .enabled = graph.input("enabled", ValueType::boolean, {slots})};
    graph.output(network.sequence(x, operands));
    Tensor inputs(ValueType::real, shape);
    RandomStream rng(random_key(3, "test.inputs"), 0);
    for (double& element : inputs.elements) {
        element = static_cast<double>(rng.normal());
    }
    const auto codes = network.activation_codes();
    const auto flags = network.enabled_flags();
    Tensor code(ValueType::integer, {activations});
    Tensor flag(ValueType::boolean, {slots});
    std::copy(codes.begin(), codes.end(), code.elements.begin());
    std::copy(flags.begin(), flags.end(), flag.elements.begin());
    const Tensor weights(ValueType::real, {network.weight_count()},
                         {genome.weights.begin(), genome.weights.end()});
    return evaluate(backend, graph, 1, std::vector<Tensor>{inputs, weights, code, flag}).at(0);
}

/// What an operator makes of a whole genome.
inline std::optional<Genome> mutated(Mutation operation, RandomStream& rng,
                                     const MutationSettings& settings, const GenomeLimits& limits,
                                     const Genome& genome, std::uint64_t birth) {
    std::optional<Mutant> mutant = operation(rng, settings, limits, genome, birth);
    if (!mutant) {
        return std::nullopt;
    }
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(genome));
    static_cast<void>(plan.become(*std::move(mutant)));
    Genome child = plan.structure->genome();
    write_weights(plan, genome.weights, {}, child.weights);
    return child;
}

inline bool all_finite(const Tensor& tensor) {
    return std::all_of(tensor.elements.begin(), tensor.elements.end(),
                       [](double value) { return std::isfinite(value); });
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
    double largest = a.shape == b.shape ? 0.0 : HUGE_VAL;
    for (std::size_t i = 0; i < std::min(a.elements.size(), b.elements.size()); ++i) {
        largest = std::max(largest, std::abs(a.elements[i] - b.elements[i]));
    }
    return largest;
}

}  // namespace cambrian::evolve::testing

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/genome/genome.hpp"

// A network as a graph and as bytecode, over the same sequences.
namespace cambrian::evolve::testing {

inline constexpr std::int64_t time_steps = 3;

inline Tensor tensor_of(ValueType type, const auto& values) {
    return {type, Shape{static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()}};
}

/// Rows of a case: for one lane, four and eight, whole passes of few and of many rows, and rests.
inline std::int64_t rows_of_all_sizes(std::uint64_t number) {
    return static_cast<std::int64_t>(number % 10 == 9 ? 120 + number % 160 : 1 + number % 14);
}

inline Tensor some_inputs(std::int64_t rows, std::int64_t features) {
    Tensor tensor(ValueType::real, Shape{rows, time_steps, features});
    RandomStream rng(random_key(3, "test.inputs"), 0);
    for (double& element : tensor.elements) element = static_cast<double>(rng.normal());
    return tensor;
}

/// Outputs of a form for sequences of rows, from zero state.
inline Tensor sequence_of(Backend& backend, const ForwardModel& form, const Tensor& weights,
                          const Tensor& activations, const Tensor& enabled, const Tensor& x) {
    Graph graph;
    const Var rows = graph.input("x", x.type, x.shape);
    const NetworkOperands operands{
        .weights = graph.input("weights", weights.type, weights.shape),
        .activations = graph.input("activations", activations.type, activations.shape),
        .enabled = graph.input("enabled", enabled.type, enabled.shape)};
    graph.output(form.sequence(rows, operands));
    return evaluate(backend, graph, 1, std::vector<Tensor>{x, weights, activations, enabled}).at(0);
}

inline Tensor graph_outputs(Backend& backend, const Genome& genome, const Tensor& x) {
    const Network network(genome.blueprint);
    std::vector<std::int32_t> flags = network.enabled_flags();
    std::vector<std::int32_t> codes = network.activation_codes();
    if (flags.empty()) flags.push_back(1);
    if (codes.empty()) codes.push_back(0);
    return sequence_of(backend, network, tensor_of(ValueType::real, genome.weights),
                       tensor_of(ValueType::integer, codes), tensor_of(ValueType::boolean, flags),
                       x);
}

inline Tensor bytecode_outputs(Backend& backend, const Genome& genome, const Tensor& x,
                               const BytecodeCapacity& at_least = {}) {
    std::vector<std::int32_t> words;
    std::vector<BytecodePacking> packings;
    const BytecodeCapacity needed = BytecodeWriter().write(genome.blueprint, words, packings);
    const BytecodeCapacity capacity = needed.joined(at_least).rounded();
    words.resize(static_cast<std::size_t>(capacity.words));
    // What is after the weights and after the bytecode's own words must not matter.
    std::vector<float> packed(static_cast<std::size_t>(capacity.weights), std::nanf(""));
    pack(packings, genome.weights, packed);
    const BytecodeNetwork form(genome.blueprint.input_features, genome.blueprint.output_features,
                               capacity);
    return sequence_of(backend, form, tensor_of(ValueType::real, packed),
                       tensor_of(ValueType::integer, words),
                       tensor_of(ValueType::boolean, std::vector<int>{1}), x);
}

/// Elements whose bits differ; any NaN equals any NaN.
inline std::size_t different(const Tensor& a, const Tensor& b) {
    if (a.shape != b.shape) return SIZE_MAX;
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.elements.size(); ++i) {
        const double x = a.elements[i];
        const double y = b.elements[i];
        if (std::isnan(x) && std::isnan(y)) continue;
        if (std::bit_cast<std::uint64_t>(x) != std::bit_cast<std::uint64_t>(y)) ++count;
    }
    return count;
}

}  // namespace cambrian::evolve::testing

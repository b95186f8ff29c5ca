#include <algorithm>
#include <nlohmann/json.hpp>

#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"
#include "cambrian/tests/conformance/cases/op_cases.hpp"

namespace cambrian::test {
namespace {

Shape with_last(const Shape& shape, std::int64_t extent) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents.back() = extent;
    return Shape(std::span<const std::int64_t>(extents));
}

/// A bytecode, and which of its packed weights fill up records of neurons.
struct Interpreted {
    explicit Interpreted(const Network& network) {
        std::vector<BytecodePacking> packings;
        bytecode.capacity = BytecodeWriter().write(network.blueprint(), bytecode.words, packings);
        fills.resize(static_cast<std::size_t>(bytecode.capacity.weights));
        for (const BytecodePacking& packing : packings)
            for (std::size_t i = 0; i < packing.gather.size(); ++i)
                fills[static_cast<std::size_t>(packing.to) + i] = packing.gather[i] < 0 ? 1 : 0;
    }
    Bytecode bytecode;
    std::vector<std::int32_t> fills;
};

Interpreted bytecode_of(const nlohmann::json& network, std::int64_t inputs, std::int64_t outputs) {
    return Interpreted(Network(blueprint_from_json(network, inputs, outputs)));
}
Interpreted bytecode_of(const char* network, std::int64_t inputs, std::int64_t outputs) {
    return bytecode_of(nlohmann::json::parse(network), inputs, outputs);
}
Interpreted bytecode_of(const Neurons& layer) {
    nlohmann::json network;
    network["layers"].push_back(nlohmann::json(to_json(AnyLayer(layer))));
    return bytecode_of(network, layer.in, layer.out);
}

/// A network of three inputs and two outputs with every instruction a bytecode can have.
Interpreted bytecode_of_everything() {
    return bytecode_of(R"({"grid": {"layers_per_cell": 6}, "layers": [
        {"type": "dense", "out": 5, "bias": false, "activation": "silu"},
        {"type": "residual", "layers": [{"type": "layer_norm"}, {"type": "dense", "out": 5}]},
        {"type": "rnn", "hidden": 7},
        {"type": "rms_norm"}, {"type": "softmax"},
        {"type": "dense", "out": 3, "activation": "gelu"},
        {"type": "dense", "activation": "tanh"}], "links": [
        {"source": "input", "target": 2, "kind": "forward"},
        {"source": 2, "target": 4, "kind": "forward"},
        {"source": 2, "target": 1, "kind": "backward"}]})",
                       3, 2);
}

/// Outputs of neurons with every activation and aggregation, whose inputs are those of the network
/// and the past: a long chain would make much of a rounding.
Interpreted bytecode_of_neurons(bool continuous, bool plastic) {
    Neurons layer;
    layer.in = 3;
    layer.out = 2;
    layer.continuous = continuous;
    layer.plastic = plastic;
    const auto count = layer.out + std::ssize(neuron_activation_names);
    const auto aggregations = std::ssize(neuron_aggregation_names);
    for (std::int64_t i = 0; i < count; ++i) {
        layer.neurons.push_back({});
        if (i < layer.out) continue;
        layer.neurons.back() = {static_cast<NeuronActivation>(i - layer.out),
                                static_cast<NeuronAggregation>(i % aggregations)};
        layer.connections.push_back({.source = i % layer.in, .target = i, .plastic = plastic});
        layer.connections.push_back({.source = layer.in + i % 4, .target = i, .delay = 1 + i % 2});
        if (i % 2 == 0) layer.connections.push_back({.source = (i + 1) % layer.in, .target = i});
        layer.connections.push_back(
            {.source = Neurons::constant, .target = i, .plastic = plastic && i % 3 == 0});
        layer.connections.push_back({.source = layer.in + i, .target = i % layer.out});
    }
    layer.neurons[0].activation = NeuronActivation::identity;
    return bytecode_of(layer);
}

/// What kernel runs neurons that others could run, too.
struct InterpreterKernel {
    NeuronSet neurons = NeuronSet::none;
    std::int64_t memory = 0;
};
/// That of bytecode_of_neurons: a device runs both by one pipeline.
InterpreterKernel with_every_function(bool continuous, bool plastic) {
    const BytecodeCapacity capacity = bytecode_of_neurons(continuous, plastic).bytecode.capacity;
    return {capacity.neurons, capacity.memory};
}
/// More memory than workgroups have in common.
constexpr InterpreterKernel with_memory_apart{NeuronSet::sums, 320};

/// Neurons that join each other, of none to three inputs, two by two where their records have room
/// for two, and outputs of many; every third is plastic or none is.
Interpreted bytecode_of_equal_neurons(bool continuous, bool plastic, InterpreterKernel kernel) {
    Neurons layer;
    layer.in = 3;
    layer.out = 2;
    layer.continuous = continuous;
    layer.plastic = plastic;
    constexpr std::int64_t count = 14;
    layer.neurons.assign(count, {.activation = NeuronActivation::tanh});
    for (std::int64_t i = layer.out; i < count; ++i) {
        for (std::int64_t source = 0; source < i % (layer.in + 1); ++source)
            layer.connections.push_back(
                {.source = source, .target = i, .plastic = plastic && i % 3 == 0});
        layer.connections.push_back({.source = layer.in + i, .target = i % layer.out});
    }
    Interpreted result = bytecode_of(layer);
    BytecodeCapacity& own = result.bytecode.capacity;
    own.neurons = std::max(own.neurons, kernel.neurons);
    own.memory = std::max(own.memory, kernel.memory);
    return result;
}

/// Sums of as many inputs as a neuron has predecessors, of every activation that sums may have,
/// after a layer: their records have one eight to four.
Interpreted bytecode_of_wide_sums() {
    Neurons layer;
    layer.in = 3;
    layer.out = 2;
    constexpr std::int64_t count = 28;
    for (std::int64_t i = 0; i < count; ++i) {
        layer.neurons.push_back({.activation = static_cast<NeuronActivation>(i % 7)});
        for (std::int64_t source = -1; source < layer.in; ++source)
            layer.connections.push_back({.source = source, .target = i});
        for (std::int64_t later = i + 1; later < count; ++later)
            layer.connections.push_back({.source = layer.in + later, .target = i});
    }
    nlohmann::json network;
    network["layers"].push_back({{"type", "softmax"}});
    network["layers"].push_back(nlohmann::json(to_json(AnyLayer(layer))));
    return bytecode_of(network, layer.in, layer.out);
}

/// Medians of four inputs to 39, among them zeros of both signs, of neurons before them.
Interpreted bytecode_of_medians(InterpreterKernel kernel) {
    Neurons layer;
    layer.in = 3;
    layer.out = 2;
    constexpr std::int64_t count = 36;
    for (std::int64_t i = 0; i < count; ++i) {
        layer.neurons.push_back({i % 3 == 0 ? NeuronActivation::tanh : NeuronActivation::relu,
                                 NeuronAggregation::median});
        for (std::int64_t source = -1; source < layer.in; ++source)
            layer.connections.push_back({.source = source, .target = i});
        for (std::int64_t later = i + 1; later < count; ++later)
            layer.connections.push_back({.source = layer.in + later, .target = i});
    }
    Interpreted result = bytecode_of(layer);
    BytecodeCapacity& own = result.bytecode.capacity;
    own.memory = std::max(own.memory, kernel.memory);
    return result;
}

struct InterpretedRows {
    Interpreted network;
    Shape rows;
    std::int64_t outputs;
};

std::vector<InterpretedRows> rows_of_networks() {
    const char* const perceptron =
        R"({"layers": [{"type": "dense", "out": 17, "activation": "tanh"}, {"type": "dense"}]})";
    const char* const deep =
        R"({"layers": [{"type": "dense", "out": 17, "activation": "tanh"}, {"type": "dense", "out": 15, "activation": "relu"},
                       {"type": "dense", "out": 8}, {"type": "dense"}]})";
    const char* const norm = R"({"layers": [{"type": "layer_norm"}, {"type": "dense"}]})";
    const auto equal = [](bool continuous, bool plastic) {
        return bytecode_of_equal_neurons(continuous, plastic,
                                         with_every_function(continuous, plastic));
    };
    return {{bytecode_of(perceptron, 4, 2), {4}, 2},
            {bytecode_of(perceptron, 4, 2), {65, 4}, 2},
            {bytecode_of(perceptron, 1, 1), {2, 3, 1}, 1},
            {bytecode_of(deep, 4, 2), {7, 4}, 2},
            {bytecode_of(norm, 65, 3), {3, 65}, 3},
            {bytecode_of_equal_neurons(false, false, {}), {67, 3}, 2},
            {bytecode_of_equal_neurons(false, false, with_memory_apart), {5, 3}, 2},
            {equal(false, false), {67, 3}, 2},
            {equal(true, false), {5, 3}, 2},
            {equal(false, true), {67, 3}, 2},
            {equal(true, true), {5, 3}, 2},
            {bytecode_of_wide_sums(), {5, 3}, 2},
            {bytecode_of_medians(with_every_function(false, false)), {5, 3}, 2},
            {bytecode_of_neurons(false, false), {67, 3}, 2},
            {bytecode_of_neurons(true, false), {5, 3}, 2},
            {bytecode_of_neurons(false, true), {67, 3}, 2},
            {bytecode_of_neurons(true, true), {5, 3}, 2},
            {bytecode_of_everything(), {1, 3}, 2},
            {bytecode_of_everything(), {17, 3}, 2}};
}

}  // namespace

std::vector<OpCase> interpret_cases() {
    std::vector<OpCase> cases;
    for (const auto& [network, rows, outputs] : rows_of_networks()) {
        const Bytecode& bytecode = network.bytecode;
        // A network without state still has an operand for one word of it.
        const Shape state = with_last(rows, std::max<std::int64_t>(1, bytecode.capacity.state));
        cases.push_back({Op::interpret,
                         {{Range::given, {bytecode.capacity.words}, 0, bytecode.words},
                          {Range::packed, {bytecode.capacity.weights}, 0, network.fills},
                          {Range::wide, rows},
                          {Range::wide, state}},
                         InterpretAttribute{.outputs = outputs,
                                            .memory = bytecode.capacity.memory,
                                            .weights = bytecode.capacity.weights,
                                            .neurons = bytecode.capacity.neurons},
                         {{with_last(rows, outputs)}, {state}}});
    }
    return cases;
}

}  // namespace cambrian::test

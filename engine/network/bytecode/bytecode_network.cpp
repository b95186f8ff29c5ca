#include "cambrian/engine/network/bytecode/bytecode.hpp"

#include <array>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

BytecodeNetwork::BytecodeNetwork(std::int64_t input_features, std::int64_t output_features,
                                 const BytecodeCapacity& capacity)
    : input_features_(input_features), output_features_(output_features), capacity_(capacity) {
    CAMBRIAN_ASSERT(capacity.words > 0 && capacity.words % 4 == 0 && capacity.weights > 0 &&
                    capacity.weights % 4 == 0 && capacity.memory % 4 == 0 &&
                    capacity.memory >= input_features);
    if (capacity.state > 0) state_.push_back({.name = "states", .shape = {capacity.state}});
}

StepResult BytecodeNetwork::interpret(Var rows, Var state, const NetworkOperands& operands) const {
    const std::array values{operands.activations, operands.weights, rows, state};
    Graph& graph = *rows.graph;
    const Var output = graph.add(Op::interpret, values,
                                 InterpretAttribute{.outputs = output_features_,
                                                    .memory = capacity_.memory,
                                                    .weights = capacity_.weights,
                                                    .neurons = capacity_.neurons,
                                                    .activations = capacity_.activations});
    return {.output = output,
            .state = {{&graph, ValueId{static_cast<std::uint32_t>(output.id) + 1}}}};
}

Var BytecodeNetwork::apply(Var x, const NetworkOperands& operands) const {
    CAMBRIAN_ASSERT(!stateful());
    check_network_input(x, input_features_, 0);
    // Bytecodes without state still have an operand for it: one word of each row.
    std::vector<std::int64_t> extents(x.shape().extents().begin(), x.shape().extents().end());
    extents.back() = 1;
    return interpret(x, broadcast(constant(*x.graph, 0.0), Shape(extents)), operands).output;
}

StepResult BytecodeNetwork::step(Var x, std::span<const Var> state,
                                 const NetworkOperands& operands) const {
    check_network_input(x, input_features_, 2);
    CAMBRIAN_ASSERT(state.size() == state_.size());
    if (!stateful()) return {.output = apply(x, operands), .state = {}};
    return interpret(x, state[0], operands);
}

}  // namespace cambrian

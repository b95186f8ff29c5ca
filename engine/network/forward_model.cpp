#include "cambrian/engine/network/forward_model.hpp"

#include <algorithm>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/support/step_scan.hpp"

namespace cambrian {

Tensor code_operand(ValueType type, std::span<const std::int32_t> codes) {
    Tensor operand(type, Shape{std::max<std::int64_t>(1, std::ssize(codes))});
    std::ranges::copy(codes, operand.elements.begin());
    return operand;
}

void check_network_input(Var x, std::int64_t features, int rank) {
    const bool fits = rank == 0 ? x.rank() >= 1 : x.rank() == rank;
    if (fits && x.shape()[-1] == features) return;
    throw ShapeError("the network does not take " + x.shape().text() + " (it takes [.., " +
                     std::to_string(features) + "]" +
                     (rank == 0 ? "" : " with " + std::to_string(rank) + " axes") +
                     ") reshape the input");
}

Var ForwardModel::sequence(Var x, const NetworkOperands& operands) const {
    check_network_input(x, input_features(), 3);
    if (!stateful()) return apply(x, operands);
    StepScan steps(x, state(), operands.training);
    const Var own_weights = steps.invariant(operands.weights, "weights");
    const Var own_activations = steps.invariant(operands.activations, "activations");
    NetworkOperands inner =
        operands.inside(own_weights, own_activations, steps.invariant(operands.enabled, "enabled"));
    inner.training = steps.training();
    const StepResult result = step(steps.x(), steps.state(), inner);
    return steps.outputs(
        result.state, result.output,
        "a batch_norm cannot be trained in a network that is run step by step (a backward link or "
        "mode mesh makes it so, and its statistics are of all steps together) remove the link, set "
        "network.mode to chain, or remove the batch_norm");
}

std::vector<Var> ForwardModel::initial_state(Graph& graph, std::int64_t batch) const {
    return zero_state(graph, state(), batch);
}

}  // namespace cambrian

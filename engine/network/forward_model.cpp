#include "cambrian/engine/network/forward_model.hpp"

#include <array>
#include <optional>
#include <string>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

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
    const std::int64_t batch = x.shape()[0];
    const std::int64_t time = x.shape()[1];

    const std::vector<Var> carries = initial_state(*x.graph, batch);
    Graph body;
    std::vector<Var> state_inputs;
    for (std::size_t i = 0; i < carries.size(); ++i)
        state_inputs.push_back(body.input(state()[i].name, ValueType::real, carries[i].shape()));
    const Var row = body.input("x", ValueType::real, {batch, input_features()});
    std::vector<Var> sequences{permute(x, {1, 0, 2})};
    std::optional<Var> number;  // Of the step.
    if (operands.training != nullptr) {
        number = body.input("number", ValueType::integer, Shape{});
        sequences.push_back(iota(*x.graph, time));
    }
    const auto invariant = [&body](std::string_view name, Var outer) {
        return body.input(name, outer.info().type, outer.shape());
    };
    const Var own_weights = invariant("weights", operands.weights);
    const Var own_activations = invariant("activations", operands.activations);
    NetworkOperands inner =
        operands.inside(own_weights, own_activations, invariant("enabled", operands.enabled));
    std::vector<Var> invariants{operands.weights, operands.activations, operands.enabled};
    std::optional<TrainingPass> training;
    if (operands.training != nullptr) {
        invariants.push_back(operands.training->next_key());
        invariants.push_back(operands.training->id());
        const Var key = invariant("key", invariants[3]);
        // Every step has noise of its own, as layers that take sequences at once give it.
        training.emplace(TrainingPass::derived_key(key, *number), invariant("id", invariants[4]));
        inner.training = &*training;
    }
    const StepResult result = step(row, state_inputs, inner);
    if (training && !training->updates().empty())
        throw ShapeError(
            "a batch_norm cannot be trained in a network that is run step by step (a backward link "
            "or mode mesh makes it so, and its statistics are of all steps together) remove the "
            "link, set network.mode to chain, or remove the batch_norm");
    for (const Var value : result.state) body.output(value);
    body.output(result.output);

    const ScanResult scanned =
        scan(std::move(body), carries, sequences, invariants, {.length = time});
    return permute(scanned.stacked[0], {1, 0, 2});
}

std::vector<Var> ForwardModel::initial_state(Graph& graph, std::int64_t batch) const {
    std::vector<Var> result;
    result.reserve(state().size());
    for (const StateSpec& spec : state()) {
        std::vector<std::int64_t> extents{batch};
        extents.insert(extents.end(), spec.shape.extents().begin(), spec.shape.extents().end());
        result.push_back(broadcast(constant(graph, 0.0), Shape(extents)));
    }
    return result;
}

}  // namespace cambrian

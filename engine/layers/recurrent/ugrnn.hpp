#pragma once

#include "cambrian/engine/layers/support/recurrent_layer.hpp"

namespace cambrian {

/// The plain recurrent layer with one gate that keeps the state; its output is its state.
struct Ugrnn : RecurrentLayer<Ugrnn> {
    static constexpr std::string_view name = "ugrnn";
    static constexpr LayerText about{
        .summary =
            "The plain recurrent layer with one gate that keeps the state; its output is its state",
        .formula =
            "(c, g) from x W_ihᵀ + h W_hhᵀ + b; c = tanh(c); g = sigmoid(g)\n"
            "h' = g h + (1 − g) c",
        .source =
            "Collins et al., \"Capacity and Trainability in Recurrent Neural Networks\", 2017"};

    static constexpr auto fields = recurrent_fields();

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {recurrent_weight("weight_ih", 2 * hidden, in),
                recurrent_weight("weight_hh", 2 * hidden, hidden),
                {.name = "bias", .shape = {2 * hidden}, .initial = Initial::zeros}};
    }

    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const {
        const auto& weights = operands.parameters;
        const Var sums = project(as_vectors(x, in, operands.row), weights[0]) +
                         project(state[0], weights[1]) + weights[2];
        const Var candidate = tanh(slice(sums, -1, 0, hidden));
        const Var gate = sigmoid(slice(sums, -1, hidden, hidden));
        const Var h = gate * state[0] + (1.0 - gate) * candidate;
        return {.output = h, .state = {h}};
    }
};

}  // namespace cambrian

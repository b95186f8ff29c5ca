#pragma once

#include "cambrian/engine/layers/support/recurrent_layer.hpp"

namespace cambrian {

/// The plain recurrent layer; its output is its state.
struct Rnn : RecurrentLayer<Rnn> {
    static constexpr std::string_view name = "rnn";
    static constexpr LayerText about{
        .summary = "The plain recurrent layer; its output is its state",
        .formula = "h' = tanh(x W_ihᵀ + h W_hhᵀ + b)",
        .source = "Elman, \"Finding Structure in Time\", 1990"};

    static constexpr auto fields = recurrent_fields();

    static Rnn example() { return {{.in = 3, .hidden = 4}}; }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {recurrent_weight("weight_ih", hidden, in),
                recurrent_weight("weight_hh", hidden, hidden),
                {.name = "bias", .shape = {hidden}, .initial = Initial::zeros}};
    }

    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const {
        const Var sum = project(as_vectors(x, in, operands.row), operands.parameters[0]) +
                        project(state[0], operands.parameters[1]) + operands.parameters[2];
        const Var h = tanh(sum);
        return {.output = h, .state = {h}};
    }
};

}  // namespace cambrian

#pragma once

#include "cambrian/engine/layers/support/recurrent_layer.hpp"

namespace cambrian {

/// A recurrent layer whose candidate multiplies and adds what input and state say, and whose gate
/// reads the input alone; its output is its state. Both activations of the paper are tanh.
struct Delta : RecurrentLayer<Delta> {
    static constexpr std::string_view name = "delta";
    static constexpr LayerText about{
        .summary =
            "A recurrent layer whose candidate multiplies and adds what input and state say, and "
            "whose gate reads the input alone; its output is its state",
        .formula =
            "d = x W_ihᵀ; v = h W_hhᵀ; c = tanh(alpha v d + beta_1 v + beta_2 d + b)\n"
            "r = sigmoid(d + b_r); h' = tanh((1 − r) c + r h)",
        .source =
            "Ororbia et al., \"Learning Simpler Language Models with the Differential State "
            "Framework\", 2017"};

    static constexpr auto fields = recurrent_fields();

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {recurrent_weight("weight_ih", hidden, in),
                recurrent_weight("weight_hh", hidden, hidden),
                {.name = "alpha", .shape = {hidden}, .initial = Initial::ones},
                {.name = "beta_1", .shape = {hidden}, .initial = Initial::ones},
                {.name = "beta_2", .shape = {hidden}, .initial = Initial::ones},
                {.name = "bias", .shape = {hidden}, .initial = Initial::zeros},
                {.name = "gate_bias", .shape = {hidden}, .initial = Initial::zeros}};
    }

    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const {
        const auto& [alpha, beta_1, beta_2] =
            std::tie(operands.parameters[2], operands.parameters[3], operands.parameters[4]);
        const Var from_x = project(as_vectors(x, in, operands.row), operands.parameters[0]);
        const Var from_h = project(state[0], operands.parameters[1]);
        const Var candidate = tanh(alpha * from_h * from_x + beta_1 * from_h + beta_2 * from_x +
                                   operands.parameters[5]);
        const Var gate = sigmoid(from_x + operands.parameters[6]);
        const Var h = tanh((1.0 - gate) * candidate + gate * state[0]);
        return {.output = h, .state = {h}};
    }
};

}  // namespace cambrian

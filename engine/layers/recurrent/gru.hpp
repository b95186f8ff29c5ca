#pragma once

#include "cambrian/engine/layers/support/recurrent_layer.hpp"

namespace cambrian {

/// A recurrent layer that mixes its state with a candidate; its output is its state.
struct Gru : RecurrentLayer<Gru> {
    static constexpr std::string_view name = "gru";
    static constexpr LayerText about{
        .summary =
            "A recurrent layer that mixes its state with a candidate; its output is its state",
        .formula =
            "(r, z, n) from x W_ihᵀ + b_ih and h W_hhᵀ + b_hh\n"
            "r = sigmoid(r_x + r_h); z = sigmoid(z_x + z_h); n = tanh(n_x + r n_h)\n"
            "h' = (1 − z) n + z h",
        .source =
            "Cho et al., \"Learning Phrase Representations using RNN Encoder-Decoder\", 2014"};

    static constexpr auto fields = recurrent_fields();

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {recurrent_weight("weight_ih", 3 * hidden, in),
                recurrent_weight("weight_hh", 3 * hidden, hidden),
                {.name = "bias_ih", .shape = {3 * hidden}, .initial = Initial::zeros},
                {.name = "bias_hh", .shape = {3 * hidden}, .initial = Initial::zeros}};
    }

    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const {
        const auto& weights = operands.parameters;
        const Var from_x = project(as_vectors(x, in, operands.row), weights[0]) + weights[2];
        const Var from_h = project(state[0], weights[1]) + weights[3];
        const auto part = [&](Var sums, std::int64_t block) {
            return slice(sums, -1, block * hidden, hidden);
        };
        const Var r = sigmoid(part(from_x, 0) + part(from_h, 0));
        const Var z = sigmoid(part(from_x, 1) + part(from_h, 1));
        const Var n = tanh(part(from_x, 2) + r * part(from_h, 2));
        const Var h = (1.0 - z) * n + z * state[0];
        return {.output = h, .state = {h}};
    }
};

}  // namespace cambrian

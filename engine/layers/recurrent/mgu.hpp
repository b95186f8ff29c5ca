#pragma once

#include "cambrian/engine/layers/support/recurrent_layer.hpp"

namespace cambrian {

/// A gated recurrent layer with one gate, which forgets and resets; its output is its state.
struct Mgu : RecurrentLayer<Mgu> {
    static constexpr std::string_view name = "mgu";
    static constexpr LayerText about{
        .summary =
            "A gated recurrent layer with one gate, which forgets and resets; its output is its "
            "state",
        .formula =
            "f = sigmoid(x W_fᵀ + h U_fᵀ + b_f); c = tanh(x W_cᵀ + (f h) U_cᵀ + b_c)\n"
            "h' = (1 − f) h + f c; weights hold f, then c",
        .source = "Zhou et al., \"Minimal Gated Unit for Recurrent Neural Networks\", 2016"};

    static constexpr auto fields = recurrent_fields();

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {recurrent_weight("weight_ih", 2 * hidden, in),
                recurrent_weight("weight_hh", 2 * hidden, hidden),
                {.name = "bias", .shape = {2 * hidden}, .initial = Initial::zeros}};
    }

    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const {
        const auto& weights = operands.parameters;
        const Var from_x = project(as_vectors(x, in, operands.row), weights[0]) + weights[2];
        const auto sums = [&](std::int64_t block) {
            return slice(from_x, -1, block * hidden, hidden);
        };
        // The candidate sees the state through the gate, so its product waits for the gate.
        const auto from_state = [&](Var h, std::int64_t block) {
            return project(h, slice(weights[1], 0, block * hidden, hidden));
        };
        const Var forget = sigmoid(sums(0) + from_state(state[0], 0));
        const Var candidate = tanh(sums(1) + from_state(forget * state[0], 1));
        const Var h = (1.0 - forget) * state[0] + forget * candidate;
        return {.output = h, .state = {h}};
    }
};

}  // namespace cambrian

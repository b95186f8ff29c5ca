#pragma once

#include "cambrian/engine/layers/support/recurrent_layer.hpp"

namespace cambrian {

/// A recurrent layer with a cell that gates protect; its output is the hidden state.
struct Lstm : RecurrentLayer<Lstm> {
    static constexpr std::string_view name = "lstm";
    static constexpr LayerText about{
        .summary =
            "A recurrent layer with a cell that gates protect; its output is the hidden state",
        .formula =
            "(i, f, g, o) = x W_ihᵀ + h W_hhᵀ + b\n"
            "c' = sigmoid(f) c + sigmoid(i) tanh(g)\n"
            "h' = sigmoid(o) tanh(c')",
        .source =
            "Hochreiter and Schmidhuber, \"Long Short-Term Memory\", 1997; Gers et al. for the "
            "forget gate, which starts open"};

    static constexpr auto fields = recurrent_fields();

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {recurrent_weight("weight_ih", 4 * hidden, in),
                recurrent_weight("weight_hh", 4 * hidden, hidden),
                {.name = "bias", .shape = {4 * hidden}, .initial = Initial::forget_gate}};
    }

    [[nodiscard]] std::vector<StateSpec> state() const {
        return {{.name = "hidden", .shape = {hidden}}, {.name = "cell", .shape = {hidden}}};
    }

    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const {
        const Var sums = project(as_vectors(x, in, operands.row), operands.parameters[0]) +
                         project(state[0], operands.parameters[1]) + operands.parameters[2];
        const auto gate = [&](std::int64_t block) {
            return slice(sums, -1, block * hidden, hidden);
        };
        const Var cell = sigmoid(gate(1)) * state[1] + sigmoid(gate(0)) * tanh(gate(2));
        const Var h = sigmoid(gate(3)) * tanh(cell);
        return {.output = h, .state = {h, cell}};
    }
};

}  // namespace cambrian

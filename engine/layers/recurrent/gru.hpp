#pragma once

#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// A recurrent layer that mixes its state with a candidate; its output is its state.
struct Gru {
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

    std::int64_t in = 0;
    std::int64_t hidden = 0;

    static constexpr auto fields = FieldTable{
        Field{"in", &Gru::in, "0: all elements of a row"},
        Field{"hidden", &Gru::hidden, "width of the state; 0: told by what follows"},
    };

    static Gru example() { return {.in = 3, .hidden = 2}; }
    static std::optional<Gru> fitted(const Shape& in, const Shape& out) {
        if (out.rank() != 1) return std::nullopt;
        return Gru{.in = in.elements(), .hidden = out.elements()};
    }

    void resolve(const Shape& input) {
        resolve_whole_row(name, "in", in, input);
        require_width(name, "hidden", hidden);
    }
    /// Fills an output width left at 0.
    void infer_output(std::int64_t width) {
        if (hidden == 0) hidden = width;
    }
    [[nodiscard]] Shape output_shape(const Shape& /*input*/) const { return {hidden}; }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {recurrent_weight("weight_ih", 3 * hidden, in),
                recurrent_weight("weight_hh", 3 * hidden, hidden),
                {.name = "bias_ih", .shape = {3 * hidden}, .initial = Initial::zeros},
                {.name = "bias_hh", .shape = {3 * hidden}, .initial = Initial::zeros}};
    }

    [[nodiscard]] std::vector<StateSpec> state() const {
        return {{.name = "hidden", .shape = {hidden}}};
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

    bool operator==(const Gru&) const = default;
};

}  // namespace cambrian

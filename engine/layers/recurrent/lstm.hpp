#pragma once

#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// A recurrent layer with a cell that gates protect; its output is the hidden state.
struct Lstm {
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

    std::int64_t in = 0;
    std::int64_t hidden = 0;

    static constexpr auto fields = FieldTable{
        Field{"in", &Lstm::in, "0: all elements of a row"},
        Field{"hidden", &Lstm::hidden, "width of the state; 0: told by what follows"},
    };

    static Lstm example() { return {.in = 3, .hidden = 2}; }
    static std::optional<Lstm> fitted(const Shape& in, const Shape& out) {
        if (out.rank() != 1) return std::nullopt;
        return Lstm{.in = in.elements(), .hidden = out.elements()};
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

    bool operator==(const Lstm&) const = default;
};

}  // namespace cambrian

#pragma once

#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// The plain recurrent layer; its output is its state.
struct Rnn {
    static constexpr std::string_view name = "rnn";
    static constexpr LayerText about{
        .summary = "The plain recurrent layer; its output is its state",
        .formula = "h' = tanh(x W_ihᵀ + h W_hhᵀ + b)",
        .source = "Elman, \"Finding Structure in Time\", 1990"};

    std::int64_t in = 0;
    std::int64_t hidden = 0;

    static constexpr auto fields = FieldTable{
        Field{"in", &Rnn::in, "0: all elements of a row"},
        Field{"hidden", &Rnn::hidden, "width of the state; 0: told by what follows"},
    };

    static Rnn example() { return {.in = 3, .hidden = 4}; }
    static std::optional<Rnn> fitted(const Shape& in, const Shape& out) {
        if (out.rank() != 1) return std::nullopt;
        return Rnn{.in = in.elements(), .hidden = out.elements()};
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
        return {recurrent_weight("weight_ih", hidden, in),
                recurrent_weight("weight_hh", hidden, hidden),
                {.name = "bias", .shape = {hidden}, .initial = Initial::zeros}};
    }

    [[nodiscard]] std::vector<StateSpec> state() const {
        return {{.name = "hidden", .shape = {hidden}}};
    }

    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const {
        const Var sum = project(as_vectors(x, in, operands.row), operands.parameters[0]) +
                        project(state[0], operands.parameters[1]) + operands.parameters[2];
        const Var h = tanh(sum);
        return {.output = h, .state = {h}};
    }

    bool operator==(const Rnn&) const = default;
};

}  // namespace cambrian

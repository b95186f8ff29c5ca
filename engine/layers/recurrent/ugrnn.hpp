#pragma once

#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// The plain recurrent layer with one gate that keeps the state; its output is its state.
struct Ugrnn {
    static constexpr std::string_view name = "ugrnn";
    static constexpr LayerText about{
        .summary =
            "The plain recurrent layer with one gate that keeps the state; its output is its state",
        .formula =
            "(c, g) from x W_ihᵀ + h W_hhᵀ + b; c = tanh(c); g = sigmoid(g)\n"
            "h' = g h + (1 − g) c",
        .source =
            "Collins et al., \"Capacity and Trainability in Recurrent Neural Networks\", 2017"};

    std::int64_t in = 0;
    std::int64_t hidden = 0;

    static constexpr auto fields = FieldTable{
        Field{"in", &Ugrnn::in, "0: all elements of a row"},
        Field{"hidden", &Ugrnn::hidden, "width of the state; 0: told by what follows"},
    };

    static Ugrnn example() { return {.in = 3, .hidden = 2}; }
    static std::optional<Ugrnn> fitted(const Shape& in, const Shape& out) {
        if (out.rank() != 1) return std::nullopt;
        return Ugrnn{.in = in.elements(), .hidden = out.elements()};
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
        return {recurrent_weight("weight_ih", 2 * hidden, in),
                recurrent_weight("weight_hh", 2 * hidden, hidden),
                {.name = "bias", .shape = {2 * hidden}, .initial = Initial::zeros}};
    }

    [[nodiscard]] std::vector<StateSpec> state() const {
        return {{.name = "hidden", .shape = {hidden}}};
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

    bool operator==(const Ugrnn&) const = default;
};

}  // namespace cambrian

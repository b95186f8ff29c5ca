#pragma once

#include <string>

#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// Every output is a weighted sum of all inputs, through an activation.
struct Dense {
    static constexpr std::string_view name = "dense";
    static constexpr LayerText about{
        .summary = "Every output is a weighted sum of all inputs, through an activation",
        .formula = "y = activation(x Wᵀ + b)",
        .source = "Rosenblatt, \"The Perceptron\", 1958"};

    std::int64_t in = 0;
    std::int64_t out = 0;
    bool bias = true;
    Activation activation = Activation::identity;
    std::string tied{};  ///< Empty: it has a weight of its own.

    static constexpr auto fields = FieldTable{
        Field{"in", &Dense::in, "0: all elements of a row"},
        Field{"out", &Dense::out, "0: told by what follows, for a head or the end of a residual"},
        Field{"bias", &Dense::bias},
        Field{"activation", &Dense::activation},
        Field{
            "tied", &Dense::tied,
            "Its weight is the table of an embedding (\"slot.0.table\") or the weight of another "
            "dense layer (\"slot.2.weight\"): one tensor with the gradients of both. For the head, "
            "or a layer that is in no container."}
            .later(),
    };

    static Dense example() { return {.in = 3, .out = 5, .activation = Activation::tanh}; }
    static std::optional<Dense> fitted(const Shape& in, const Shape& out) {
        if (out.rank() != 1) return std::nullopt;
        return Dense{.in = in.elements(), .out = out.elements()};
    }

    void resolve(const Shape& input) {
        resolve_width(name, "in", in, input);
        require_width(name, "out", out);
    }
    /// Fills an output width left at 0.
    void infer_output(std::int64_t width) {
        if (out == 0) out = width;
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const {
        return with_width(input, in, out);
    }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        std::vector<ParameterSpec> result;
        result.reserve(2);
        if (tied.empty())
            result.push_back({.name = "weight",
                              .shape = {out, in},
                              .initial = Initial::weight,
                              .fan_in = in,
                              .activation = activation});
        if (bias) result.push_back({.name = "bias", .shape = {out}, .initial = Initial::zeros});
        return result;
    }

    /// A tied weight comes after the layer's own parameters.
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const {
        const std::size_t weight = tied.empty() || !bias ? 0 : 1;
        Var y = project(as_vectors(x, in, operands.row), operands.parameters[weight]);
        if (bias) y = y + operands.parameters[1 - weight];
        return operands.activated(y);
    }

    bool operator==(const Dense&) const = default;
};

}  // namespace cambrian

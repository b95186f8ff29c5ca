#pragma once

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// A hidden layer whose units are gated by others.
struct Swiglu {
    static constexpr std::string_view name = "swiglu";
    static constexpr LayerText about{
        .summary = "A hidden layer whose units are gated by others",
        .formula = "y = (silu(x Gᵀ + g) · (x Uᵀ + u)) Dᵀ + d",
        .source = "Shazeer, \"GLU Variants Improve Transformer\", 2020"};

    std::int64_t features = 0;
    std::int64_t hidden = 0;
    bool bias = true;

    static constexpr auto fields = FieldTable{
        Field{"features", &Swiglu::features, "0: all elements of a row"},
        Field{"hidden", &Swiglu::hidden, "0: twice the features"},
        Field{"bias", &Swiglu::bias},
    };

    static Swiglu example() { return {.features = 3, .hidden = 4}; }
    static std::optional<Swiglu> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        return Swiglu{.features = in.elements(), .hidden = 2 * in.elements()};
    }

    void resolve(const Shape& input) {
        resolve_width(name, "features", features, input);
        if (hidden == 0) hidden = 2 * features;
        require_range(name, "hidden", hidden);
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        const auto weight = [](std::string text, std::int64_t out, std::int64_t in,
                               Activation activation = Activation::identity) {
            return ParameterSpec{.name = std::move(text),
                                 .shape = {out, in},
                                 .initial = Initial::weight,
                                 .fan_in = in,
                                 .activation = activation};
        };
        std::vector<ParameterSpec> result{weight("gate_weight", hidden, features, Activation::silu),
                                          weight("up_weight", hidden, features),
                                          weight("down_weight", features, hidden)};
        if (!bias) return result;
        for (const auto& [text, width] :
             {std::pair{"gate_bias", hidden}, std::pair{"up_bias", hidden},
              std::pair{"down_bias", features}})
            result.push_back({.name = text, .shape = {width}, .initial = Initial::zeros});
        return result;
    }

    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const {
        const auto apply = [&](Var input, std::size_t which) {
            const Var y = project(input, operands.parameters[which]);
            return bias ? y + operands.parameters[3 + which] : y;
        };
        const Var rows = as_vectors(x, features, operands.row);
        return shaped(apply(swiglu_gate(apply(rows, 0), apply(rows, 1)), 2), x.shape());
    }

    bool operator==(const Swiglu&) const = default;
};

}  // namespace cambrian

#pragma once

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// Scales each row to mean 0 and variance 1, then by a learned gain and bias.
/// The variance is the mean of squared deviations, so a large common offset costs no digits.
struct LayerNorm {
    static constexpr std::string_view name = "layer_norm";
    static constexpr LayerText about{
        .summary = "Scales each row to mean 0 and variance 1, then by a learned gain and bias",
        .formula = "y = (x − mean(x)) / sqrt(mean((x − mean(x))²) + epsilon) · gain + bias",
        .source = "Ba, Kiros and Hinton, \"Layer Normalization\", 2016"};

    std::int64_t features = 0;
    float epsilon = 1e-5F;

    static constexpr auto fields = FieldTable{
        Field{"features", &LayerNorm::features, "0: all elements of a row"},
        Field{"epsilon", &LayerNorm::epsilon},
    };

    static LayerNorm example() { return {.features = 6}; }
    static std::optional<LayerNorm> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        return LayerNorm{.features = in.elements()};
    }

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const { return epsilon_fault(epsilon); }
    void resolve(const Shape& input) {
        require_no_fault(name, fault());
        resolve_width(name, "features", features, input);
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }

    [[nodiscard]] std::vector<ParameterSpec> parameters() const {
        return {{.name = "gain", .shape = {features}, .initial = Initial::ones},
                {.name = "bias", .shape = {features}, .initial = Initial::zeros}};
    }

    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const {
        const Var y = layer_norm(as_vectors(x, features, operands.row), operands.parameters[0],
                                 operands.parameters[1], static_cast<double>(epsilon));
        return shaped(y, x.shape());
    }

    bool operator==(const LayerNorm&) const = default;
};

}  // namespace cambrian

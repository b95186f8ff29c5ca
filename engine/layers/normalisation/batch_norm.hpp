#pragma once

#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

/// Scales each feature to mean 0 and variance 1 over the batch, then by a learned gain and bias.
/// Rows are [f, axes..]. While training the statistics are those of the batch and of all axes
/// after the features, and move the running ones; otherwise they are the running ones. The one
/// layer that reduces over the batch.
struct BatchNorm {
    static constexpr std::string_view name = "batch_norm";
    static constexpr LayerText about{
        .summary =
            "Scales each feature to mean 0 and variance 1 over the batch, then by a learned gain "
            "and bias",
        .formula =
            "y = (x − mean) / sqrt(variance + epsilon) · gain + bias\n"
            "running = (1 − momentum) · running + momentum · (mean, variance · n / (n − 1))",
        .source = "Ioffe and Szegedy, \"Batch Normalization\", 2015"};

    std::int64_t features = 0;
    float epsilon = 1e-5F;
    float momentum = 0.1F;

    static constexpr auto fields = FieldTable{
        Field{"features", &BatchNorm::features, "0: those of the input"},
        Field{"epsilon", &BatchNorm::epsilon},
        Field{"momentum", &BatchNorm::momentum},
    };

    static BatchNorm example() { return {.features = 3}; }
    static Shape example_row() { return {3, 2}; }
    static std::optional<BatchNorm> fitted(const Shape& in, const Shape& out) {
        if (in != out) return std::nullopt;
        return BatchNorm{.features = in[0]};
    }

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    void resolve(const Shape& input);
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;

    bool operator==(const BatchNorm&) const = default;
};

}  // namespace cambrian

#pragma once

#include "cambrian/engine/layers/layer.hpp"

namespace cambrian {

/// Scales each feature of rows [f, axes..] to mean 0 and variance 1, then by a learned gain and
/// bias: with the statistics of the batch and of all axes behind the features while training, which
/// also move the running ones, and with the running ones otherwise. The one layer that reduces over
/// the batch.
///
///     y = (x − mean) / sqrt(variance + epsilon) · gain + bias
///     running = (1 − momentum) · running + momentum · (mean, variance · n / (n − 1))
///
/// Ioffe and Szegedy, "Batch Normalization", 2015.
struct BatchNorm {
    static constexpr std::string_view name = "batch_norm";

    std::int64_t features = 0;  ///< 0: those of the input.
    float epsilon = 1e-5F;
    float momentum = 0.1F;

    static constexpr auto fields = std::tuple{
        Field{"features", &BatchNorm::features},
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

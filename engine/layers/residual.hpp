#pragma once

#include "cambrian/engine/layers/layer.hpp"

namespace cambrian {

class AnyLayer;

/// Adds what a chain of layers computes to its input. Without layers it adds the input of the layer
/// before it in its chain instead, so a chain [f, residual] computes f(x) + x.
///
///     y = x + f(x)
///
/// He et al., "Deep Residual Learning for Image Recognition", 2015.
struct Residual {
    static constexpr std::string_view name = "residual";

    std::vector<AnyLayer> layers;
    std::int64_t features = 0;  ///< 0: as wide as the input.

    static constexpr auto fields = std::tuple{
        Field{"layers", &Residual::layers},
        Field{"features", &Residual::features},
    };

    static Residual example();
    static std::optional<Residual> fitted(std::int64_t in, std::int64_t out);

    void resolve(std::int64_t input_features);
    [[nodiscard]] std::int64_t output_features() const { return features; }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    /// Whether a layer in it is.
    [[nodiscard]] bool stateful() const;
    [[nodiscard]] std::vector<StateSpec> state() const;
    /// ContractViolation without layers: then the chain that holds it adds.
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;

    bool operator==(const Residual& other) const;
};

}  // namespace cambrian

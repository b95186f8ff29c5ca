#pragma once

#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

class AnyLayer;

/// Adds what a chain of layers computes to its input.
/// Without layers it adds the input of the layer before it in its chain instead, so a chain
/// [f, residual] computes f(x) + x.
struct Residual {
    static constexpr std::string_view name = "residual";
    static constexpr LayerText about{
        .summary = "Adds what a chain of layers computes to its input",
        .formula = "y = x + f(x)",
        .source = "He et al., \"Deep Residual Learning for Image Recognition\", 2015"};

    std::vector<AnyLayer> layers;
    std::int64_t features = 0;

    static constexpr auto fields = FieldTable{
        Field{"layers", &Residual::layers},
        Field{"features", &Residual::features, "elements of a row; 0: as many as the input has"},
    };

    static Residual example();
    static std::optional<Residual> fitted(const Shape& in, const Shape& out);

    void resolve(const Shape& input);
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    /// Whether a layer in it is.
    [[nodiscard]] bool stateful() const;
    [[nodiscard]] std::vector<StateSpec> state() const;
    /// ContractViolation without layers: then the chain that holds it adds.
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;
    /// x [batch, time, row..].
    [[nodiscard]] Var sequence(Var x, const LayerOperands& operands) const;

    bool operator==(const Residual& other) const;
};

}  // namespace cambrian

#pragma once

#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

class AnyLayer;

/// A chain of layers in one.
/// An empty residual in it adds the input of the layer before it.
struct Sequential {
    static constexpr std::string_view name = "sequential";
    static constexpr LayerText about{.summary = "A chain of layers in one",
                                     .formula = "y = f_n(.. f_2(f_1(x)))",
                                     .source = "this project"};

    std::vector<AnyLayer> layers;

    static constexpr auto fields = FieldTable{Field{"layers", &Sequential::layers}};

    static Sequential example();
    /// Two dense layers, the first with tanh.
    static std::optional<Sequential> fitted(const Shape& in, const Shape& out);

    void resolve(const Shape& input);
    /// Fills the output width of the last layer if it was left at 0.
    void infer_output(std::int64_t width);
    [[nodiscard]] Shape output_shape(const Shape& input) const;
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    /// Whether a layer in it is.
    [[nodiscard]] bool stateful() const;
    [[nodiscard]] std::vector<StateSpec> state() const;
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;
    /// x [batch, time, row..].
    [[nodiscard]] Var sequence(Var x, const LayerOperands& operands) const;

    bool operator==(const Sequential& other) const;
};

}  // namespace cambrian

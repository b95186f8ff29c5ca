#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/engine/layers/any_layer.hpp"

// Layers one after another, as the containers hold them. Names inside carry the prefix "layers.N.".
namespace cambrian {

/// Whether a layer is an empty residual, which its chain must serve.
[[nodiscard]] bool adds_preceding_input(const AnyLayer& layer);
/// Whether what enters a layer, or a layer in it, is read as ids: nothing can be added to that, and
/// no layer can stand before it that computes.
[[nodiscard]] bool takes_ids(const AnyLayer& layer);
/// A layer of weights that keeps the shape of a row: a square dense for vectors, a convolution with
/// a kernel of 1 for channels; nothing for rows of more axes.
[[nodiscard]] std::optional<AnyLayer> square_layer(const Shape& row);
/// Levels of layers in a layer: 1 for one that holds no others.
[[nodiscard]] int nesting(const AnyLayer& layer);
/// More levels are refused, by files and by networks.
inline constexpr int deepest_nesting = 16;

/// Resolves all layers and returns the shape of a row after the last; throws ShapeError naming the
/// container and the layer.
Shape resolve_chain(std::string_view container, std::vector<AnyLayer>& layers, const Shape& input);
/// The shape of a row after resolved layers.
[[nodiscard]] Shape chain_output(const std::vector<AnyLayer>& layers, const Shape& input);
/// Throws ShapeError unless an empty residual on `input` has a layer before it (null: none) whose
/// input has as many elements.
void check_preceding(const Shape* preceding, const Shape& input);
/// Appends specs with a prefix to their names.
template <class Spec>
void append_named(std::vector<Spec>& all, const std::string& prefix, std::vector<Spec> own) {
    for (Spec& spec : own) {
        spec.name = prefix + spec.name;
        all.push_back(std::move(spec));
    }
}

/// Deals the operands and states of a container to its layers, in their order.
class OperandSplit {
  public:
    OperandSplit(const LayerOperands& operands, std::span<const Var> state)
        : rest_(operands), state_(state) {}

    /// Those of the next layer, whose input has rows of that shape.
    [[nodiscard]] LayerOperands operands(const AnyLayer& layer, const Shape& row);
    [[nodiscard]] std::span<const Var> state(const AnyLayer& layer);

  private:
    LayerOperands rest_;
    std::span<const Var> state_;
};

[[nodiscard]] std::vector<ParameterSpec> chain_parameters(const std::vector<AnyLayer>& layers);
[[nodiscard]] bool chain_stateful(const std::vector<AnyLayer>& layers);
[[nodiscard]] std::vector<StateSpec> chain_state(const std::vector<AnyLayer>& layers);
/// One step through all layers; `state` is empty for a stateless chain.
[[nodiscard]] StepResult chain_step(const std::vector<AnyLayer>& layers, Var x,
                                    std::span<const Var> state, const LayerOperands& operands);
/// The sequence forms of all layers, one after another: x [batch, time, row..].
[[nodiscard]] Var chain_sequence(const std::vector<AnyLayer>& layers, Var x,
                                 const LayerOperands& operands);

}  // namespace cambrian

#pragma once

#include <string_view>
#include <vector>

#include "cambrian/engine/layers/any_layer.hpp"

// Layers one after another, as the containers hold them. Names inside carry the prefix "layers.N.".
namespace cambrian {

/// Whether a layer is an empty residual, which its chain must serve.
[[nodiscard]] bool adds_preceding_input(const AnyLayer& layer);
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
[[nodiscard]] std::vector<ParameterSpec> chain_parameters(const std::vector<AnyLayer>& layers);
[[nodiscard]] bool chain_stateful(const std::vector<AnyLayer>& layers);
[[nodiscard]] std::vector<StateSpec> chain_state(const std::vector<AnyLayer>& layers);
/// One step through all layers; `state` is empty for a stateless chain.
[[nodiscard]] StepResult chain_step(const std::vector<AnyLayer>& layers, Var x,
                                    std::span<const Var> state, const LayerOperands& operands);

}  // namespace cambrian

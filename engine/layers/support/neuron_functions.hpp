#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "cambrian/engine/graph/builders/builders.hpp"

// What a single neuron computes: tables that configs, files, graphs and bytecode share.
namespace cambrian {

/// The activation of a neuron, in the order of its codes in bytecode. Files hold the name.
enum class NeuronActivation : std::uint8_t {
    identity,
    relu,
    silu,
    gelu,
    tanh,
    sigmoid,
    steep_sigmoid,
    sin,
    cos,
    gauss,
    abs,
    square,
    cube,
    elu,
    leaky_relu,
    softplus,
    clamped,
    hat,
    sign,
    step,
};
inline constexpr std::array<std::string_view, 20> neuron_activation_names{
    "identity",   "relu",     "silu",    "gelu", "tanh",   "sigmoid", "steep_sigmoid",
    "sin",        "cos",      "gauss",   "abs",  "square", "cube",    "elu",
    "leaky_relu", "softplus", "clamped", "hat",  "sign",   "step"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(NeuronActivation) {
    return neuron_activation_names;
}

/// How a neuron makes one number of its weighted inputs, in the order of its codes in bytecode.
enum class NeuronAggregation : std::uint8_t { sum, product, max, min, mean, median, maxabs };
inline constexpr std::array<std::string_view, 7> neuron_aggregation_names{
    "sum", "product", "max", "min", "mean", "median", "maxabs"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(NeuronAggregation) {
    return neuron_aggregation_names;
}

/// Elementwise. x = 0: relu 0, sign 0, step 0.
///
///     steep_sigmoid 1 / (1 + e^(-4.9 x))     gauss e^(-x²)         clamped x limited to [-1, 1]
///     leaky_relu x > 0 ? x : 0.01 x          hat max(0, 1 - |x|)   step x > 0 ? 1 : 0
[[nodiscard]] Var activate(Var x, NeuronActivation activation);
/// Of terms that broadcast to one shape, at least one, in their order. Of equal terms max, min and
/// maxabs take the first; the median of an even number is the mean of the two in the middle.
[[nodiscard]] Var aggregate(std::span<const Var> terms, NeuronAggregation aggregation);

}  // namespace cambrian

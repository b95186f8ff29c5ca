#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "cambrian/engine/graph/builders/builders.hpp"

// What a single neuron computes: tables that configs, files, graphs and bytecode share.
namespace cambrian {

/// The activation of a neuron: those of layers, with the same codes. Files hold the name.
enum class NeuronActivation : std::uint8_t {
#define CAMBRIAN_ACTIVATION(name, ...) name,
#include "cambrian/engine/graph/activation_table.inl"
};
inline constexpr auto neuron_activation_names = [] {
    auto names = activation_names;
    names[0] = "identity";
    return names;
}();
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

/// Elementwise, see activation_table.inl.
[[nodiscard]] Var activate(Var x, NeuronActivation activation);
/// Of terms that broadcast to one shape, at least one, in their order. Of equal terms max, min and
/// maxabs take the first; the median of an even number is the mean of the two in the middle.
[[nodiscard]] Var aggregate(std::span<const Var> terms, NeuronAggregation aggregation);

}  // namespace cambrian

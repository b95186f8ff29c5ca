#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/evolve/genome/tensor_axes.hpp"
#include "cambrian/evolve/variation/child_plan.hpp"

// Weights of layers that change their size: what both sizes have stays where it means the same.
namespace cambrian::evolve {

/// What the elements that a tensor gains start with.
enum class NewWeights : std::uint8_t {
    fresh,          ///< Initial values.
    keep_function,  ///< Those of new units initial values, those that read new units zero.
};

/// Appends the edits that turn a tensor at `at` into one of other extents of the same number.
/// @param values for all elements of the new tensor; those that it had before are not used.
void resize_tensor(std::vector<WeightEdit>& edits, std::int64_t at, const TensorAxes& before,
                   const TensorAxes& after, std::span<const float> values);

/// The edits from the weights of one blueprint to those of another with the same slots, layer
/// types and links but other widths and fields; nothing where that has no meaning.
[[nodiscard]] std::optional<std::vector<WeightEdit>> resize_weights(RandomStream& rng,
                                                                    const Blueprint& before,
                                                                    const Blueprint& after,
                                                                    NewWeights added);

}  // namespace cambrian::evolve

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cambrian/engine/layers/any_layer.hpp"

namespace cambrian::evolve {

/// A parameter tensor as axes that mean something by themselves: the gates, units and inputs of a
/// matrix that stores them in two.
struct TensorAxes {
    std::vector<std::int64_t> extents;
    std::size_t first_output = 0;  ///< Axes [first_output, last_output) number units.
    std::size_t last_output = 1;
    std::size_t first_centred = 0;  ///< Axes from it on grow at both ends: those of a kernel.
    /// Of the outputs, the one that numbers neurons: not the gates of each.
    std::size_t unit_axis = 0;
    /// Runs of the axes before unit_axis, each with units of its own: groups of a convolution.
    std::int64_t groups = 1;
    /// Tensors of a layer are of the same units where their sets and their units() are equal.
    std::size_t unit_set = 0;
    /// Those from first_centred on grow before their first element alone: the last tap is now.
    bool causal = false;
    /// Runs of the first axis that mean something each, by their lengths; none: one.
    std::vector<std::int64_t> parts{};

    [[nodiscard]] std::int64_t units() const { return groups * extents[unit_axis]; }
};

/// The axes of the `index`-th parameter of a layer whose input has rows of a shape.
[[nodiscard]] TensorAxes tensor_axes(const AnyLayer& layer, std::size_t index,
                                     const ParameterSpec& parameter, const Shape& row);

/// Elements of the axes from one on.
[[nodiscard]] std::int64_t elements_from(const std::vector<std::int64_t>& extents,
                                         std::size_t axis);

/// The tensors that its parts are, one after another; itself where it has none.
[[nodiscard]] std::vector<TensorAxes> part_axes(const TensorAxes& axes);

}  // namespace cambrian::evolve

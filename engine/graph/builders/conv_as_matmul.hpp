#pragma once

#include <vector>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/graph/window_geometry.hpp"

namespace cambrian {

/// A convolution as one matrix product for each image and group: weights [outputs of a group,
/// depth] times columns [depth, windows]. Internal to engine/graph.
struct ConvForm {
    ConvForm(const ConvAttribute& conv, const Shape& x, const Shape& weights);

    ConvAttribute conv;
    WindowGeometry geometry;
    std::vector<std::int64_t> leading;  ///< Extents of the image axes.
    std::int64_t images;
    std::int64_t channels;
    std::int64_t outputs;
    std::int64_t depth;  ///< Channels of a group times taps, taps of a channel next to each other.

    /// x as [images, groups, depth, windows].
    [[nodiscard]] Var columns(Var x) const;
    /// Results, or their gradient, as [images, groups, outputs of a group, windows].
    [[nodiscard]] Var rows(Var y) const;
    /// Weights as [groups, outputs of a group, depth].
    [[nodiscard]] Var matrices(Var weights) const;
    /// What conv takes x to, the other way: y like its results gives a value like x.
    [[nodiscard]] Var adjoint(Var y, Var weights) const;
    /// Products of x with y like the results, summed over images: like the weights.
    [[nodiscard]] Var weight_adjoint(Var x, Var y) const;
    [[nodiscard]] Shape result_shape() const;
};

}  // namespace cambrian

#pragma once

#include <optional>
#include <span>
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

// Weights that are matrices in codes (graph/packed_rows.hpp), without a value of all their numbers.

/// Products of all groups, [images, outputs, windows], of columns as ConvForm has them: one of
/// codes for each group, or where there are many, of a sixteenth of the groups at a time, decoded.
/// @param parts of the matrix, a row for each output.
[[nodiscard]] Var products_of_codes(const ConvForm& form, Var columns, std::span<const Var> parts);

/// Part of a convolution the other way.
struct ChannelPart {
    Var weights;               ///< Decoded.
    std::int64_t channel = 0;  ///< First of the channels it reads.
    std::int64_t groups = 1;
};

/// Weights [channels, outputs of a group, k..] of a transposed convolution that an unpack makes, in
/// parts that are decoded one after another; results follow each other along the channels that
/// they write. Nothing where the weights are no codes, or too few to be cut.
[[nodiscard]] std::optional<std::vector<ChannelPart>> transposed_parts(Var weights,
                                                                       std::int64_t groups);

}  // namespace cambrian

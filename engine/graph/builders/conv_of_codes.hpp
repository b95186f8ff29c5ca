#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/graph/builders/conv_as_matmul.hpp"

// Convolutions whose weights are matrices in codes (graph/packed_rows.hpp), without a value of all
// their numbers. Internal to engine/graph.
namespace cambrian {

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

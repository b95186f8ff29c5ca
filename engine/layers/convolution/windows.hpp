#pragma once

#include "cambrian/engine/layers/support/axis_values.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

// What convolutions share about their weights.
namespace cambrian {

/// Why channels cannot be cut into groups, or an empty text. Channels of 0 are not known yet.
[[nodiscard]] std::string_view groups_fault(std::int64_t in_channels, std::int64_t out_channels,
                                            std::int64_t groups);
/// [outer, inner, kernel..]
[[nodiscard]] Shape kernel_shape(std::int64_t outer, std::int64_t inner, const AxisValues& kernel,
                                 int rank);
/// The weight, whose outputs sum `channels` channels, and a bias for `biases` outputs unless 0.
[[nodiscard]] std::vector<ParameterSpec> kernel_parameters(const Shape& weight,
                                                           std::int64_t channels,
                                                           std::int64_t biases,
                                                           Activation activation);

// What pools over [C, H, W] share.
struct Pool2d {
    AxisValues kernel = 2;
    AxisValues stride = 0;  ///< 0: the kernel.
    AxisValues padding = 0;

    [[nodiscard]] std::string_view fault() const;
    [[nodiscard]] Shape output_shape(std::string_view layer, const Shape& input) const;
    [[nodiscard]] PoolOptions options() const;
    /// Windows side by side, or overlapping ones of 3 that keep the shape.
    [[nodiscard]] static std::optional<Pool2d> fitted(std::string_view layer, const Shape& in,
                                                      const Shape& out);
};

}  // namespace cambrian

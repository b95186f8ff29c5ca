#pragma once

#include "cambrian/engine/layers/support/axis_values.hpp"
#include "cambrian/engine/layers/support/layer.hpp"

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

}  // namespace cambrian

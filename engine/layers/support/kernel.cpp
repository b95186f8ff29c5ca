#include "cambrian/engine/layers/support/kernel.hpp"

#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

std::string_view groups_fault(std::int64_t in_channels, std::int64_t out_channels,
                              std::int64_t groups) {
    if (groups < 1) return "groups is 1 or more";
    if (in_channels % groups != 0) return "in_channels is no multiple of groups";
    if (out_channels % groups != 0) return "out_channels is no multiple of groups";
    return {};
}

Shape kernel_shape(std::int64_t outer, std::int64_t inner, const AxisValues& kernel, int rank) {
    std::vector<std::int64_t> extents{outer, inner};
    for (int axis = 0; axis < rank; ++axis) extents.push_back(kernel[axis]);
    return Shape(std::span<const std::int64_t>(extents));
}

std::vector<ParameterSpec> kernel_parameters(const Shape& weight, std::int64_t channels,
                                             std::int64_t biases, Activation activation) {
    const std::int64_t taps = weight.elements() / (weight[0] * weight[1]);
    std::vector<ParameterSpec> result{{.name = "weight",
                                       .shape = weight,
                                       .initial = Initial::weight,
                                       .fan_in = channels * taps,
                                       .activation = activation}};
    if (biases > 0)
        result.push_back({.name = "bias", .shape = {biases}, .initial = Initial::zeros});
    return result;
}

}  // namespace cambrian

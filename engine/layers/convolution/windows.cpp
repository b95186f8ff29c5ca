#include "cambrian/engine/layers/convolution/windows.hpp"

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

std::string_view Pool2d::fault() const {
    if (!kernel.suits(2, 1)) return "kernel is 1 or more, one number or one for each axis";
    if (!stride.suits(2, 0)) return "stride is 0 (the kernel) or more, one number or two";
    if (!padding.suits(2, 0)) return "padding is 0 or more, one number or one for each axis";
    for (int axis = 0; axis < 2; ++axis)
        if (2 * padding[axis] > kernel[axis]) return "padding is at most half the kernel";
    return {};
}

Shape Pool2d::output_shape(std::string_view layer, const Shape& input) const {
    std::vector<std::int64_t> extents;
    for (int axis = 0; axis < 2; ++axis) {
        const std::int64_t step = stride[axis] == 0 ? kernel[axis] : stride[axis];
        const WindowAxis window{kernel[axis], step, padding[axis]};
        extents.push_back(window.windows(input[axis + 1]));
    }
    return with_channels(layer, input, input[0], extents);
}

PoolOptions Pool2d::options() const {
    return {.stride = stride.per_axis(), .before = padding.per_axis(), .after = padding.per_axis()};
}

std::optional<Pool2d> Pool2d::fitted(std::string_view layer, const Shape& in, const Shape& out) {
    if (in.rank() != 3 || out.rank() != 3 || in[0] != out[0]) return std::nullopt;
    if (in == out) return Pool2d{.kernel = 3, .stride = 1, .padding = 1};
    const Pool2d result{.kernel = {in[1] / out[1], in[2] / out[2]}};
    if (!result.fault().empty() || result.output_shape(layer, in) != out) return std::nullopt;
    return result;
}

}  // namespace cambrian

#include "cambrian/engine/layers/convolution/conv.hpp"

#include "cambrian/engine/layers/convolution/windows.hpp"

namespace cambrian {

template <int Rank>
Conv<Rank> Conv<Rank>::example() {
    Conv result{.out_channels = 4, .kernel = 2, .padding = 1, .groups = 2};
    result.in_channels = 2;
    result.stride = 2;
    result.activation = Activation::tanh;
    return result;
}

template <int Rank>
Shape Conv<Rank>::example_row() {
    constexpr std::array<std::int64_t, 4> extents{2, 5, 4, 3};
    return Shape(std::span<const std::int64_t>(extents).first(Rank + 1));
}

template <int Rank>
std::optional<Conv<Rank>> Conv<Rank>::fitted(const Shape& in, const Shape& out) {
    if (in.rank() != Rank + 1 || out.rank() != Rank + 1) return std::nullopt;
    for (const std::int64_t stride : {1, 2}) {
        const Conv result{
            .in_channels = in[0], .out_channels = out[0], .stride = stride, .padding = 1};
        if (result.output_shape(in) == out) return result;
    }
    return std::nullopt;
}

template <int Rank>
std::string_view Conv<Rank>::fault() const {
    if (!kernel.suits(Rank, 1)) return "kernel is 1 or more, one number or one for each axis";
    if (!stride.suits(Rank, 1)) return "stride is 1 or more, one number or one for each axis";
    if (!padding.suits(Rank, 0)) return "padding is 0 or more, one number or one for each axis";
    if (!dilation.suits(Rank, 1)) return "dilation is 1 or more, one number or one for each axis";
    return groups_fault(in_channels, out_channels, groups);
}

template <int Rank>
void Conv<Rank>::resolve(const Shape& input) {
    require_no_fault(name, fault());
    require_channels(name, input, Rank);
    resolve_channels(name, "in_channels", in_channels, input);
    require_width(name, "out_channels", out_channels);
    require_no_fault(name, fault());
    static_cast<void>(output_shape(input));
}

template <int Rank>
Shape Conv<Rank>::output_shape(const Shape& input) const {
    std::vector<std::int64_t> extents;
    for (int axis = 0; axis < Rank; ++axis) {
        const WindowAxis window{kernel[axis], stride[axis], padding[axis], dilation[axis]};
        extents.push_back(window.windows(input[axis + 1]));
    }
    return with_channels(name, input, out_channels, extents);
}

template <int Rank>
std::vector<ParameterSpec> Conv<Rank>::parameters() const {
    return kernel_parameters(kernel_shape(out_channels, in_channels / groups, kernel, Rank),
                             in_channels / groups, bias ? out_channels : 0, activation);
}

template <int Rank>
Var Conv<Rank>::build(Var x, const LayerOperands& operands) const {
    const ConvOptions options{.stride = stride.per_axis(),
                              .dilation = dilation.per_axis(),
                              .before = padding.per_axis(),
                              .after = padding.per_axis(),
                              .groups = groups};
    const auto& weights = operands.parameters;
    const Var y = bias ? conv(x, weights[0], weights[1], options) : conv(x, weights[0], options);
    return operands.activated(y);
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;

}  // namespace cambrian

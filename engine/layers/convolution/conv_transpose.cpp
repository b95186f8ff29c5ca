#include "cambrian/engine/layers/convolution/conv_transpose.hpp"

#include "cambrian/engine/layers/convolution/windows.hpp"

namespace cambrian {

template <int Rank>
ConvTranspose<Rank> ConvTranspose<Rank>::example() {
    ConvTranspose result{.in_channels = 2, .out_channels = 4, .kernel = 2, .stride = 2};
    result.output_padding = 1;
    result.padding = 1;
    result.dilation = 2;
    result.groups = 2;
    result.activation = Activation::sigmoid;
    return result;
}

template <int Rank>
Shape ConvTranspose<Rank>::example_row() {
    constexpr std::array<std::int64_t, 4> extents{2, 4, 3, 2};
    return Shape(std::span<const std::int64_t>(extents).first(Rank + 1));
}

template <int Rank>
std::optional<ConvTranspose<Rank>> ConvTranspose<Rank>::fitted(const Shape& in, const Shape& out) {
    if (in.rank() != Rank + 1 || out.rank() != Rank + 1) return std::nullopt;
    for (const std::int64_t stride : {1, 2}) {
        const ConvTranspose result{.in_channels = in[0],
                                   .out_channels = out[0],
                                   .stride = stride,
                                   .padding = 1,
                                   .output_padding = stride - 1};
        if (result.output_shape(in) == out) return result;
    }
    return std::nullopt;
}

template <int Rank>
std::string_view ConvTranspose<Rank>::fault() const {
    if (!kernel.suits(Rank, 1)) return "kernel is 1 or more, one number or one for each axis";
    if (!stride.suits(Rank, 1)) return "stride is 1 or more, one number or one for each axis";
    if (!padding.suits(Rank, 0)) return "padding is 0 or more, one number or one for each axis";
    if (!output_padding.suits(Rank, 0))
        return "output_padding is 0 or more, one number or one for each axis";
    if (!dilation.suits(Rank, 1)) return "dilation is 1 or more, one number or one for each axis";
    for (int axis = 0; axis < Rank; ++axis)
        if (output_padding[axis] >= stride[axis]) return "output_padding is below the stride";
    return groups_fault(in_channels, out_channels, groups);
}

template <int Rank>
void ConvTranspose<Rank>::resolve(const Shape& input) {
    require_no_fault(name, fault());
    require_channels(name, input, Rank);
    resolve_channels(name, "in_channels", in_channels, input);
    require_width(name, "out_channels", out_channels);
    require_no_fault(name, fault());
    static_cast<void>(output_shape(input));
}

template <int Rank>
Shape ConvTranspose<Rank>::output_shape(const Shape& input) const {
    std::vector<std::int64_t> extents;
    for (int axis = 0; axis < Rank; ++axis) {
        const WindowAxis window{kernel[axis], stride[axis], padding[axis], dilation[axis]};
        extents.push_back(window.scattered(input[axis + 1], output_padding[axis]));
    }
    return with_channels(name, input, out_channels, extents);
}

template <int Rank>
std::vector<ParameterSpec> ConvTranspose<Rank>::parameters() const {
    return kernel_parameters(kernel_shape(in_channels, out_channels / groups, kernel, Rank),
                             in_channels / groups, bias ? out_channels : 0, activation);
}

template <int Rank>
Var ConvTranspose<Rank>::build(Var x, const LayerOperands& operands) const {
    const ConvOptions options{.stride = stride.per_axis(),
                              .dilation = dilation.per_axis(),
                              .before = padding.per_axis(),
                              .after = padding.per_axis(),
                              .groups = groups};
    const auto& weights = operands.parameters;
    const PerAxis more = output_padding.per_axis();
    const Var y = bias ? conv_transpose(x, weights[0], weights[1], options, more)
                       : conv_transpose(x, weights[0], options, more);
    return operands.activated(y);
}

template struct ConvTranspose<1>;
template struct ConvTranspose<2>;
template struct ConvTranspose<3>;

}  // namespace cambrian

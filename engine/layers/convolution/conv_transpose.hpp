#pragma once

#include <array>

#include "cambrian/engine/layers/support/axis_values.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

inline constexpr std::array<std::string_view, 3> conv_transpose_layer_names{
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};

/// The adjoint of a convolution: every element of an image adds a window to the output, then an
/// activation.
template <int Rank>
struct ConvTranspose {
    static constexpr std::string_view name = conv_transpose_layer_names[Rank - 1];
    static constexpr LayerText about{.summary =
                                         "The adjoint of a convolution: every element of an image "
                                         "adds a window to the output, then an activation",
                                     .formula =
                                         "y[o, stride p + dilation k − padding] += W[c, o, k] x[c, "
                                         "p], then activation(y[o] + b[o])\n"
                                         "an axis of n gives (n − 1) stride − 2 padding + dilation "
                                         "(kernel − 1) + output_padding + 1",
                                     .source = "Zeiler et al., \"Deconvolutional Networks\", 2010"};

    std::int64_t in_channels = 0;
    std::int64_t out_channels = 0;
    AxisValues kernel = 3;
    AxisValues stride = 1;
    AxisValues padding = 0;
    AxisValues output_padding = 0;
    AxisValues dilation = 1;
    std::int64_t groups = 1;
    bool bias = true;
    Activation activation = Activation::identity;

    static constexpr auto fields = FieldTable{
        Field{"in_channels", &ConvTranspose::in_channels, "0: those of the input"},
        Field{"out_channels", &ConvTranspose::out_channels},
        Field{"kernel", &ConvTranspose::kernel},
        Field{"stride", &ConvTranspose::stride},
        Field{"padding", &ConvTranspose::padding},
        Field{"output_padding", &ConvTranspose::output_padding,
              "below the stride: chooses among the extents that a convolution takes to the same"},
        Field{"dilation", &ConvTranspose::dilation},
        Field{"groups", &ConvTranspose::groups},
        Field{"bias", &ConvTranspose::bias},
        Field{"activation", &ConvTranspose::activation},
    };

    static ConvTranspose example();
    static Shape example_row();
    /// A kernel of 3 with a stride of 1 or 2.
    static std::optional<ConvTranspose> fitted(const Shape& in, const Shape& out);

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    void resolve(const Shape& input);
    [[nodiscard]] Shape output_shape(const Shape& input) const;
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;

    bool operator==(const ConvTranspose&) const = default;
};

using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace cambrian

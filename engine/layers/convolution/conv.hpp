#pragma once

#include <array>

#include "cambrian/engine/layers/support/axis_values.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

inline constexpr std::array<std::string_view, 3> conv_layer_names{"conv1d", "conv2d", "conv3d"};

/// Weighted sums of a window that slides over the axes of an image, through an activation.
/// The kernel is not flipped.
template <int Rank>
struct Conv {
    static constexpr std::string_view name = conv_layer_names[Rank - 1];
    static constexpr LayerText about{
        .summary =
            "Weighted sums of a window that slides over the axes of an image, through an "
            "activation",
        .formula =
            "y[o, p] = activation(Σ over c, k of W[o, c, k] x[c, stride p + dilation k − padding] "
            "+ b[o])\n"
            "an axis of n gives floor((n + 2 padding − dilation (kernel − 1) − 1) / stride) + 1",
        .source =
            "LeCun et al., \"Backpropagation Applied to Handwritten Zip Code Recognition\", 1989"};

    std::int64_t in_channels = 0;
    std::int64_t out_channels = 0;
    AxisValues kernel = 3;
    AxisValues stride = 1;
    AxisValues padding = 0;
    AxisValues dilation = 1;
    std::int64_t groups = 1;
    bool bias = true;
    Activation activation = Activation::identity;

    static constexpr auto fields = FieldTable{
        Field{"in_channels", &Conv::in_channels, "0: those of the input"},
        Field{"out_channels", &Conv::out_channels},
        Field{"kernel", &Conv::kernel},
        Field{"stride", &Conv::stride},
        Field{"padding", &Conv::padding},
        Field{"dilation", &Conv::dilation},
        Field{"groups", &Conv::groups},
        Field{"bias", &Conv::bias},
        Field{"activation", &Conv::activation},
    };

    static Conv example();
    static Shape example_row();
    /// A kernel of 3 with a stride of 1 or 2.
    static std::optional<Conv> fitted(const Shape& in, const Shape& out);

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    void resolve(const Shape& input);
    [[nodiscard]] Shape output_shape(const Shape& input) const;
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;

    bool operator==(const Conv&) const = default;
};

using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

}  // namespace cambrian

#pragma once

#include "cambrian/engine/layers/convolution/windows.hpp"

namespace cambrian {

/// The mean of each window; padding counts as zeros.
struct AveragePool2d {
    static constexpr std::string_view name = "average_pool2d";
    static constexpr LayerText about{
        .summary = "The mean of each window; padding counts as zeros",
        .formula = "y[c, p] = mean over k of x[c, stride p + k − padding]",
        .source =
            "LeCun et al., \"Gradient-Based Learning Applied to Document Recognition\", 1998"};

    AxisValues kernel = 2;
    AxisValues stride = 0;
    AxisValues padding = 0;

    static constexpr auto fields = FieldTable{
        Field{"kernel", &AveragePool2d::kernel},
        Field{"stride", &AveragePool2d::stride, "0: the kernel"},
        Field{"padding", &AveragePool2d::padding},
    };

    static AveragePool2d example() { return {.kernel = {2, 3}, .stride = 2, .padding = 1}; }
    static Shape example_row() { return {2, 5, 4}; }
    static std::optional<AveragePool2d> fitted(const Shape& in, const Shape& out) {
        const auto pool = Pool2d::fitted(name, in, out);
        if (!pool) return std::nullopt;
        return AveragePool2d{
            .kernel = pool->kernel, .stride = pool->stride, .padding = pool->padding};
    }

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const { return pool().fault(); }
    void resolve(const Shape& input) {
        require_no_fault(name, fault());
        require_channels(name, input, 2);
        static_cast<void>(output_shape(input));
    }
    [[nodiscard]] Shape output_shape(const Shape& input) const {
        return pool().output_shape(name, input);
    }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const { return {}; }

    [[nodiscard]] Var build(Var x, const LayerOperands& /*operands*/) const {
        return average_pool(x, {kernel[0], kernel[1]}, pool().options());
    }

    bool operator==(const AveragePool2d&) const = default;

  private:
    [[nodiscard]] Pool2d pool() const { return {kernel, stride, padding}; }
};

}  // namespace cambrian

#pragma once

#include "cambrian/engine/layers/support/axis_values.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

// What pools over [C, H, W] share.
namespace cambrian {

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

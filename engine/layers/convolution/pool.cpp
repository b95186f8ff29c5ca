#include "cambrian/engine/layers/convolution/pool.hpp"

namespace cambrian {

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

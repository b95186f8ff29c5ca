#include "cambrian/engine/graph/window_geometry.hpp"

#include <algorithm>
#include <string>

#include "cambrian/engine/graph/graph_errors.hpp"

namespace cambrian {
namespace {

// Keeps what a window counts along an axis within 32 bits on every device.
constexpr std::int64_t largest_number = (std::int64_t{1} << 31) - 1;

void check(const char* what, std::int64_t value, std::int64_t least) {
    if (value < least || value > largest_number)
        reject(std::string(what) + " " + std::to_string(value) + " is not possible",
               "use a number from " + std::to_string(least) + " to 2^31 - 1");
}

std::int64_t positions_along(const Window& window, std::size_t axis, std::int64_t inside) {
    check("the kernel", window.kernel[axis], 1);
    check("the stride", window.stride[axis], 1);
    check("the dilation", window.dilation[axis], 1);
    check("the padding", window.before[axis], 0);
    check("the padding", window.after[axis], 0);
    const std::int64_t padded = inside + window.before[axis] + window.after[axis];
    check("an axis with padding of extent", padded, 0);
    const std::int64_t reach = window.dilation[axis] * (window.kernel[axis] - 1) + 1;
    if (reach > padded)
        reject("a window covers " + std::to_string(reach) + " elements of an axis that has " +
                   std::to_string(padded) + " with its padding",
               "use a smaller kernel or more padding");
    return (padded - reach) / window.stride[axis] + 1;
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return a <= 0 ? 0 : (a + b - 1) / b;
}

}  // namespace

WindowGeometry::Interval WindowGeometry::inside_windows(std::size_t axis, std::int64_t tap) const {
    const std::int64_t first = element(axis, 0, tap);
    const std::int64_t begin = std::min(divide_up(-first, stride[axis]), positions[axis]);
    const std::int64_t end =
        std::min(divide_up(inside[axis] - first, stride[axis]), positions[axis]);
    return {begin, std::max(begin, end)};
}

bool WindowGeometry::is_identity() const {
    constexpr Window::Extents ones{1, 1, 1};
    return kernel == ones && stride == ones && positions == inside && before == Window::Extents{};
}

WindowGeometry window_geometry(const Window& window, std::span<const std::int64_t> extents) {
    if (window.rank < 1 || window.rank > Window::max_rank)
        reject("a window has 1 to 3 axes, not " + std::to_string(window.rank),
               "merge or add axes with reshape");
    const auto rank = static_cast<std::size_t>(window.rank);
    if (extents.size() < rank)
        reject("a window over " + std::to_string(rank) + " axes needs as many",
               "pass an operand with more axes");
    WindowGeometry geometry;
    const std::size_t missing = Window::max_rank - rank;
    for (std::size_t i = 0; i < rank; ++i) {
        const std::size_t axis = missing + i;
        geometry.inside[axis] = extents[extents.size() - rank + i];
        geometry.positions[axis] = positions_along(window, i, geometry.inside[axis]);
        geometry.kernel[axis] = window.kernel[i];
        geometry.stride[axis] = window.stride[i];
        geometry.dilation[axis] = window.dilation[i];
        geometry.before[axis] = window.before[i];
    }
    static_cast<void>(Shape(geometry.kernel));  // Throws for more taps than a tensor can have.
    return geometry;
}

}  // namespace cambrian

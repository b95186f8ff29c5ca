#pragma once

#include <cstdint>
#include <span>

#include "cambrian/engine/graph/op.hpp"

namespace cambrian {

/// A window over extents that are known, always with three axes: the ones a window of lower rank
/// lacks come first and have extent 1.
struct WindowGeometry {
    Window::Extents inside{1, 1, 1};  ///< Of what the window slides over, without padding.
    Window::Extents kernel{1, 1, 1};
    Window::Extents stride{1, 1, 1};
    Window::Extents dilation{1, 1, 1};
    Window::Extents before{};
    Window::Extents positions{1, 1, 1};  ///< Windows along each axis.

    /// Where tap t of window o lies along an axis; outside of [0, inside) it is padding.
    [[nodiscard]] std::int64_t element(std::size_t axis, std::int64_t o, std::int64_t t) const {
        return o * stride[axis] + t * dilation[axis] - before[axis];
    }
    struct Interval {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    /// The windows whose tap t is no padding along an axis.
    [[nodiscard]] Interval inside_windows(std::size_t axis, std::int64_t tap) const;
    [[nodiscard]] std::int64_t taps() const { return product(kernel); }
    [[nodiscard]] std::int64_t elements() const { return product(inside); }
    [[nodiscard]] std::int64_t windows() const { return product(positions); }
    /// Whether window o reads element o and nothing else.
    [[nodiscard]] bool is_identity() const;

    [[nodiscard]] static std::int64_t product(const Window::Extents& extents) {
        return extents[0] * extents[1] * extents[2];
    }
};

/// The geometry of a window over the last axes of a tensor. Throws the reason of a rule (see
/// graph_errors.hpp) when the window is not valid or has no place in them.
[[nodiscard]] WindowGeometry window_geometry(const Window& window,
                                             std::span<const std::int64_t> extents);

}  // namespace cambrian

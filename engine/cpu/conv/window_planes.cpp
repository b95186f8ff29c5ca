#include "cambrian/engine/cpu/conv/window_taps.hpp"

#include <algorithm>

namespace cambrian::cpu {

namespace {

/// A window whose taps are the rests by the stride that the taps of another have, and whose windows
/// are the elements of one rest.
WindowGeometry rests_of(const WindowGeometry& geometry) {
    WindowGeometry rests = geometry;
    for (std::size_t axis = 0; axis < rests.kernel.size(); ++axis) {
        const std::int64_t last_tap = (geometry.kernel[axis] - 1) * geometry.dilation[axis];
        rests.kernel[axis] = std::min(geometry.stride[axis], last_tap + 1);
        rests.dilation[axis] = 1;
        rests.positions[axis] += last_tap / geometry.stride[axis];
    }
    return rests;
}

}  // namespace

WindowPlanes::WindowPlanes(const WindowGeometry& geometry) : taps_(rests_of(geometry)) {
    const WindowGeometry& rests = taps_.geometry();
    for (std::int64_t tap = 0; tap < geometry.taps(); ++tap) {
        std::int64_t left = tap;
        std::int64_t rest = 0;
        std::int64_t position = 0;
        std::int64_t rest_step = 1;
        std::int64_t step = 1;
        for (std::size_t axis = Window::max_rank; axis-- > 0;) {
            const std::int64_t element = left % geometry.kernel[axis] * geometry.dilation[axis];
            left /= geometry.kernel[axis];
            rest += element % geometry.stride[axis] * rest_step;
            position += element / geometry.stride[axis] * step;
            rest_step *= rests.kernel[axis];
            step *= rests.positions[axis];
        }
        offsets_.push_back(rest * rests.windows() + position);
    }
}

void WindowPlanes::write(const float* plane, float* to) const {
    const std::int64_t words = taps_.geometry().windows();
    for (std::int64_t rest = 0; rest < taps_.geometry().taps(); ++rest, to += words) {
        taps_.read(plane, rest, 0.0F, to);
    }
}

}  // namespace cambrian::cpu

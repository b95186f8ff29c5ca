#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/graph/window_geometry.hpp"

namespace cambrian::cpu {

/// What the taps of a window read of one plane, in runs along its last axis.
class WindowTaps {
  public:
    explicit WindowTaps(const WindowGeometry& geometry);

    [[nodiscard]] const WindowGeometry& geometry() const { return geometry_; }
    /// Writes what the tap of every window reads.
    void read(const float* plane, std::int64_t tap, float outside, float* to) const;
    /// Adds one number for every window to the element that the tap reads.
    void add(float* plane, std::int64_t tap, const float* from) const;

  private:
    struct Tap {
        std::int64_t first = 0;  ///< Element that window 0 reads, or would if it were inside.
        std::array<WindowGeometry::Interval, Window::max_rank> inside;
    };

    WindowGeometry geometry_;
    std::array<std::int64_t, Window::max_rank> step_{};  ///< Elements between windows of an axis.
    std::vector<Tap> taps_;
};

}  // namespace cambrian::cpu

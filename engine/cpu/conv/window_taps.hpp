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

/// Copies of planes with their padding, cut so that neighbouring windows read neighbours: elements
/// whose positions leave the same rest by the stride, along every axis, make a plane of their own.
/// Tap t of window (z, y, x) is at offset(t) + z × slab() + y × row() + x.
class WindowPlanes {
  public:
    explicit WindowPlanes(const WindowGeometry& geometry);

    /// Of one plane's copy.
    [[nodiscard]] std::int64_t words() const {
        return taps_.geometry().taps() * taps_.geometry().windows();
    }
    [[nodiscard]] std::int64_t row() const { return taps_.geometry().positions[2]; }
    [[nodiscard]] std::int64_t slab() const { return row() * taps_.geometry().positions[1]; }
    [[nodiscard]] std::int64_t offset(std::int64_t tap) const {
        return offsets_[static_cast<std::size_t>(tap)];
    }
    void write(const float* plane, float* to) const;

  private:
    WindowTaps taps_;
    std::vector<std::int64_t> offsets_;
};

}  // namespace cambrian::cpu

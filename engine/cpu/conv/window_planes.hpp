#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/cpu/conv/window_taps.hpp"

namespace cambrian::cpu {

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

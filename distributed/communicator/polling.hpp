#pragma once

#include <algorithm>
#include <chrono>

namespace cambrian::distributed {

/// How long a rank that looks for messages sleeps before it looks again, after so long without one:
/// at first not at all, then longer and longer.
[[nodiscard]] inline std::chrono::microseconds pause_after(std::chrono::microseconds idle) {
    using std::chrono::microseconds;
    constexpr microseconds spin{20};
    constexpr microseconds min_pause{20};
    constexpr microseconds max_pause{500};
    return idle > spin ? std::clamp(idle / 4, min_pause, max_pause) : microseconds{0};
}

}  // namespace cambrian::distributed

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace cambrian::distributed {

/// How long a rank that looks for messages sleeps before it looks again, after so long without one:
/// at first not at all, then longer and longer. While messages are on their way it does not sleep
/// for as long as they should take: they move on when both ranks look, a piece at a time. One to or
/// from a rank that has died never arrives, though.
/// @param bytes of messages that are on their way.
[[nodiscard]] inline std::chrono::microseconds pause_after(std::chrono::microseconds idle,
                                                           std::uint64_t bytes) {
    using std::chrono::microseconds;
    constexpr std::uint64_t bytes_in_a_microsecond = 50;
    if (static_cast<std::uint64_t>(idle.count()) < bytes / bytes_in_a_microsecond)
        return microseconds{0};
    constexpr microseconds spin{20};
    constexpr microseconds min_pause{20};
    constexpr microseconds max_pause{200};
    constexpr int share = 16;  // Of what it has waited already: so much longer does it wait.
    return idle > spin ? std::clamp(idle / share, min_pause, max_pause) : microseconds{0};
}

}  // namespace cambrian::distributed

#pragma once

#include <algorithm>
#include <cstddef>

namespace cambrian {

/// Asks for memory that is read soon and lies anywhere; it need not be valid. Of much of it the
/// processor foresees the rest by itself.
inline void ask_for(const void* first, std::size_t bytes) {
    constexpr std::size_t line = 64;
    constexpr std::size_t most = 16 * line;
    for (std::size_t at = 0; at < std::min(bytes, most); at += line) {
        __builtin_prefetch(static_cast<const std::byte*>(first) + at);
    }
}

/// What so many turns of a loop from now is read is asked for in this one: a few hundred
/// nanoseconds of work.
inline constexpr std::size_t turns_ahead = 8;

}  // namespace cambrian

#pragma once

#include <algorithm>
#include <cstddef>

namespace cambrian {

/// Brings the line of the cache that holds this address; it need not be valid.
[[gnu::always_inline]] inline void prefetch(const void* address) {
    __builtin_prefetch(address, 0, 3);
}

/// The same for so many bytes, which lie anywhere: of much of them the processor foresees the rest
/// by itself.
inline void prefetch(const void* first, std::size_t bytes) {
    constexpr std::size_t line = 64;
    constexpr std::size_t most = 16 * line;
    for (std::size_t at = 0; at < std::min(bytes, most); at += line) {
        prefetch(static_cast<const std::byte*>(first) + at);
    }
}

/// A loop brings what it reads so many turns from now: a few hundred nanoseconds of work.
inline constexpr std::size_t turns_ahead = 8;

}  // namespace cambrian

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// Genomes that a thread takes at once: a few tens of microseconds.
inline constexpr std::size_t block_of_genomes = 32;
/// Births that a thread draws at once.
inline constexpr std::size_t block_of_births = 1024;

/// Calls body(index) for every index below `count`, a thread taking `block` of them at once.
template <class Body>
void for_each_index(ThreadPool& threads, std::size_t count, std::size_t block, const Body& body) {
    threads.for_each(static_cast<std::int64_t>((count + block - 1) / block),
                     [&](std::int64_t item, int) {
                         const std::size_t first = static_cast<std::size_t>(item) * block;
                         const std::size_t end = std::min(first + block, count);
                         for (std::size_t index = first; index < end; ++index) {
                             body(index);
                         }
                     });
}

}  // namespace cambrian::distributed

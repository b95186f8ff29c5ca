#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// Genomes that a thread takes at once: a few tens of microseconds.
inline constexpr std::size_t block_of_genomes = 32;
/// Births that a thread draws at once.
inline constexpr std::size_t block_of_births = 1024;

/// Blocks of `size` that cover `count`.
[[nodiscard]] constexpr std::size_t blocks_of(std::size_t count, std::size_t size) {
    return (count + size - 1) / size;
}

/// Indices that a thread takes at once.
struct Block {
    std::size_t number = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Calls body(block, worker) for blocks of `size` that cover the indices below `count`, see
/// ThreadPool::for_each.
template <class Body>
void for_each_block(ThreadPool& threads, std::size_t count, std::size_t size, const Body& body) {
    threads.for_each(static_cast<std::int64_t>(blocks_of(count, size)),
                     [&](std::int64_t item, int worker) {
                         const auto number = static_cast<std::size_t>(item);
                         const std::size_t begin = number * size;
                         body(Block{number, begin, std::min(begin + size, count)}, worker);
                     });
}

/// Calls body(index) for every index below `count`, a thread taking `block` of them at once.
template <class Body>
void for_each_index(ThreadPool& threads, std::size_t count, std::size_t block, const Body& body) {
    for_each_block(threads, count, block, [&](const Block& indices, int) {
        for (std::size_t index = indices.begin; index < indices.end; ++index) {
            body(index);
        }
    });
}

/// What add(index, sum) has made of every index below `count`: a sum for each block, then one of
/// them in their order by Sum::add.
template <class Sum, class Add>
[[nodiscard]] Sum sum_over(ThreadPool& threads, std::size_t count, std::size_t block,
                           const Add& add) {
    std::vector<Sum> sums(blocks_of(count, block));
    for_each_block(threads, count, block, [&](const Block& indices, int) {
        Sum sum;
        for (std::size_t index = indices.begin; index < indices.end; ++index) {
            add(index, sum);
        }
        sums[indices.number] = sum;
    });
    Sum total;
    for (const Sum& sum : sums) {
        total.add(sum);
    }
    return total;
}

}  // namespace cambrian::distributed

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/genome/dna.hpp"

namespace cambrian::evolve {

/// How alike networks are to each other: [count, count], symmetric, with the same bits for any
/// number of threads.
using Gram = std::vector<double>;

/// Fills a Gram matrix by similarity(i, j) for i < j, which is asked once for each pair; 1 on the
/// diagonal.
[[nodiscard]] Gram gram_matrix(
    std::size_t count, ThreadPool& threads,
    const std::function<double(std::size_t i, std::size_t j)>& similarity);

/// Comparison::overall of all pairs, of signatures that are made once; where asked for, after an
/// alignment of the later one of a pair that makes it no less like the other.
[[nodiscard]] Gram gram_matrix(std::span<const Genome* const> genomes, DnaMode mode,
                               ThreadPool& threads);

}  // namespace cambrian::evolve

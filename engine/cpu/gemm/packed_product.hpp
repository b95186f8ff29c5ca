#pragma once

#include <cstdint>
#include <span>

#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/weights/quantised_matrix.hpp"

namespace cambrian::cpu {

/// y [batch, rows] = x [batch, columns] · Wᵀ with a matrix W that stays in its codes: they are
/// decoded on load, a strip of a row at a time, so that no more than packed_strip numbers of it
/// exist on a thread. Each decoded number is the one that dequantise() gives. Every element of y
/// adds 32 chains, one for each column modulo 32 in ascending order, each product and each sum
/// rounded, in halves: the same bits for any batch and number of threads. Contract: x and y have as
/// many elements as that says.
void packed_product(const QuantisedMatrix& weights, std::span<const float> x, std::int64_t batch,
                    std::span<float> y, ThreadPool& threads);

/// Decoded numbers of W that a thread holds.
inline constexpr std::int64_t packed_strip = 1024;

}  // namespace cambrian::cpu

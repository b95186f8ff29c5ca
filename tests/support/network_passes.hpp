#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian::test {

/// A network in inference: x [rows, time, features] → [rows, time, outputs].
[[nodiscard]] Tensor infer(Backend& backend, const Network& network, std::span<const float> weights,
                           const Tensor& x);
/// The gradient of the mean square of what a network in training answers: one element for each
/// weight.
[[nodiscard]] Tensor train_gradient(Backend& backend, const Network& network,
                                    std::span<const float> weights, const Tensor& x);
/// The weights that a network starts with.
[[nodiscard]] std::vector<float> start_weights(const Network& network, std::uint64_t seed);
/// Rows that a network reads: standard normal values, or ids below a vocabulary unless it is 0.
[[nodiscard]] Tensor some_inputs(const Network& network, std::int64_t rows, std::int64_t time,
                                 std::int64_t vocabulary);
[[nodiscard]] bool all_finite(const Tensor& tensor);

/// What is left of a blueprint after it was written to a config and read back, and to bytes.
[[nodiscard]] Blueprint through_json(const Blueprint& blueprint);
[[nodiscard]] Blueprint through_archive(const Blueprint& blueprint);

}  // namespace cambrian::test

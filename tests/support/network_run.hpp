#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/network.hpp"

namespace cambrian::test {

/// A blueprint from the text of a config's network object.
[[nodiscard]] Blueprint blueprint_of(std::string_view json, std::int64_t input_features,
                                     std::int64_t output_features);

/// Weights that are all different and not zero.
[[nodiscard]] std::vector<float> some_weights(const Network& network);

/// A batch of rows with standard normal values.
[[nodiscard]] Tensor some_rows(std::vector<std::int64_t> extents, std::uint64_t seed = 1);

/// Output of a stateless network in double precision.
[[nodiscard]] Tensor run(const Network& network, std::span<const float> weights, const Tensor& x);

/// Output of Network::sequence for x [batch, time, features].
[[nodiscard]] Tensor run_sequence(const Network& network, std::span<const float> weights,
                                  const Tensor& x);

/// Outputs of Network::step called for one step after the other, laid out like run_sequence.
[[nodiscard]] Tensor run_steps(const Network& network, std::span<const float> weights,
                               const Tensor& x);

/// Largest absolute difference of the elements of two tensors of one shape.
[[nodiscard]] double difference(const Tensor& a, const Tensor& b);

/// Index into weights() of a weight tensor by its name.
[[nodiscard]] std::size_t range_named(const Network& network, std::string_view name);

/// Sets all elements of a weight tensor.
void fill(std::vector<float>& weights, const Network& network, std::string_view name, float value);

}  // namespace cambrian::test

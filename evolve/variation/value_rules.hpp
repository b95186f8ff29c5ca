#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/core/random.hpp"

namespace cambrian::evolve {

/// What time constants of continuous neurons are limited to, as every step divides by them: noise
/// that led through 0 would let a neuron run away from its value.
inline constexpr float min_time_constant = 0.1F;
inline constexpr float max_time_constant = 100.0F;

/// How values of one group differ from a parent's, one by one: some get noise, others start afresh
/// at `mean` with noise of `deviation`. Those that differ are limited to [least, largest].
struct ValueRule {
    float noise_rate = 0.0F;
    float replace_rate = 0.0F;
    float power = 0.0F;  ///< Of the noise.
    float mean = 0.0F;
    float deviation = 1.0F;
    float least = 0.0F;
    float largest = 0.0F;
    bool uniform = false;  ///< Noise is uniform in ±1, else normal.
    bool operator==(const ValueRule&) const = default;
};

/// What a child does with the values of its genes by rules: nothing without ranges.
struct ValueRules {
    /// Elements of a weight vector that have a rule.
    struct Range {
        std::int64_t first = 0;
        std::int64_t count = 0;
        std::size_t rule = 0;
    };
    std::array<ValueRule, 5> rules{};
    std::vector<Range> ranges;  ///< In order.
    RandomField choice;         ///< Which values differ; counted by the elements of the child.
    RandomField noise;          ///< How much, where noise is normal.
    RandomField
        uniform_noise;  ///< How much elsewhere: a pair of normals takes its neighbour's word.

    /// Lets the weights of a child differ.
    void apply(std::span<float> weights) const;
};

}  // namespace cambrian::evolve

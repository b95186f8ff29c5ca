#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/weights/initial_value.hpp"

namespace cambrian::evolve {

/// How values of one group differ from a parent's, one by one: some get noise, others start afresh
/// at `mean` with noise of `deviation`, or as their parameter does. Those that differ are limited
/// to [least, largest].
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
        std::optional<InitialRule> initial{};  ///< Of fresh values, in place of the rule's mean.
    };
    std::array<ValueRule, 5> rules{};
    std::vector<Range> ranges;  ///< In order.
    RandomField choice;         ///< Which values differ; counted by the elements of the child.
    RandomField noise;          ///< How much, where noise is normal.
    RandomField uniform_noise;  ///< How much elsewhere, as a pair of normals takes its neighbour's
                                ///< word; and what random initial values are made of.

    /// Lets the weights of a child differ.
    void apply(std::span<float> weights) const;
};

}  // namespace cambrian::evolve

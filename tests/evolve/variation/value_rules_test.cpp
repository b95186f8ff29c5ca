#include "cambrian/evolve/variation/value_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

namespace cambrian::evolve::value_rules_test {
namespace {

/// Values that all start afresh, the first three with normal noise and the others with uniform.
ValueRules fresh(std::uint64_t id) {
    ValueRules rules;
    rules.rules[0] = {.replace_rate = 1.0F, .least = -10.0F, .largest = 10.0F};
    rules.rules[1] = rules.rules[0];
    rules.rules[1].uniform = true;
    rules.ranges = {{0, 3, 0}, {3, 3, 1}};
    rules.choice = {random_key(1, "test"), id, 1};
    rules.noise = {random_key(1, "test"), id, 2};
    rules.uniform_noise = {random_key(1, "test"), id, 3};
    return rules;
}

TEST(ValueRules, NormalAndUniformNoiseShareNoDraw) {
    constexpr std::uint64_t count = 4000;
    std::vector<int> alike(6, 0);
    for (std::uint64_t id = 0; id < count; ++id) {
        std::vector<float> weights(6, 0.0F);
        fresh(id).apply(weights);
        // The fourth value would be the other half of the third one's pair.
        for (std::size_t i = 0; i < 6; ++i)
            alike[i] += (weights[i] > 0.0F) == (weights[3] > 0.0F) ? 1 : 0;
    }
    for (const std::size_t i : {0U, 1U, 2U, 4U, 5U})
        EXPECT_NEAR(alike[i], count / 2.0, 5.0 * 31.6) << i;
}

TEST(ValueRules, ValuesThatDifferKeepTheirLimits) {
    ValueRules rules = fresh(1);
    rules.rules[0].least = rules.rules[1].least = 0.25F;
    rules.rules[0].largest = rules.rules[1].largest = 0.5F;
    std::vector<float> weights(7, 9.0F);
    rules.apply(weights);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_GE(weights[i], 0.25F);
        EXPECT_LE(weights[i], 0.5F);
    }
    EXPECT_EQ(weights[6], 9.0F);
}

TEST(ValueRules, FreshValuesAreAsTheirParameterStartsWhereItSaysSo) {
    const InitialRule pattern{.initial = Initial::log_index, .period = 3};
    const InitialRule drawn{.initial = Initial::weight, .bound = 0.5F};
    ValueRules rules = fresh(1);
    rules.rules[0].mean = 7.0F;
    rules.ranges = {{2, 300, 0, pattern}, {302, 300, 0, drawn}};
    std::vector<float> weights(602, 9.0F);
    rules.apply(weights);
    EXPECT_EQ(weights[0], 9.0F);
    for (std::int64_t i = 0; i < 300; ++i)
        ASSERT_EQ(weights[static_cast<std::size_t>(2 + i)], initial_value(pattern, i, 0.0F)) << i;
    const auto [least, largest] = std::ranges::minmax(std::span(weights).subspan(302));
    EXPECT_NEAR(least, -0.5F, 0.05F);
    EXPECT_NEAR(largest, 0.5F, 0.05F);
}

}  // namespace
}  // namespace cambrian::evolve::value_rules_test

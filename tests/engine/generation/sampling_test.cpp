#include "cambrian/engine/generation/sampling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

constexpr float none = -std::numeric_limits<float>::infinity();

/// How often each token is chosen in so many places.
std::vector<double> shares(const std::vector<float>& logits, const SamplingSettings& settings,
                           std::uint64_t draws = 20000) {
    std::vector<double> counts(logits.size(), 0.0);
    for (std::uint64_t i = 0; i < draws; ++i)
        counts[static_cast<std::size_t>(
            sample_token(logits, {}, settings, {.seed = 3, .prompt = i % 7, .position = i / 7}))] +=
            1.0 / static_cast<double>(draws);
    return counts;
}

/// Logits of probabilities.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
    std::vector<float> logits;
    for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + 5.0));
    return logits;
}

void expect_shares(const std::vector<double>& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (expected[i] == 0.0)
            EXPECT_EQ(actual[i], 0.0) << i;
        else
            EXPECT_NEAR(actual[i], expected[i], 0.015) << i;
    }
}

const std::vector<float> example = logits_of({0.4, 0.3, 0.2, 0.1});

TEST(Sampling, ATemperatureOfZeroTakesTheFirstOfTheMostLikely) {
    const std::vector<float> logits{1.0F, 3.0F, 3.0F, none};
    EXPECT_EQ(sample_token(logits, {}, {.temperature = 0.0}, {}), 1);
}

TEST(Sampling, DrawsFromTheSoftmax) {
    expect_shares(shares(example, {}), {0.4, 0.3, 0.2, 0.1});
}

TEST(Sampling, ATemperatureSharpensOrFlattens) {
    // p^(1/T), normalised.
    const double sum = 0.16 + 0.09 + 0.04 + 0.01;
    expect_shares(shares(example, {.temperature = 0.5}),
                  {0.16 / sum, 0.09 / sum, 0.04 / sum, 0.01 / sum});
}

TEST(Sampling, TopKLeavesSoMany) {
    expect_shares(shares(example, {.top_k = 2}), {4.0 / 7.0, 3.0 / 7.0, 0.0, 0.0});
    expect_shares(shares(example, {.top_k = 1}), {1.0, 0.0, 0.0, 0.0});
    expect_shares(shares(example, {.top_k = 9}), {0.4, 0.3, 0.2, 0.1});
}

TEST(Sampling, TopPLeavesTheFewestThatHaveTheMass) {
    expect_shares(shares(example, {.top_p = 0.65}), {4.0 / 7.0, 3.0 / 7.0, 0.0, 0.0});
    expect_shares(shares(example, {.top_p = 0.75}), {4.0 / 9.0, 3.0 / 9.0, 2.0 / 9.0, 0.0});
    expect_shares(shares(example, {.top_p = 0.01}), {1.0, 0.0, 0.0, 0.0});
    // Of what top_k leaves: 4/7 alone are below 0.6.
    expect_shares(shares(example, {.top_k = 2, .top_p = 0.6}), {4.0 / 7.0, 3.0 / 7.0, 0.0, 0.0});
    expect_shares(shares(example, {.top_k = 2, .top_p = 0.5}), {1.0, 0.0, 0.0, 0.0});
}

TEST(Sampling, MinPLeavesAShareOfTheMostLikely) {
    expect_shares(shares(example, {.min_p = 0.6}), {4.0 / 7.0, 3.0 / 7.0, 0.0, 0.0});
    expect_shares(shares(example, {.min_p = 1.0}), {1.0, 0.0, 0.0, 0.0});
}

TEST(Sampling, TokensThatWereThereAreLessLikely) {
    const std::vector<float> logits{2.0F, 1.5F, -1.0F, -1.5F};
    const SamplingSettings greedy{.repetition_penalty = 2.0, .temperature = 0.0};
    const std::array<std::int64_t, 3> history{0, 0, 9};
    EXPECT_EQ(sample_token(logits, {}, greedy, {}), 0);
    EXPECT_EQ(sample_token(logits, history, greedy, {}), 1);  // 2 / 2 is below 1.5
    // Negative logits fall, too.
    const std::vector<float> negative{-1.0F, -1.5F};
    EXPECT_EQ(sample_token(negative, std::array<std::int64_t, 1>{0}, greedy, {}), 1);
}

TEST(Sampling, EqualPlacesChooseAlikeAndOthersDoNot) {
    const std::vector<float> logits(1000, 0.0F);
    const auto at = [&](std::uint64_t seed, std::uint64_t prompt, std::uint64_t position) {
        return sample_token(logits, {}, {}, {.seed = seed, .prompt = prompt, .position = position});
    };
    EXPECT_EQ(at(1, 2, 3), at(1, 2, 3));
    const std::set<std::int64_t> others{at(1, 2, 3), at(2, 2, 3), at(1, 3, 3), at(1, 2, 4)};
    EXPECT_EQ(others.size(), 4U);
}

TEST(Sampling, ImpossibleTokensAreNeverChosen) {
    expect_shares(shares({none, 1.0F, none, 1.0F}, {}), {0.0, 0.5, 0.0, 0.5});
}

TEST(Sampling, AnswersThatAreNoNumbersAreRefused) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const std::vector<float>& logits : {std::vector{1.0F, nan}, std::vector{1.0F, -none}})
        EXPECT_THAT([&] { static_cast<void>(sample_token(logits, {}, {}, {})); },
                    testing::ThrowsMessage<InputError>(testing::HasSubstr("for token 1")));
    EXPECT_THROW(static_cast<void>(sample_token(std::vector{none, none}, {}, {}, {})), InputError);
}

TEST(Sampling, SettingsOutOfRangeAreRefusedByName) {
    const auto refusal = [](const SamplingSettings& settings) -> std::string {
        try {
            check(settings);
        } catch (const ConfigError& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_EQ(refusal({}), "");
    EXPECT_THAT(refusal({.repetition_penalty = 0.0}), testing::HasSubstr("repetition_penalty"));
    EXPECT_THAT(refusal({.temperature = -1.0}), testing::HasSubstr("temperature"));
    EXPECT_THAT(refusal({.top_k = -1}), testing::HasSubstr("top_k"));
    EXPECT_THAT(refusal({.top_p = 0.0}), testing::HasSubstr("top_p"));
    EXPECT_THAT(refusal({.min_p = 1.5}), testing::HasSubstr("min_p"));
    EXPECT_THAT(refusal({.temperature = std::nan("")}), testing::HasSubstr("temperature"));
}

}  // namespace
}  // namespace cambrian

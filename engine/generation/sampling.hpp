#pragma once

#include <cstdint>
#include <span>

#include "cambrian/engine/core/json/field.hpp"

namespace cambrian {

/// How the next token is chosen of what a network answers. Applied in the order of the members.
struct SamplingSettings {
    double repetition_penalty = 1.0;
    double temperature = 1.0;
    std::int64_t top_k = 0;
    double top_p = 1.0;
    double min_p = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"repetition_penalty", &SamplingSettings::repetition_penalty,
              FieldRange{0.0, 1e6, true},
              "Logits of tokens that were there are divided by it where positive, else multiplied "
              "with it (Keskar et al., 2019)."},
        Field{"temperature", &SamplingSettings::temperature, FieldRange{0.0, 1e6},
              "Logits are divided by it; 0: always the most likely token, the first of equals."},
        Field{"top_k", &SamplingSettings::top_k, FieldRange{0.0, 1e9},
              "Only so many of the most likely tokens; 0: all (Fan et al., 2018)."},
        Field{"top_p", &SamplingSettings::top_p, FieldRange{0.0, 1.0, true},
              "Only the fewest of the most likely tokens that have this probability together "
              "(Holtzman et al., 2020)."},
        Field{"min_p", &SamplingSettings::min_p, FieldRange{0.0, 1.0},
              "Only tokens with this share of the probability of the most likely one (Nguyen et "
              "al., 2024)."},
    };
    bool operator==(const SamplingSettings&) const = default;
};

/// Throws ConfigError naming the setting that is out of its range.
void check(const SamplingSettings& settings);

/// Where a random choice is made: equal ones are made alike, whoever shares the batch.
struct SamplingPlace {
    std::uint64_t seed = 1;
    std::uint64_t prompt = 0;    ///< Number of the prompt.
    std::uint64_t position = 0;  ///< Of the chosen token in its sequence.
};

/// The id of the next token. −∞ is a token that cannot be. Arithmetic is our own, so that equal
/// logits give equal ids on every machine. Throws InputError for logits that are no numbers, +∞, or
/// all −∞.
/// @param history what the repetition penalty looks at.
[[nodiscard]] std::int64_t sample_token(std::span<const float> logits,
                                        std::span<const std::int64_t> history,
                                        const SamplingSettings& settings,
                                        const SamplingPlace& place);

}  // namespace cambrian

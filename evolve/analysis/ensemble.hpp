#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/evolve/analysis/answers.hpp"

// Several networks that answer together, and which of them go well together.
namespace cambrian::evolve {

enum class Ensemble : std::uint8_t {
    majority,  ///< Classes: a vote of each. Probabilities are the shares of the votes.
    weighted,  ///< Classes: votes that count by weights. Numbers: the weighted mean.
    mean,      ///< The mean of probabilities or numbers.
};
inline constexpr std::array<std::string_view, 3> ensemble_names{"majority", "weighted", "mean"};

/// What members answer together. Of classes with equally many votes that with the larger sum of
/// (weighted) probabilities wins, of these the lowest one.
/// Contract: a member, a weight each for `weighted`, not negative and not all 0, classes for
/// `majority`.
[[nodiscard]] Answers ensemble_answers(Ensemble how, bool classes, std::size_t width,
                                       std::span<const Answers* const> members,
                                       std::span<const double> weights = {});

/// Two networks that are right on different rows.
struct ComplementaryPair {
    std::size_t first = 0;  ///< Index of a network, below `second`.
    std::size_t second = 0;
    double coverage = 0.0;  ///< Share of rows that one or both answer right.
    double overlap = 0.0;   ///< Share of rows that both answer right.
    double similarity =
        0.0;  ///< Cosine of the two rows of right (1) and wrong (0); 0 for none right.
};
/// The first pairs of that coverage at least, the highest coverage first, then the lowest overlap,
/// then in the order of the networks.
/// @param right by network whether it is right by row, all of equal length.
/// @param max_pairs all that is kept of them; one at least.
[[nodiscard]] std::vector<ComplementaryPair> complementary_pairs(
    std::span<const std::vector<std::uint8_t>> right, double min_coverage = 0.0,
    std::size_t max_pairs = std::numeric_limits<std::size_t>::max());

}  // namespace cambrian::evolve

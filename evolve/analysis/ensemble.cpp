#include "cambrian/evolve/analysis/ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

/// Of every value, by weights that add up to 1.
std::vector<double> mean_values(std::span<const Answers* const> members,
                                std::span<const double> shares) {
    std::vector<double> mean(members.front()->values.size(), 0.0);
    for (std::size_t member = 0; member < members.size(); ++member)
        for (std::size_t i = 0; i < mean.size(); ++i)
            mean[i] += shares[member] * members[member]->values[i];
    return mean;
}

std::vector<double> shares_of(std::size_t members, std::span<const double> weights) {
    std::vector<double> shares(weights.begin(), weights.end());
    shares.resize(members, 1.0);
    double sum = 0.0;
    for (const double share : shares) sum += share;
    CAMBRIAN_EXPECT(sum > 0.0);
    for (double& share : shares) share /= sum;
    return shares;
}

/// Votes of members by row and class.
std::vector<double> votes_of(std::size_t width, std::span<const Answers* const> members,
                             std::span<const double> weights) {
    std::vector<double> votes(members.front()->values.size(), 0.0);
    for (std::size_t member = 0; member < members.size(); ++member) {
        const double weight = weights.empty() ? 1.0 : weights[member];
        for (std::size_t row = 0; row < members[member]->chosen.size(); ++row)
            votes[row * width + members[member]->chosen[row]] += weight;
    }
    return votes;
}

ComplementaryPair pair_of(std::span<const std::vector<std::uint8_t>> right, std::size_t a,
                          std::size_t b) {
    CAMBRIAN_EXPECT(right[a].size() == right[b].size() && !right[a].empty());
    double of_a = 0.0;
    double of_b = 0.0;
    double both = 0.0;
    for (std::size_t row = 0; row < right[a].size(); ++row) {
        of_a += right[a][row] != 0 ? 1.0 : 0.0;
        of_b += right[b][row] != 0 ? 1.0 : 0.0;
        both += right[a][row] != 0 && right[b][row] != 0 ? 1.0 : 0.0;
    }
    const auto rows = static_cast<double>(right[a].size());
    return {.first = a,
            .second = b,
            .coverage = (of_a + of_b - both) / rows,
            .overlap = both / rows,
            .similarity = of_a > 0.0 && of_b > 0.0 ? both / std::sqrt(of_a * of_b) : 0.0};
}

/// Whether a pair stands above another one; no two are equal.
bool stands_above(const ComplementaryPair& x, const ComplementaryPair& y) {
    return std::tuple(-x.coverage, x.overlap, x.first, x.second) <
           std::tuple(-y.coverage, y.overlap, y.first, y.second);
}

}  // namespace

Answers ensemble_answers(Ensemble how, bool classes, std::size_t width,
                         std::span<const Answers* const> members, std::span<const double> weights) {
    CAMBRIAN_EXPECT(!members.empty() && width > 0);
    CAMBRIAN_EXPECT(classes || how != Ensemble::majority);
    CAMBRIAN_EXPECT(how != Ensemble::weighted || weights.size() == members.size());
    const std::span<const double> counted =
        how == Ensemble::weighted ? weights : std::span<const double>{};
    Answers result{mean_values(members, shares_of(members.size(), counted)), {}};
    if (!classes) return result;
    const std::size_t rows = result.values.size() / width;
    if (how == Ensemble::mean) {
        for (std::size_t row = 0; row < rows; ++row)
            result.chosen.push_back(static_cast<std::uint32_t>(
                first_largest(result.values.data() + row * width, width)));
        return result;
    }
    std::vector<double> votes = votes_of(width, members, counted);
    for (std::size_t row = 0; row < rows; ++row) {
        const double* own = votes.data() + row * width;
        const double* probability = result.values.data() + row * width;
        std::size_t best = 0;
        for (std::size_t k = 1; k < width; ++k)
            if (std::tie(own[k], probability[k]) > std::tie(own[best], probability[best])) best = k;
        result.chosen.push_back(static_cast<std::uint32_t>(best));
    }
    for (std::size_t row = 0; row < rows; ++row) {
        double sum = 0.0;
        for (std::size_t k = 0; k < width; ++k) sum += votes[row * width + k];
        for (std::size_t k = 0; k < width; ++k) votes[row * width + k] /= sum;
    }
    result.values = std::move(votes);
    return result;
}

std::vector<ComplementaryPair> complementary_pairs(std::span<const std::vector<std::uint8_t>> right,
                                                   double min_coverage, std::size_t max_pairs) {
    CAMBRIAN_EXPECT(max_pairs > 0);
    std::vector<ComplementaryPair> pairs;  // A heap: the lowest one first.
    for (std::size_t a = 0; a < right.size(); ++a)
        for (std::size_t b = a + 1; b < right.size(); ++b) {
            const ComplementaryPair pair = pair_of(right, a, b);
            if (pair.coverage < min_coverage) continue;
            if (pairs.size() == max_pairs) {
                if (!stands_above(pair, pairs.front())) continue;
                std::ranges::pop_heap(pairs, stands_above);
                pairs.pop_back();
            }
            pairs.push_back(pair);
            std::ranges::push_heap(pairs, stands_above);
        }
    std::ranges::sort_heap(pairs, stands_above);
    return pairs;
}

}  // namespace cambrian::evolve

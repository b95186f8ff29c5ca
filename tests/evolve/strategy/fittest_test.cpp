#include "cambrian/evolve/strategy/fittest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace cambrian::evolve::fittest_tests {
namespace {

std::vector<std::uint32_t> sorted_positions(const Scores& scores, std::size_t count) {
    std::vector<std::uint32_t> positions;
    for (std::uint32_t position = 0; position < scores.size(); ++position) {
        if (scores.valid(position) && !std::isnan(scores.fitness[position])) {
            positions.push_back(position);
        }
    }
    std::ranges::stable_sort(positions, std::ranges::greater{},
                             [&](std::uint32_t position) { return scores.fitness[position]; });
    positions.resize(std::min(count, positions.size()));
    return positions;
}

TEST(Fittest, AreThoseThatSortingFinds) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    const std::vector<std::function<double()>> fitnesses{
        [&] { return normal(random); }, [&] { return std::floor(5.0 * normal(random)); },
        [&] { return std::exp(30.0 * normal(random)); },
        [&] { return -std::exp(30.0 * normal(random)); }, [&] { return 1.0; },
        [&] { return random() % 2 == 0 ? 0.0 : -0.0; },
        [&] { return random() % 100 == 0 ? std::numeric_limits<double>::max() : normal(random); },
        [&] { return random() % 9 == 0 ? std::nan("") : 1e-310 * normal(random); },
        // Close together, some of them much closer, and so on; of both signs, some twice.
        [&] {
            const std::uint64_t bits =
                std::bit_cast<std::uint64_t>(1.0) + (random() >> (12 + random() % 52));
            return (random() % 2 == 0 ? 1.0 : -1.0) * std::bit_cast<double>(bits);
        },
        [&] {
            constexpr double infinity = std::numeric_limits<double>::infinity();
            const std::uint64_t kind = random() % 16;
            return kind == 0 ? infinity : kind == 1 ? -infinity : normal(random);
        }};
    for (const auto& fitness : fitnesses) {
        for (const std::size_t births : {1U, 2U, 3U, 16U, 17U, 18U, 100U, 5000U, 65536U}) {
            Scores scores(births);
            for (std::size_t position = 0; position < births; ++position) {
                if (random() % 8 != 0) {
                    scores.fitness[position] = fitness();
                    scores.status[position] = Status::ok;
                }
            }
            for (const std::size_t count :
                 {std::size_t{0}, std::size_t{1}, births / 3, births, 2 * births}) {
                EXPECT_EQ(fittest_positions(scores, count), sorted_positions(scores, count));
            }
        }
    }
}

TEST(Fittest, OfFewThatAreFarApartAreFound) {
    Scores scores(4);
    const std::vector<double> fitness{-2.0, 500.0, -1e300, 2.0};
    for (const std::size_t valid : {1U, 2U, 3U, 4U}) {
        scores.fitness[valid - 1] = fitness[valid - 1];
        scores.status[valid - 1] = Status::ok;
        EXPECT_EQ(fittest_positions(scores, valid).size(), valid);
    }
    EXPECT_EQ(fittest_positions(scores, 4), (std::vector<std::uint32_t>{1, 3, 0, 2}));
}

TEST(Fittest, OfNothingValidAreNone) {
    EXPECT_TRUE(fittest_positions(Scores(), 3).empty());
    EXPECT_TRUE(fittest_positions(Scores(5), 3).empty());
}

}  // namespace
}  // namespace cambrian::evolve::fittest_tests

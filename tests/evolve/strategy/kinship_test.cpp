#include "cambrian/evolve/strategy/kinship.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/strategy/offspring.hpp"

namespace cambrian::evolve::kinship_tests {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Networks of one structure all of whose weights are one number: as far apart as the numbers.
class Line {
  public:
    explicit Line(const std::vector<float>& numbers) {
        Blueprint blueprint;
        blueprint.input_features = blueprint.output_features = 1;
        blueprint.head = fitted_layer("dense", {1}, {1}).value();
        blueprint.grid.layers_per_cell = 1;
        blueprint.slots.emplace_back(Slot{.layer = blueprint.head});
        for (const float number : numbers) {
            Genome genome = founder_genome(blueprint, 0);
            genome.weights.assign(4, number);  // of two layers, each with a bias
            individuals_.emplace_back(std::move(genome));
        }
        for (const Individual& individual : individuals_) {
            pointers_.push_back(&individual);
        }
    }
    [[nodiscard]] std::span<const Individual* const> all() const { return pointers_; }
    [[nodiscard]] const Individual& operator[](std::size_t i) const { return individuals_[i]; }

  private:
    std::vector<Individual> individuals_;
    std::vector<const Individual*> pointers_;
};

Kinship within_three(Matching matching, std::size_t representatives = 0) {
    return {.begin = 0,
            .end = 100,
            .representatives = std::vector<PoolPlace>(representatives),
            .threshold = 3.0,
            .matching = matching,
            .distance = {.weight = 1.0}};
}

TEST(Kinship, FoundsSpeciesInTheOrderOfPositions) {
    const Line founders({0.0F, 1.0F, 5.0F, 2.75F, 8.0F, 7.5F, 3.0F});
    // 8 is 3 away from 5: not below the threshold. 2.75 is within 3 of 0 and of 5, 7.5 of 5 and 8.
    EXPECT_THAT(found_species(within_three(Matching::first), founders.all()),
                ElementsAre(0, 0, 1, 0, 2, 1, 1));
    EXPECT_THAT(found_species(within_three(Matching::nearest), founders.all()),
                ElementsAre(0, 0, 1, 1, 2, 2, 1));
    // Numbers follow those of the species there are.
    EXPECT_THAT(found_species(within_three(Matching::first, 4), founders.all()),
                ElementsAre(4, 4, 5, 4, 6, 5, 5));
}

TEST(Kinship, AChildMatchesARepresentativeOrNone) {
    const Line representatives({0.0F, 2.0F, 9.0F});
    const Line children({1.5F, 4.5F, 5.5F, 11.0F, -3.0F, 1.0F});
    const auto matches = [&](Matching matching) {
        std::vector<std::uint32_t> found;
        for (const Individual* child : children.all()) {
            found.push_back(
                matching_species(within_three(matching, 3), *child, representatives.all()));
        }
        return found;
    };
    EXPECT_THAT(matches(Matching::first), ElementsAre(0, 1, unmatched, 2, unmatched, 0));
    // 1 is as far from 0 as from 2: of equals the first.
    EXPECT_THAT(matches(Matching::nearest), ElementsAre(1, 1, unmatched, 2, unmatched, 0));
}

std::vector<Survivor> members(const std::vector<double>& fitness) {
    std::vector<Survivor> result;
    for (const double value : fitness) {
        result.push_back({static_cast<std::uint32_t>(result.size()), value});
    }
    return result;
}

TEST(SharedFitness, OfNegativeFitnessByHand) {
    const auto a = members({-1.0, -3.0});
    const auto b = members({1.0});
    const std::vector<SharingSpecies> species{{a, 50}, {b, 3}};
    // -3 to 1: nothing, half and the whole of the range.
    EXPECT_THAT(shared_fitness(species, {}), ElementsAre(DoubleEq(0.25), DoubleEq(1.0)));
    EXPECT_THAT(shared_fitness(species, {.sharing = Sharing::ranks}),
                ElementsAre(DoubleEq(1.5), DoubleEq(3.0)));
    EXPECT_THAT(shared_fitness(species, {.young_boost = 1.5, .old_penalty = 0.5}),
                ElementsAre(DoubleEq(0.125), DoubleEq(1.5)));
    EXPECT_THAT([&] { static_cast<void>(shared_fitness(species, {.sharing = Sharing::plain})); },
                ThrowsMessage<ConfigError>(HasSubstr("a fitness is -3, and none may be negative")));
}

TEST(SharedFitness, EqualFitnessIsSharedAlikeAndLargeNumbersStayFinite) {
    const auto a = members({2.0, 2.0, 2.0});
    const auto b = members({2.0});
    for (const Sharing sharing : {Sharing::shifted, Sharing::ranks, Sharing::plain}) {
        EXPECT_THAT(
            shared_fitness(std::vector<SharingSpecies>{{a, 0}, {b, 0}}, {.sharing = sharing}),
            ElementsAre(DoubleEq(1.0), DoubleEq(1.0)));
    }
    const auto low = members({-1.5e308});
    const auto high = members({1.5e308, 1.5e308});
    EXPECT_THAT(shared_fitness(std::vector<SharingSpecies>{{low, 0}, {high, 0}}, {}),
                ElementsAre(DoubleEq(0.0), DoubleEq(1.0)));
}

TEST(OffspringCounts, ByHand) {
    const auto counts = [](std::vector<double> shares, std::uint64_t births, std::uint64_t least) {
        return offspring_counts(shares, births, least);
    };
    EXPECT_THAT(counts({1.0, 1.0, 1.0}, 10, 0), ElementsAre(4, 3, 3));
    EXPECT_THAT(counts({0.0, 0.0}, 5, 0), ElementsAre(3, 2));
    // Quotas 3.5, 2.1 and 1.4.
    EXPECT_THAT(counts({5.0, 3.0, 2.0}, 7, 0), ElementsAre(4, 2, 1));
    // Quotas 9.8, 0.1 and 0.1.
    EXPECT_THAT(counts({98.0, 1.0, 1.0}, 10, 0), ElementsAre(10, 0, 0));
    EXPECT_THAT(counts({98.0, 1.0, 1.0}, 10, 2), ElementsAre(6, 2, 2));
    EXPECT_THAT(counts({1.0, 0.0, 0.0}, 3, 1), ElementsAre(1, 1, 1));
}

TEST(OffspringCounts, AddUpToTheBirthsWhateverTheShares) {
    RandomStream rng(random_key(5, "test"), 1);
    for (int i = 0; i < 2000; ++i) {
        std::vector<double> shares(1 + rng.index(40));
        for (double& share : shares) {
            share = rng.chance(0.2F) ? 0.0 : static_cast<double>(rng.uniform()) * 1e-3;
        }
        const std::uint64_t least = rng.index(3);
        const std::uint64_t births = least * shares.size() + rng.index(1000);
        std::uint64_t sum = 0;
        for (const std::uint64_t count : offspring_counts(shares, births, least)) {
            EXPECT_GE(count, least);
            sum += count;
        }
        EXPECT_EQ(sum, births);
    }
}

}  // namespace
}  // namespace cambrian::evolve::kinship_tests

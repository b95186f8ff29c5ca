#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cambrian/tests/evolve/support/species_support.hpp"

namespace cambrian::evolve::species_tests {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

/// Faithful births with a fitness for each species that lives, the oldest first.
Scores faithful_by_species(const Strategy& subject, const std::vector<double>& fitness) {
    Scores scores = faithful(subject);
    for (std::size_t position = 0; position < scores.size(); ++position) {
        scores.fitness[position] = fitness.at(scores.species[position]);
    }
    return scores;
}

std::vector<std::uint64_t> living_ids(const Strategy& subject) {
    std::vector<std::uint64_t> ids;
    for (const SpeciesSummary& one : subject.species()) {
        if (one.offspring > 0) {
            ids.push_back(one.id);
        }
    }
    return ids;
}

std::vector<std::uint64_t> offspring_of(const Strategy& subject) {
    std::vector<std::uint64_t> counts;
    for (const SpeciesSummary& one : subject.species()) {
        counts.push_back(one.offspring);
    }
    return counts;
}

auto improved_in(std::uint64_t generation) {
    return ::testing::Field(&SpeciesSummary::improved, generation);
}

TEST(SpeciesSurvival, TheStagnantDieOutButForTheBest) {
    Shared subject = after(make({.stagnation = 2, .protected_species = 1}), founders());
    subject = after(subject, faithful(*subject));  // generation 1
    EXPECT_THAT(living_ids(*subject), ElementsAre(1, 2, 3));
    // Generation 2: nobody has improved since 0, the best is below its own record of 6.
    subject = after(subject, faithful_by_species(*subject, {1.0, 1.0, 5.0}));
    EXPECT_THAT(subject->species(), Each(improved_in(0)));
    EXPECT_EQ(subject->species().size(), 3U);
    EXPECT_THAT(living_ids(*subject), ElementsAre(3));
    EXPECT_EQ(subject->species()[0].offspring, 10U);
}

TEST(SpeciesSurvival, TheLeastFitGiveWayWhereBirthsAreTooFewForAll) {
    const Shared subject = after(make({.min_size = 4}), founders());
    EXPECT_THAT(living_ids(*subject), ElementsAre(2, 3));
    EXPECT_THAT(offspring_of(*subject), ElementsAre(4, 6, 0));
    EXPECT_EQ(subject->species()[2].id, 1U);
}

/// The places of the fittest of all species that live.
std::vector<PoolPlace> champions(const Strategy& subject) {
    std::vector<PoolPlace> places;
    for (const SpeciesSummary& one : subject.species()) {
        if (one.champion) {
            places.push_back(*one.champion);
        }
    }
    return places;
}

/// In how many of some generations species are compared by others than their fittest.
int generations_with_others(Representative representative) {
    Shared subject = after(make({.representative = representative, .survival = 1.0}), founders());
    int count = 0;
    for (int generation = 0; generation < 8; ++generation) {
        EXPECT_THAT(champions(*subject), Not(IsEmpty()));
        count += subject->kinship()[0].representatives == champions(*subject) ? 0 : 1;
        subject = after(subject, faithful(*subject));
    }
    return count;
}

TEST(SpeciesSurvival, TheFittestStandsForItsSpeciesWhereThatIsAskedFor) {
    EXPECT_EQ(generations_with_others(Representative::best), 0);
    EXPECT_GT(generations_with_others(Representative::random), 0);
}

TEST(SpeciesSurvival, ASpeciesIsYoungFromItsFoundationNotFromItsLastBest) {
    Shared subject =
        after(make({.sharing = Sharing::plain, .young_age = 1, .young_boost = 2.0}), founders());
    EXPECT_THAT(offspring_of(*subject), ElementsAre(1, 3, 6));  // all are young
    // The first species has a new best, a birth of the last founds a fourth.
    Scores scores = faithful_by_species(*subject, {2.0, 2.0, 4.0});
    scores.species[9] = 3;
    scores.fitness[9] = 1.0;
    subject = after(subject, scores);
    EXPECT_THAT(subject->species(),
                ElementsAre(improved_in(1), improved_in(0), improved_in(0), improved_in(1)));
    EXPECT_THAT(offspring_of(*subject), ElementsAre(2, 2, 4, 2));  // of 2, 2, 4 and twice 1
    subject = after(subject, faithful_by_species(*subject, {2.0, 2.0, 4.0, 1.0}));
    EXPECT_THAT(offspring_of(*subject), ElementsAre(2, 2, 5, 1));  // nobody is young any more
}

}  // namespace
}  // namespace cambrian::evolve::species_tests

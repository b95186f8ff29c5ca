#include "cambrian/evolve/analysis/ensemble.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::ElementsAre;

/// Of two classes, each by the probability of the second.
Answers member(const std::vector<double>& second) {
    Answers answers;
    for (const double p : second) {
        answers.values.insert(answers.values.end(), {1.0 - p, p});
        answers.chosen.push_back(p > 0.5 ? 1 : 0);
    }
    return answers;
}

Answers together(Ensemble how, const std::vector<Answers>& members,
                 const std::vector<double>& weights = {}, bool classes = true,
                 std::size_t width = 2) {
    std::vector<const Answers*> pointers;
    for (const Answers& one : members) pointers.push_back(&one);
    return ensemble_answers(how, classes, width, pointers, weights);
}

TEST(EnsembleAnswers, TheMajorityWinsWhateverItsProbability) {
    const Answers found =
        together(Ensemble::majority, {member({.51, .1}), member({.51, .1}), member({0, 1})});
    EXPECT_THAT(found.chosen, ElementsAre(1, 0));
    EXPECT_NEAR(found.values[1], 2.0 / 3.0, 1e-15);
    EXPECT_NEAR(found.values[2], 2.0 / 3.0, 1e-15);
}

TEST(EnsembleAnswers, EqualVotesAreDecidedByProbabilityThenByTheLowestClass) {
    // Rows: the second class is surer; the first is; both are equally sure.
    const Answers found =
        together(Ensemble::majority, {member({.25, .125, .25}), member({.875, .75, .75})});
    EXPECT_THAT(found.chosen, ElementsAre(1, 0, 0));
}

TEST(EnsembleAnswers, WeightsCountVotes) {
    const std::vector<Answers> members{member({.9}), member({.2}), member({.2})};
    EXPECT_THAT(together(Ensemble::weighted, members, {1, 1, 1}).chosen, ElementsAre(0));
    const Answers found = together(Ensemble::weighted, members, {3, 1, 1});
    EXPECT_THAT(found.chosen, ElementsAre(1));
    EXPECT_NEAR(found.values[1], 0.6, 1e-15);
    // A tie of votes: .9 * 2 + .2 * 2 of the second class, .1 * 2 + .8 * 2 of the first.
    EXPECT_THAT(together(Ensemble::weighted, members, {2, 1, 1}).chosen, ElementsAre(1));
}

TEST(EnsembleAnswers, TheMeanIsThatOfProbabilitiesOrNumbers) {
    const Answers classes = together(Ensemble::mean, {member({.51}), member({.51}), member({.0})});
    EXPECT_THAT(classes.chosen, ElementsAre(0));
    EXPECT_NEAR(classes.values[1], .34, 1e-15);
    const std::vector<Answers> numbers{{.values = {1, 2}, .chosen = {}},
                                       {.values = {5, 4}, .chosen = {}}};
    EXPECT_THAT(together(Ensemble::mean, numbers, {}, false, 1).values, ElementsAre(3, 3));
    EXPECT_THAT(together(Ensemble::weighted, numbers, {3, 1}, false, 1).values,
                ElementsAre(2, 2.5));
}

TEST(EnsembleAnswers, OneMemberAnswersAsItDoes) {
    const Answers alone = member({.3, .6, .5});
    for (const Ensemble how : {Ensemble::majority, Ensemble::weighted, Ensemble::mean})
        EXPECT_EQ(together(how, {alone}, {0.7}).chosen, alone.chosen);
}

TEST(EnsembleAnswers, NumbersHaveNoVotes) {
    const std::vector<Answers> numbers{{.values = {1}, .chosen = {}}};
    EXPECT_THROW(together(Ensemble::majority, numbers, {}, false, 1), ContractViolation);
}

TEST(ComplementaryPairs, AreSortedByCoverageThenByOverlap) {
    const std::vector<std::vector<std::uint8_t>> right{
        {1, 1, 0, 0}, {0, 0, 1, 1}, {1, 1, 1, 0}, {0, 0, 0, 0}};
    const std::vector<ComplementaryPair> pairs = complementary_pairs(right);
    ASSERT_EQ(pairs.size(), 6U);
    const auto expect = [&](std::size_t i, std::size_t a, std::size_t b, double coverage,
                            double overlap, double similarity) {
        EXPECT_EQ(pairs[i].first, a) << i;
        EXPECT_EQ(pairs[i].second, b) << i;
        EXPECT_NEAR(pairs[i].coverage, coverage, 1e-15) << i;
        EXPECT_NEAR(pairs[i].overlap, overlap, 1e-15) << i;
        EXPECT_NEAR(pairs[i].similarity, similarity, 1e-15) << i;
    };
    expect(0, 0, 1, 1.0, 0.0, 0.0);
    expect(1, 1, 2, 1.0, 0.25, 1.0 / std::sqrt(6.0));
    expect(2, 2, 3, 0.75, 0.0, 0.0);
    expect(3, 0, 2, 0.75, 0.5, 2.0 / std::sqrt(6.0));
    expect(4, 0, 3, 0.5, 0.0, 0.0);
    expect(5, 1, 3, 0.5, 0.0, 0.0);
    EXPECT_EQ(complementary_pairs(right, 0.75).size(), 4U);
}

TEST(ComplementaryPairs, AFewAreTheFirstOfAll) {
    // Many equal ones, so that only the order of the networks decides.
    std::vector<std::vector<std::uint8_t>> right;
    for (std::uint32_t network = 0; network < 40; ++network) {
        right.emplace_back();
        for (std::uint32_t row = 0; row < 6; ++row)
            right.back().push_back((network * 2654435761U >> (8U + row)) % 2U != 0 ? 1 : 0);
    }
    const std::vector<ComplementaryPair> all = complementary_pairs(right);
    ASSERT_EQ(all.size(), 780U);
    for (const std::size_t max_pairs : {1U, 5U, 300U, 780U, 1000U}) {
        const std::vector<ComplementaryPair> few = complementary_pairs(right, 0.0, max_pairs);
        ASSERT_EQ(few.size(), std::min<std::size_t>(max_pairs, all.size()));
        EXPECT_LE(few.capacity(), 2 * max_pairs) << "more than these are kept";
        for (std::size_t i = 0; i < few.size(); ++i) {
            EXPECT_EQ(few[i].first, all[i].first) << i << " of " << max_pairs;
            EXPECT_EQ(few[i].second, all[i].second) << i << " of " << max_pairs;
        }
    }
}

}  // namespace
}  // namespace cambrian::evolve

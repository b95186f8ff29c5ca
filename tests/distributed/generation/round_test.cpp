#include "cambrian/distributed/generation/round.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "cambrian/tests/distributed/support/follower_support.hpp"

// In which order the births of a round are handed out.
namespace cambrian::distributed {
namespace {

TEST_F(FollowerTest, OrderKeepsTogetherWhoseParentsLieTogether) {
    static_cast<void>(advance(0));
    const Round& round = *followers[0]->round();
    std::vector<std::uint32_t> ranks_in_order;
    auto positions = round.order;
    for (const std::uint32_t position : round.order) {
        const evolve::Birth birth = round.strategy->birth(position);
        EXPECT_NE(birth.recipe, evolve::Recipe::carry);
        ranks_in_order.push_back(round.holders[index_of(birth.parents.front().place)]);
    }
    EXPECT_TRUE(std::ranges::is_sorted(ranks_in_order));
    for (std::size_t rank = 0; rank < round.zones.size(); ++rank) {
        const OrderRange zone = round.zones[rank];
        EXPECT_EQ(zone.size(), static_cast<std::size_t>(std::ranges::count(ranks_in_order, rank)));
        EXPECT_TRUE(zone.size() == 0 || ranks_in_order[zone.begin] == rank);
    }
    EXPECT_EQ(round.zones.back().end, round.order.size());
    std::ranges::sort(positions);
    EXPECT_EQ(std::ranges::adjacent_find(positions), positions.end());
    EXPECT_EQ(positions.size(), 60U - round.strategy->parent_pool().size());
}

TEST(RoundTest, ManyBirthsAreInOrderOfTheRanksOfTheirParents) {
    Experiment experiment = xor_experiment({});
    experiment.population.size = 10'000;
    ThreadPool threads{3};
    const SharedStrategy founders = make_strategy(experiment);
    const evolve::Scores scores = valid_scores(
        founders->births(), [](std::uint64_t i) { return static_cast<double>(i * 7919 % 10'007); });
    const SharedStrategy strategy = founders->apply(founders->decide(scores, threads));
    for (const std::uint32_t ranks : {1U, 3U, 100U, 5'000U}) {
        std::vector<std::uint32_t> holders(strategy->parent_pool().size());
        for (std::size_t place = 0; place < holders.size(); ++place) {
            holders[place] = static_cast<std::uint32_t>(place * 7907 % ranks);
        }
        const auto rank_of = [&](std::uint32_t position) {
            return holders[index_of(strategy->birth(position).parents.front().place)];
        };
        std::vector<std::uint32_t> expected;
        for (std::uint32_t position = 0; position < strategy->births(); ++position) {
            if (!strategy->carries(position)) {
                expected.push_back(position);
            }
        }
        std::ranges::stable_sort(expected, {}, rank_of);
        const SharedRound round = make_round(strategy, holders, false, threads, {});
        EXPECT_TRUE(std::ranges::equal(round->order, expected)) << ranks << " ranks";
        for (std::uint32_t rank = 0; rank < round->zones.size(); ++rank) {
            const OrderRange zone = round->zones[rank];
            const auto own = std::span(expected).subspan(zone.begin, zone.size());
            EXPECT_TRUE(std::ranges::all_of(
                own, [&](std::uint32_t position) { return rank_of(position) == rank; }));
        }
        EXPECT_EQ(round->zones.back().end, expected.size());
    }
}

TEST_F(FollowerTest, WhatIsForeseenOfARoundChangesNothing) {
    static_cast<void>(advance(0));
    Foresight foresight;
    ASSERT_TRUE(foresee(*followers[0]->round(), foresight));
    EXPECT_FALSE(foresee(*followers[0]->round(), foresight));
    ASSERT_EQ(foresight.places.size(), 60U);
    static_cast<void>(advance(0));
    const Round& round = *followers[0]->round();
    const auto order = [&] {
        return make_round(round.strategy, round.holders, false, threads, foresight)->order;
    };
    EXPECT_EQ(order(), round.order);
    foresight.places.resize(20);
    EXPECT_EQ(order(), round.order);
    // What holds for other rounds is not used.
    std::ranges::fill(foresight.places, 0U);
    ++foresight.members;
    EXPECT_EQ(order(), round.order);
    --foresight.members;
    EXPECT_NE(order(), round.order);
    ++foresight.generation;
    EXPECT_EQ(order(), round.order);
}

}  // namespace
}  // namespace cambrian::distributed

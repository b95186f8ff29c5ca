#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/tests/distributed/support/follower_support.hpp"

// What a rank keeps that jumps to a state, and what of another state it forgets.
namespace cambrian::distributed {
namespace {

/// The record of a round all of whose births rank 0 has.
/// @param sign 1: the last birth is the best, -1: the first one.
Record record_by_place(const Round& round, double sign, ThreadPool& threads) {
    const evolve::Scores scores = valid_scores(round.strategy->births(), [sign](std::uint64_t i) {
        return sign * static_cast<double>(i);
    });
    const auto size = static_cast<std::uint32_t>(round.order.size());
    return {round.generation(), round.strategy->decide(scores, threads), {{size, 0}}};
}

TEST_F(FollowerTest, JumpsToAStateAndKeepsWhatLives) {
    static_cast<void>(advance(0));
    Follower late(make_strategy(experiment), {false, ranks}, variation, memory, threads);
    const Round& first = *all->round();
    late.load(first.strategy->save(), std::vector(first.holders));
    EXPECT_EQ(late.round()->digest, first.digest);
    for (std::uint32_t place = 0; place < first.holders.size(); ++place) {
        late.fill(first, place, parent(*all, place));
    }
    static_cast<void>(advance(0));
    const Round& second = *all->round();
    const Hash128 passed = late.round()->digest;
    late.load(second.strategy->save(), std::vector(second.holders), std::span(&passed, 1));
    std::size_t kept = 0;
    for (std::size_t place = 0; place < second.holders.size(); ++place) {
        const bool carried = second.strategy->parent_pool()[place].origin < 60;
        EXPECT_EQ(parent(late, place) != nullptr, carried);
        kept += carried ? 1 : 0;
    }
    EXPECT_GT(kept, 0U);
}

TEST_F(FollowerTest, NothingThatAnotherStateMadeCountsAfterAJump) {
    const Record right = record_by_place(*all->round(), 1.0, threads);
    Follower& diverged = *followers[0];
    static_cast<void>(diverged.apply(record_by_place(*all->round(), -1.0, threads)));
    const SharedRound other = diverged.round();
    static_cast<void>(all->apply(right));
    const auto jump = [&] {
        return diverged.load(all->round()->strategy->save(), all->holders(),
                             std::span(&all->round()->digest, 1));
    };
    const auto children = [] {
        return PoolGenomes(3, std::make_shared<const evolve::Individual>());
    };
    const auto kept = [&](std::size_t index) {
        return diverged.child(diverged.round()->order[index]) != nullptr;
    };
    diverged.keep(*other, {0, 3}, children());
    EXPECT_FALSE(diverged.contradicts(*other));
    static_cast<void>(jump());
    EXPECT_TRUE(diverged.contradicts(*other));
    EXPECT_FALSE(diverged.contradicts(*diverged.round()));
    diverged.keep(*other, {3, 6}, children());  // Of a shard that had begun before.
    for (std::uint64_t position = 0; position < 60; ++position) {
        EXPECT_EQ(diverged.child(position), nullptr);
    }
    diverged.keep(*diverged.round(), {0, 3}, children());
    static_cast<void>(jump());
    EXPECT_TRUE(kept(2));
    EXPECT_FALSE(kept(3));
}

TEST_F(FollowerTest, OpenBlocksOfAnotherStateAreToldByTheirParentsAfterAJump) {
    experiment.steady_state = {.window = 30, .block = 6};
    const auto follower = [&] {
        return Follower(make_strategy(experiment), {false, ranks}, variation, memory, threads);
    };
    Follower right = follower();
    Follower diverged = follower();
    const auto tell = [&](Follower& of, double best) {
        const evolve::Scores scores =
            valid_scores(6, [best](std::uint64_t i) { return best - static_cast<double>(i); });
        const evolve::Strategy& newest = *of.newest()->strategy;
        static_cast<void>(
            of.apply({of.round()->generation(), newest.decide(scores, threads), {{6, 0}}}));
    };
    tell(right, 1.0);
    tell(diverged, 1.0);
    tell(right, 2.0);
    tell(diverged, 3.0);
    const SharedRound same = diverged.round(right.newest()->generation() - 1);
    const SharedRound other = diverged.newest();
    EXPECT_FALSE(diverged.contradicts(*other));
    static_cast<void>(diverged.load(right.newest()->strategy->save(), right.holders()));
    EXPECT_EQ(diverged.newest()->digest, right.newest()->digest);
    EXPECT_TRUE(diverged.contradicts(*other));
    EXPECT_FALSE(diverged.contradicts(*same));
    EXPECT_FALSE(diverged.contradicts(*diverged.newest()));
}

TEST_F(FollowerTest, WhatAnotherStateMadeIsNoParentAGenerationLater) {
    Follower& diverged = *followers[0];
    static_cast<void>(diverged.apply(record_by_place(*all->round(), -1.0, threads)));
    static_cast<void>(all->apply(record_by_place(*all->round(), 1.0, threads)));
    const OrderRange every{0, diverged.round()->order.size()};
    diverged.keep(*diverged.round(), every,
                  PoolGenomes(every.size(), std::make_shared<const evolve::Individual>()));
    const Hash128 passed = all->round()->digest;
    static_cast<void>(all->apply(record_by_place(*all->round(), 1.0, threads)));
    const Round& right = *all->round();
    EXPECT_TRUE(std::ranges::any_of(right.strategy->parent_pool(), [&](const auto& member) {
        return diverged.find(member.origin) != nullptr;
    })) << "a name of both states";
    static_cast<void>(diverged.load(right.strategy->save(), all->holders(), std::span(&passed, 1)));
    EXPECT_EQ(diverged.round()->digest, right.digest);
    for (std::size_t place = 0; place < right.holders.size(); ++place) {
        EXPECT_EQ(parent(diverged, place), nullptr);
    }
}

TEST_F(FollowerTest, ALearnedParentIsKeptForTheNextWhoAsks) {
    static_cast<void>(advance(0));
    const Round& round = *all->round();
    Follower late(make_strategy(experiment), {false, ranks}, variation, memory, threads);
    late.load(round.strategy->save(), std::vector(round.holders));
    const evolve::BirthId origin = round.strategy->parent_pool()[1].origin;
    EXPECT_EQ(late.find(origin), nullptr);
    late.fill(origin, parent(*all, 1));
    late.fill(1'000'000, parent(*all, 1));  // Of no open round.
    EXPECT_EQ(late.find(origin), parent(*all, 1));
}

}  // namespace
}  // namespace cambrian::distributed

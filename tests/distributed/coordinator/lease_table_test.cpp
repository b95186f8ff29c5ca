#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "cambrian/distributed/coordinator/lease_table.hpp"
#include "cambrian/distributed/generation/first_shares.hpp"

namespace cambrian::distributed {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr LeaseTable::Time start{};

ShardLimits ranks(std::size_t count) {
    return {count, 1, 1000};
}

TEST(LeaseTable, IssuesEveryItemOnceInOrder) {
    LeaseTable leases(5, 1, 2);
    EXPECT_EQ(leases.issue(0, ranks(2), start)->items, (OrderRange{0, 2}));
    EXPECT_EQ(leases.issue(1, ranks(2), start)->items, (OrderRange{2, 4}));
    EXPECT_EQ(leases.issue(0, ranks(2), start)->items, (OrderRange{4, 5}));
    EXPECT_FALSE(leases.issue(0, ranks(2), start).has_value());
    EXPECT_FALSE(leases.done());
}

TEST(LeaseTable, IsExhaustedUntilSomethingComesBack) {
    LeaseTable leases(2, 7, 1);
    EXPECT_EQ(leases.issue(1, ranks(2), start)->id, 7U);
    EXPECT_FALSE(leases.exhausted());
    EXPECT_EQ(leases.issue(1, ranks(2), start)->id, 8U);
    EXPECT_TRUE(leases.exhausted());
    leases.withdraw(1);
    EXPECT_FALSE(leases.exhausted());
}

TEST(LeaseTable, GuidedShardsShrink) {
    LeaseTable leases(64, 1, 0);
    EXPECT_EQ(leases.issue(0, ranks(2), start)->items.size(), 16U);
    EXPECT_EQ(leases.issue(1, ranks(2), start)->items.size(), 16U);
    std::size_t last = 16;
    std::size_t issued = 16;
    while (const auto shard = leases.issue(0, ranks(2), start)) {
        EXPECT_LE(shard->items.size(), last);
        last = shard->items.size();
        issued += last;
    }
    EXPECT_EQ(last, 1U);
    EXPECT_EQ(issued, 32U);
}

TEST(LeaseTable, RankThatHasHadItsShareTakesMoreOnlyWhenItIsIdle) {
    LeaseTable leases(64, 1, 0);
    std::vector<std::uint64_t> held;
    while (const auto shard = leases.issue(0, ranks(2), start)) {
        held.push_back(shard->id);
    }
    for (const std::uint64_t shard : held) {
        EXPECT_FALSE(leases.issue(0, ranks(2), start).has_value());
        EXPECT_TRUE(leases.accept(shard));
    }
    // The other one is so slow that it has not even asked: half of its share is left.
    EXPECT_EQ(leases.issue(0, ranks(2), start)->items, (OrderRange{32, 40}));
    EXPECT_EQ(leases.issue(1, ranks(2), start)->items, (OrderRange{40, 52}));
}

TEST(LeaseTable, LimitsHoldForGuidedShards) {
    LeaseTable leases(64, 1, 0);
    EXPECT_EQ(leases.issue(0, {1, 1, 10}, start)->items.size(), 10U);
    EXPECT_EQ(leases.issue(0, {2, 20, 1000}, start)->items.size(), 20U);
    // A floor never takes more than a rank's fair part of what remains.
    EXPECT_EQ(leases.issue(0, {2, 1000, 1000}, start)->items.size(), 2U);
}

TEST(LeaseTable, LoneRankTakesEverythingAtOnce) {
    LeaseTable leases(64, 1, 0);
    EXPECT_EQ(leases.issue(0, ranks(1), start)->items.size(), 64U);
}

TEST(LeaseTable, LapsedShardGoesToAnotherRank) {
    LeaseTable leases(2, 1, 2);
    const auto shard = leases.issue(1, ranks(2), start + seconds(10));
    EXPECT_THAT(leases.expire(start + seconds(10)), IsEmpty());
    const auto lapses = leases.expire(start + seconds(11));
    ASSERT_EQ(lapses.size(), 1U);
    EXPECT_EQ(lapses[0].rank, 1);
    EXPECT_EQ(lapses[0].shard, shard->id);
    EXPECT_EQ(leases.issue(2, ranks(2), start + seconds(20))->items, (OrderRange{0, 2}));
    EXPECT_THAT(leases.expire(start + seconds(12)), IsEmpty());
}

TEST(LeaseTable, HeartbeatsOfTheHolderKeepALease) {
    LeaseTable leases(1, 1, 1);
    const auto shard = leases.issue(1, ranks(2), start + seconds(10));
    leases.renew(1, shard->id, start + seconds(20));
    EXPECT_THAT(leases.expire(start + seconds(15)), IsEmpty());
    leases.renew(2, shard->id, start + seconds(90));
    EXPECT_EQ(leases.expire(start + seconds(25)).size(), 1U);
    leases.renew(1, shard->id, start + seconds(90));
    EXPECT_THAT(leases.expire(start + seconds(25)), IsEmpty());
}

TEST(LeaseTable, LateOutcomesCountOnce) {
    LeaseTable leases(2, 1, 2);
    const auto slow = leases.issue(1, ranks(2), start);
    static_cast<void>(leases.expire(start + seconds(1)));
    const auto again = leases.issue(2, ranks(2), start + seconds(9));
    EXPECT_TRUE(leases.accept(slow->id));
    EXPECT_TRUE(leases.done());
    EXPECT_FALSE(leases.accept(again->id));
    EXPECT_EQ(leases.accepted(), 2U);
}

TEST(LeaseTable, AnswerOfWhichAPartIsKnownDoesNotCount) {
    LeaseTable leases(2, 1, 2);
    const auto slow = leases.issue(1, ranks(3), start);
    static_cast<void>(leases.expire(start + seconds(1)));
    const auto again = leases.issue(2, ranks(3), start + seconds(9));
    EXPECT_THAT(leases.fail(again->id), IsEmpty());
    const auto first = leases.issue(0, ranks(3), start + seconds(9));
    EXPECT_EQ(first->items, (OrderRange{0, 1}));
    EXPECT_TRUE(leases.accept(first->id));
    EXPECT_FALSE(leases.accept(slow->id));
    const auto second = leases.issue(0, ranks(3), start + seconds(9));
    EXPECT_EQ(second->items, (OrderRange{1, 2}));
    EXPECT_TRUE(leases.accept(second->id));
    EXPECT_TRUE(leases.done());
}

TEST(LeaseTable, LateOutcomesSpareTheSecondIssue) {
    LeaseTable leases(2, 1, 2);
    const auto slow = leases.issue(1, ranks(2), start);
    static_cast<void>(leases.expire(start + seconds(1)));
    EXPECT_TRUE(leases.accept(slow->id));
    EXPECT_FALSE(leases.issue(2, ranks(2), start).has_value());
}

TEST(LeaseTable, FailedShardComesBackOneByOneOnAnotherRank) {
    LeaseTable leases(2, 1, 2);
    const auto shard = leases.issue(1, ranks(2), start);
    EXPECT_THAT(leases.fail(shard->id), IsEmpty());
    EXPECT_FALSE(leases.issue(1, ranks(2), start).has_value());
    const auto first = leases.issue(0, ranks(2), start);
    EXPECT_EQ(first->items, (OrderRange{0, 1}));
    EXPECT_THAT(leases.fail(first->id), ElementsAre(0U));
    EXPECT_EQ(leases.issue(0, ranks(2), start)->items, (OrderRange{1, 2}));
    EXPECT_FALSE(leases.issue(0, ranks(2), start).has_value());
}

TEST(LeaseTable, FailedShardComesBackToTheOnlyRank) {
    LeaseTable leases(1, 1, 0);
    const auto shard = leases.issue(0, ranks(1), start);
    EXPECT_THAT(leases.fail(shard->id), IsEmpty());
    const auto again = leases.issue(0, ranks(1), start);
    ASSERT_TRUE(again.has_value());
    EXPECT_THAT(leases.fail(again->id), ElementsAre(0U));
}

TEST(LeaseTable, FailureOfALapsedShardDecidesNothing) {
    LeaseTable leases(1, 1, 1);
    const auto shard = leases.issue(1, ranks(2), start);
    static_cast<void>(leases.expire(start + seconds(1)));
    EXPECT_THAT(leases.fail(shard->id), IsEmpty());
    EXPECT_TRUE(leases.issue(0, ranks(2), start).has_value());
    EXPECT_FALSE(leases.issue(0, ranks(2), start).has_value());
}

TEST(LeaseTable, RankThatLeavesGivesEverythingBack) {
    LeaseTable leases(4, 1, 1);
    static_cast<void>(leases.issue(1, ranks(2), start));
    static_cast<void>(leases.issue(0, ranks(2), start));
    static_cast<void>(leases.issue(1, ranks(2), start));
    leases.withdraw(1);
    EXPECT_EQ(leases.issue(0, ranks(1), start)->items, (OrderRange{0, 1}));
    EXPECT_EQ(leases.issue(0, ranks(1), start)->items, (OrderRange{2, 3}));
    EXPECT_EQ(leases.issue(0, ranks(1), start)->items, (OrderRange{3, 4}));
}

TEST(LeaseTable, FasterRankGetsMore) {
    LeaseTable leases(100, 1, 0);
    ShardLimits fast{.ranks = 2, .smallest = 1, .largest = 100, .share = 0.9, .share_of_all = 0.9};
    EXPECT_EQ(leases.issue(0, fast, start)->items.size(), 45U);
    ShardLimits slow{.ranks = 2, .smallest = 1, .largest = 100, .share = 0.1, .share_of_all = 0.1};
    EXPECT_EQ(leases.issue(1, slow, start)->items.size(), 5U);
}

TEST(LeaseTable, RankThatWantsItsShareAtOnceGetsIt) {
    LeaseTable leases(101, 1, 0);
    ShardLimits half{.ranks = 2, .smallest = 1, .largest = 1000, .share = 0.5, .whole = true};
    EXPECT_FALSE(leases.busy(0));
    EXPECT_EQ(leases.issue(0, half, start)->items.size(), 51U);
    EXPECT_TRUE(leases.busy(0));
    EXPECT_FALSE(leases.busy(1));
    half.share = 1.0;
    const auto rest = leases.issue(1, half, start);
    EXPECT_EQ(rest->items.size(), 50U);
    EXPECT_TRUE(leases.accept(rest->id));
    EXPECT_FALSE(leases.busy(1));
}

TEST(LeaseTable, RankGetsWhatBelongsToItAndThenTheLastOfWhoHasMostLeft) {
    const std::vector<OrderRange> zones{{0, 2}, {2, 2}, {2, 10}};
    LeaseTable leases(10, 1, 3, zones);
    EXPECT_EQ(leases.issue(2, ranks(4), start)->items, (OrderRange{2, 5}));
    EXPECT_EQ(leases.issue(0, ranks(4), start)->items, (OrderRange{0, 2}));
    EXPECT_EQ(leases.issue(1, ranks(4), start)->items, (OrderRange{7, 10}));
    EXPECT_FALSE(leases.exhausted());
    // Of a rank that has no zone at all.
    EXPECT_EQ(leases.issue(3, ranks(4), start)->items, (OrderRange{5, 7}));
    EXPECT_TRUE(leases.exhausted());
}

TEST(LeaseTable, RankBeginsUnaskedWithTheFirstOfItsOwn) {
    const std::vector<OrderRange> zones{{0, 4}, {4, 4}, {4, 10}};
    LeaseTable leases(10, 7, 0, zones);
    EXPECT_TRUE(leases.give(2, {4, 0}, start));
    EXPECT_FALSE(leases.give(1, {4, 0}, start));
    EXPECT_TRUE(leases.give(0, {9, 0}, start));
    EXPECT_FALSE(leases.give(5, {4, 0}, start));
    ASSERT_NE(leases.find(7), nullptr);
    EXPECT_EQ(leases.find(7)->items, first_share(zones, 2, {4, 2}));
    EXPECT_EQ(leases.find(7)->items, (OrderRange{4, 8}));
    EXPECT_EQ(leases.find(8), nullptr);
    EXPECT_EQ(leases.find(9)->items, (OrderRange{0, 4}));
    EXPECT_EQ(leases.holder(9), 0);
    EXPECT_EQ(leases.issue(1, ranks(3), start)->id, 11U);
}

TEST(Division, GivesEachRankItsShareAndNothingTwice) {
    const std::vector<std::uint32_t> ranks{0, 2, 5};
    const std::vector<FirstShare> shares{{30, 4}, {10, 0}, {20, 1}};
    const Division division{ranks, shares, 3, 60};
    for (const std::size_t births : {std::size_t{120}, std::size_t{121}, std::size_t{7},
                                     std::size_t{1}, std::size_t{4'000'000'000}}) {
        std::size_t end = 0;
        for (std::uint32_t rank = 0; rank < 7; ++rank) {
            const OrderRange part = division.zones(7, births)[rank];
            EXPECT_EQ(part.begin, end) << "rank " << rank << " of " << births;
            end = part.end;
        }
        EXPECT_EQ(end, births);
    }
    EXPECT_EQ(division.zones(7, 120)[0], (OrderRange{0, 30}));
    EXPECT_EQ(division.zones(7, 120)[1].size(), 0U);
    EXPECT_EQ(division.zones(7, 120)[2], (OrderRange{30, 40}));
    EXPECT_EQ(division.zones(7, 120)[3], (OrderRange{40, 100}));
    EXPECT_EQ(division.zones(7, 120)[5], (OrderRange{100, 120}));
}

TEST(Division, RefusesSharesThatCannotBe) {
    const std::vector<std::uint32_t> ranks{1, 2};
    constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
    const std::vector<FirstShare> shares{{all, 0}, {all, 0}};
    EXPECT_EQ(Division({ranks, shares, 0, all}).zones(3, 100)[1].size(), 0U);
    const std::vector<FirstShare> none{{0, 0}, {0, 0}};
    EXPECT_EQ(Division({ranks, none, 0, 0}).zones(3, 100)[1].size(), 0U);
}

TEST(LeaseTable, LeavesNoRestThatIsDoneBeforeTheNextShardComes) {
    const std::vector<OrderRange> zones{{0, 20}, {20, 64}};
    LeaseTable leases(64, 1, 0, zones);
    EXPECT_TRUE(leases.give(0, {16, 5}, start));
    EXPECT_EQ(leases.find(1)->items, (OrderRange{0, 20}));
    const ShardLimits limits{2, 7, 1000};
    EXPECT_EQ(leases.issue(1, limits, start)->items, (OrderRange{20, 36}));
    // Of the share of rank 0 twelve are left, of the other zone 28: the last seven of them.
    EXPECT_EQ(leases.issue(0, limits, start)->items, (OrderRange{57, 64}));
    EXPECT_EQ(leases.issue(1, limits, start)->items, (OrderRange{36, 44}));
    // Of its share of 32 eight are left: no more than that.
    EXPECT_EQ(leases.issue(1, limits, start)->items, (OrderRange{44, 51}));
    EXPECT_EQ(leases.issue(1, limits, start)->items.size(), 1U);
}

TEST(LeaseTable, GpuTakesMoreThanItsShareBeforeItTakesTwice) {
    const std::vector<OrderRange> zones{{0, 53}, {53, 100}};
    LeaseTable leases(100, 1, 0, zones);
    const ShardLimits limits{2, 1, 1000, 0.5, 0.5, true};
    EXPECT_EQ(leases.issue(0, limits, start)->items, (OrderRange{0, 53}));
    EXPECT_EQ(leases.issue(1, limits, start)->items, (OrderRange{53, 100}));
    EXPECT_TRUE(leases.exhausted());
    // One that is much slower than it was leaves the rest to the other.
    const std::vector<OrderRange> halves{{0, 50}, {50, 100}};
    LeaseTable uneven(100, 1, 0, halves);
    EXPECT_EQ(uneven.issue(0, {2, 1, 1000, 0.3, 0.3, true}, start)->items, (OrderRange{0, 30}));
    EXPECT_EQ(uneven.issue(1, {2, 1, 1000, 0.7, 0.7, true}, start)->items, (OrderRange{50, 100}));
    EXPECT_FALSE(uneven.exhausted());
}

TEST(LeaseTable, LeaseOfAShardEndsWithItsAnswerOrInTime) {
    LeaseTable leases(4, 1, 2);
    const auto first = leases.issue(1, ranks(2), start);
    const auto second = leases.issue(2, ranks(2), start + seconds(9));
    EXPECT_TRUE(leases.leased(first->id));
    static_cast<void>(leases.expire(start + seconds(1)));
    EXPECT_FALSE(leases.leased(first->id));
    EXPECT_TRUE(leases.leased(second->id));
    EXPECT_TRUE(leases.accept(second->id));
    EXPECT_FALSE(leases.leased(second->id));
    EXPECT_FALSE(leases.leased(77));
}

TEST(LeaseTable, LeasesThatAreExtendedLastNoLongerThanThoseThatBegin) {
    LeaseTable leases(6, 1, 2);
    const auto early = leases.issue(1, ranks(3), start + seconds(1));
    const auto late = leases.issue(2, ranks(3), start + seconds(4));
    const auto own = leases.issue(0, ranks(3), LeaseTable::Time::max());
    leases.extend(seconds(5), start + seconds(8));
    EXPECT_THAT(leases.expire(start + seconds(6)), IsEmpty());
    EXPECT_EQ(leases.expire(start + seconds(7)).size(), 1U);
    EXPECT_FALSE(leases.leased(early->id));
    EXPECT_TRUE(leases.leased(late->id));
    EXPECT_EQ(leases.expire(start + seconds(9)).size(), 1U);
    EXPECT_TRUE(leases.leased(own->id));
}

TEST(LeaseTable, NothingBelongsToARankWhereNobodyHasParents) {
    LeaseTable leases(10, 1, 0);
    EXPECT_FALSE(leases.give(0, {4, 0}, start));
    EXPECT_EQ(leases.issue(0, ranks(2), start)->items.begin, 0U);
}

TEST(LeaseTable, GenerationWithoutWorkIsDone) {
    EXPECT_TRUE(LeaseTable(0, 1, 0).done());
}

}  // namespace
}  // namespace cambrian::distributed

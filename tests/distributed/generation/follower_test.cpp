#include "cambrian/distributed/generation/follower.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/follower_support.hpp"

// What ranks know of a run without a message between them.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST_F(FollowerTest, GenomesLieWhereTheRecordSays) {
    for (int generation = 0; generation < 8; ++generation) {
        while (followers[0]->foresee()) {  // The others have no time for that.
        }
        static_cast<void>(advance(0));
        const Round& round = *followers[0]->round();
        for (std::size_t place = 0; place < round.holders.size(); ++place) {
            const SharedIndividual genome =
                (*followers[round.holders[place]]->parents(round))[place];
            ASSERT_TRUE(genome);
            EXPECT_EQ(*genome, *parent(*all, place));
        }
        for (const auto& follower : followers) {
            EXPECT_EQ(follower->round()->digest, all->round()->digest);
            EXPECT_EQ(follower->round()->order, round.order);
        }
    }
}

TEST_F(FollowerTest, WhatIsMadeOnceMoreNeedsNotTravel) {
    for (int generation = 0; generation < 3; ++generation) {
        static_cast<void>(advance(0));
    }
    std::size_t fetched = 0;
    std::size_t remade = 0;
    for (int generation = 0; generation < 4; ++generation) {
        fetched += advance(0);
        remade += advance(1000);
    }
    EXPECT_GT(fetched, 0U);
    EXPECT_LT(remade, fetched);
}

TEST_F(FollowerTest, WhoHasMostBirthsMakesTheFewParentsOfOthersBeforeTheyAreNamed) {
    experiment.population.size = 900;
    Follower most(make_strategy(experiment), settings(2), variation, memory, threads);
    Follower few(make_strategy(experiment), settings(2), variation, memory, threads);
    for (int generation = 0; generation < 3; ++generation) {
        const Round& round = *most.round();
        const auto size = static_cast<std::uint32_t>(round.order.size());
        Record record{round.generation(), {}, {{size - 10, 0}, {size, 1}}};
        // Births that name hardly any parent.
        const MissingParents missing = most.missing_parents(round, {0, size - 10}, 1000);
        EXPECT_THAT(missing.places, testing::IsEmpty());
        EXPECT_LE(missing.remade, 10U);
        EXPECT_THAT(*most.parents(round), testing::Each(testing::NotNull()));
        make(most, {0, size - 10});
        for (const std::uint32_t place : few.missing_parents(round, {size - 10, size}, 0).places) {
            few.fill(round, place, (*most.parents(round))[place]);
        }
        make(few, {size - 10, size});
        record.decision = decision_of(round);
        static_cast<void>(most.apply(record));
        static_cast<void>(few.apply(record));
    }
}

TEST_F(FollowerTest, WeightsOnABackendTravelNoMoreOnceAllRanksHaveAllParents) {
    on_backend = true;
    static_cast<void>(advance(1000));
    for (int generation = 0; generation < 6; ++generation) {
        EXPECT_EQ(advance(1000), 0U) << generation;
        const Round& round = *followers[0]->round();
        for (std::size_t place = 0; place < round.holders.size(); ++place) {
            const SharedIndividual genome =
                (*followers[round.holders[place]]->parents(round))[place];
            ASSERT_TRUE(genome && twins.contains(genome.get()));
            EXPECT_EQ(*twins.at(genome.get()), *twins.at(parent(*all, place).get()));
        }
    }
    EXPECT_GT(made_on_backend, 0U);
    // Where that is too much, the parents of its own births are what a rank needs.
    EXPECT_GT(advance(0), 0U);
}

TEST_F(FollowerTest, FewChildrenOfManyBirthsAreFoundAndBecomeParents) {
    static_cast<void>(advance(0));
    const SharedRound round = all->round();
    make(*all, {0, 3});
    const std::uint64_t position = round->order[2];
    const evolve::BirthId birth = round->strategy->first_birth() + position;
    const SharedIndividual made = all->child(position);
    ASSERT_TRUE(made);
    EXPECT_EQ(all->find(birth), made);
    EXPECT_EQ(all->child(round->order[3]), nullptr) << "it was made elsewhere";
    all->load(round->strategy->save(), std::vector(round->holders), std::span(&round->digest, 1));
    EXPECT_EQ(all->child(position), made) << "its round is still open";

    const evolve::Scores scores = valid_scores(
        round->strategy->births(), [&](std::uint64_t i) { return i == position ? 2.0 : 1.0; });
    const auto size = static_cast<std::uint32_t>(round->order.size());
    static_cast<void>(
        all->apply({round->generation(), round->strategy->decide(scores, threads), {{size, 0}}}));
    const std::span<const evolve::Member> members = all->round()->strategy->parent_pool();
    ASSERT_EQ(members.front().origin, birth);
    EXPECT_EQ(parent(*all, 0), made);
    EXPECT_EQ(all->find(birth), made) << "as a parent now";
}

TEST_F(FollowerTest, RefusesRecordsOfOtherRoundsAndOtherRanks) {
    const auto size = static_cast<std::uint32_t>(all->round()->order.size());
    const auto expect_refusal = [&](const Record& record, const char* why) {
        EXPECT_THAT([&] { static_cast<void>(followers[1]->apply(record)); },
                    ThrowsMessage<InputError>(HasSubstr(why)));
        EXPECT_EQ(followers[1]->round()->generation(), 0U);
    };
    expect_refusal({1, {}, {{size, 0}}}, "generation 0 is under way");
    expect_refusal({0, {}, {{size, ranks}}}, "rank 3 of 3");
    expect_refusal({0, {}, {{size - 1, 0}}}, "other births");
    expect_refusal({0, {}, {{size, 0}, {2, 0}, {size, 1}}}, "other births");
    expect_refusal({0, {std::byte{1}}, {{size, 0}}}, "the decision has 1 bytes");
}

TEST_F(FollowerTest, ParentsStayWhileAnOpenRoundNamesThem) {
    experiment.steady_state = {.window = 30, .block = 6};
    Follower follower(make_strategy(experiment), {false, 1}, variation, memory, threads);
    Ancestry way;
    way.begin(follower.newest()->strategy, {});
    std::size_t dropped = 0;
    for (std::uint64_t told = 0; told < 60; ++told) {
        const Round& round = *follower.round();
        ASSERT_EQ(round.generation(), told);
        EXPECT_TRUE(follower.missing_parents(round, {0, 6}, 0).places.empty());
        const std::span<const evolve::Member> newest = follower.newest()->strategy->parent_pool();
        for (const evolve::Member& member : round.strategy->parent_pool()) {
            dropped += std::ranges::count(newest, member.birth, &evolve::Member::birth) == 0;
        }
        make(follower, {0, 6});
        const evolve::Scores scores = valid_scores(6, [&](std::uint64_t i) {
            return static_cast<double>(told + (round.strategy->birth(i).id * 7919) % 29);
        });
        const Record record{told, follower.newest()->strategy->decide(scores, threads), {{6, 0}}};
        way.add(record.decision);
        static_cast<void>(follower.apply(record));
        EXPECT_EQ(follower.newest()->digest, way.last()->digest());
    }
    EXPECT_GT(dropped, 50U);
    // And all of them can be made again.
    for (std::uint64_t ahead = 0; ahead < follower.open(); ++ahead) {
        const Round& round = *follower.round(60 + ahead);
        std::vector<evolve::BirthId> origins;
        for (const evolve::Member& member : round.strategy->parent_pool()) {
            origins.push_back(member.origin);
        }
        const Ancestry::Genomes made = way.make(origins, variation, memory, threads);
        for (std::size_t place = 0; place < origins.size(); ++place) {
            EXPECT_EQ(*made.at(origins[place]), *(*follower.parents(round))[place]);
        }
    }
}

}  // namespace
}  // namespace cambrian::distributed

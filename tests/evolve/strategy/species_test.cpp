#include "cambrian/evolve/strategy/species.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/evolve/support/species_support.hpp"

namespace cambrian::evolve::species_tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(SpeciesStrategy, StartsWithFoundersThatAreComparedWithNobody) {
    const Shared subject = make({});
    for (std::uint64_t position = 0; position < 10; ++position) {
        EXPECT_EQ(subject->birth(position).recipe, Recipe::sample);
        EXPECT_FALSE(subject->carries(position));
    }
    const std::vector<Kinship> kinship = subject->kinship();
    ASSERT_EQ(kinship.size(), 1U);
    EXPECT_TRUE(kinship[0].representatives.empty());
    EXPECT_EQ(kinship[0].end, 10U);
    EXPECT_EQ(kinship[0].threshold, 3.0);
    EXPECT_TRUE(subject->species().empty());
    EXPECT_THAT(subject->species_of(founders()), ElementsAre(1, 1, 2, 1, 3, 2, 2, 1, 1, 1));
}

TEST(SpeciesStrategy, AGenerationByHand) {
    const Shared subject =
        after(make({.sharing = Sharing::plain, .survival = 0.5}, 10, 0.0F), founders());
    const std::vector<SpeciesSummary> species = subject->species();
    EXPECT_THAT(species, ElementsAre(::testing::Field(&SpeciesSummary::id, 1),
                                     ::testing::Field(&SpeciesSummary::id, 2),
                                     ::testing::Field(&SpeciesSummary::id, 3)));
    EXPECT_THAT(species, ElementsAre(::testing::Field(&SpeciesSummary::size, 6),
                                     ::testing::Field(&SpeciesSummary::size, 3),
                                     ::testing::Field(&SpeciesSummary::size, 1)));
    EXPECT_THAT(species, ElementsAre(::testing::Field(&SpeciesSummary::offspring, 1),
                                     ::testing::Field(&SpeciesSummary::offspring, 3),
                                     ::testing::Field(&SpeciesSummary::offspring, 6)));
    EXPECT_EQ(species[1].mean, 3.0);
    EXPECT_EQ(species[1].best, 4.0);
    // Half of each may be parents, the fittest first, of equals the older.
    std::vector<BirthId> pool;
    for (const Member& member : subject->parent_pool()) {
        pool.push_back(member.birth);
    }
    EXPECT_THAT(pool, ElementsAre(0, 1, 3, 5, 2, 4));
    // The first species has 5 members and more, the last the fittest of all: these carry.
    std::vector<std::uint64_t> carrying;
    for (std::uint64_t position = 0; position < 10; ++position) {
        const Birth birth = subject->birth(position);
        EXPECT_EQ(birth.id, 10 + position);
        EXPECT_EQ(birth.recipe == Recipe::carry, subject->carries(position));
        if (subject->carries(position)) {
            carrying.push_back(position);
        }
        const BirthId parent = birth.parents.front().birth;
        if (position == 0) {
            EXPECT_EQ(parent, 0U);
        } else if (position < 4) {
            EXPECT_TRUE(parent == 2 || parent == 5);
        } else {
            EXPECT_EQ(parent, 4U);
        }
    }
    EXPECT_THAT(carrying, ElementsAre(0, 4));
    const std::vector<Kinship> kinship = subject->kinship();
    ASSERT_EQ(kinship[0].representatives.size(), 3U);
    EXPECT_LT(index_of(kinship[0].representatives[0]), 3U);
    EXPECT_EQ(index_of(kinship[0].representatives[2]), 5U);
}

TEST(SpeciesStrategy, OneWhoIsCarriedStaysInItsSpecies) {
    const Shared subject =
        after(make({.sharing = Sharing::plain, .survival = 0.5}, 10, 0.0F), founders());
    Scores scores = faithful(*subject);
    scores.species = {unmatched, 1, 3, 1, unmatched, 2, 2, 2, 2, 4};
    EXPECT_THAT(subject->species_of(scores), ElementsAre(1, 2, 4, 2, 3, 3, 3, 3, 3, 5));
    const Shared next = after(subject, scores);
    EXPECT_EQ(next->species().size(), 5U);
    EXPECT_EQ(next->species()[0].size, 1U);
}

TEST(SpeciesStrategy, AnInvalidBirthIsOfNoSpecies) {
    Scores scores = founders();
    scores.status[4] = Status::failed;
    scores.fitness[4] = worst_fitness;
    scores.species[4] = unmatched;
    const Shared start = make({});
    EXPECT_EQ(start->species_of(scores)[4], 0U);
    const Shared subject = after(start, scores);
    EXPECT_EQ(subject->species().size(), 2U);
    for (const Member& member : subject->parent_pool()) {
        EXPECT_NE(member.birth, 4U);
    }
}

TEST(SpeciesStrategy, WhatWasBestInAnotherTaskKeepsNobodyStagnant) {
    Shared subject = after(
        standard_strategies().make("species", {.seed = 1,
                                               .population = {.size = 10},
                                               .splice_rate = 0.5F,
                                               .species = {.stagnation = 2, .protected_species = 1},
                                               .task_changes = {2}}),
        founders());
    subject = after(subject, faithful(*subject));  // generation 1
    subject = after(subject, faithful(*subject));  // generation 2: another task
    ASSERT_EQ(subject->species().size(), 3U);
    for (const SpeciesSummary& one : subject->species()) {
        EXPECT_EQ(one.improved, 2U);
        EXPECT_GT(one.offspring, 0U);
    }
}

TEST(SpeciesStrategy, WhereAllDieOutFoundersFollowOrTheRunEnds) {
    const auto stagnant = [](Extinction extinction) {
        Shared subject = after(
            make({.stagnation = 1, .protected_species = 0, .extinction = extinction}), founders());
        return after(subject, faithful(*subject));
    };
    const Shared subject = stagnant(Extinction::reset);
    EXPECT_TRUE(subject->parent_pool().empty());
    EXPECT_EQ(subject->species().size(), 3U);  // for the log
    for (std::uint64_t position = 0; position < 10; ++position) {
        EXPECT_EQ(subject->birth(position).recipe, Recipe::sample);
    }
    // The next species has a number of its own.
    EXPECT_EQ(subject->species_of(founders())[0], 4U);
    EXPECT_FALSE(subject->extinct());
    EXPECT_TRUE(stagnant(Extinction::error)->extinct());
    EXPECT_FALSE(make({.extinction = Extinction::error})->extinct());
    Scores none(10);
    none.species.assign(10, unmatched);
    EXPECT_TRUE(after(make({}), none)->parent_pool().empty());
    EXPECT_TRUE(after(make({.extinction = Extinction::error}), none)->extinct());
    // A restart is none.
    Shared restarted = make({.stagnation = 0, .extinction = Extinction::error}, 10, 0.5F, {},
                            {.restart_after = 1});
    restarted = after(restarted, founders());
    restarted = after(restarted, faithful(*restarted));
    EXPECT_TRUE(restarted->parent_pool().empty());
    EXPECT_FALSE(restarted->extinct());
}

TEST(SpeciesStrategy, ARestartBeginsWithFoundersAloneAndTheFirstThreshold) {
    const Shared empty = make({.target = 2, .stagnation = 0}, 10, 0.5F, {}, {.restart_after = 2});
    Shared subject = after(empty, founders());
    subject = after(subject, faithful(*subject));
    EXPECT_FALSE(subject->parent_pool().empty());
    subject = after(subject, faithful(*subject));  // the second generation without a new best
    EXPECT_TRUE(subject->parent_pool().empty());
    EXPECT_EQ(subject->kinship()[0].threshold, SpeciesSettings{}.threshold);
    EXPECT_EQ(subject->species().size(), 3U);  // for the log
    for (std::uint64_t position = 0; position < 10; ++position) {
        EXPECT_EQ(subject->birth(position).recipe, Recipe::sample);
        EXPECT_EQ(subject->birth(position).id, 30 + position);
    }
    const Shared loaded = empty->load(subject->save());
    EXPECT_EQ(loaded->digest(), subject->digest());
    // Less than before the restart, and yet the best since then.
    Scores scores = faithful(*loaded, 0.5);
    EXPECT_FALSE(after(loaded, scores)->parent_pool().empty());
}

TEST(SpeciesStrategy, FoundersAfterAllDiedOutAreJudgedByThemselves) {
    const Shared empty =
        make({.stagnation = 2, .protected_species = 0}, 10, 0.5F, {}, {.restart_after = 3});
    Shared subject = after(empty, founders());
    subject = after(subject, faithful(*subject));
    subject = after(subject, faithful(*subject));
    ASSERT_TRUE(subject->parent_pool().empty());
    // Better and better, and far from the best before.
    for (const double fitness : {0.1, 0.2, 0.3, 0.4, 0.5}) {
        subject = after(subject, faithful(*subject, fitness));
        EXPECT_FALSE(subject->parent_pool().empty()) << fitness;
    }
    EXPECT_EQ(empty->load(subject->save())->digest(), subject->digest());
}

TEST(SpeciesStrategy, TheThresholdMovesTowardsTheTarget) {
    Shared subject =
        after(make({.threshold = 3.0, .target = 2, .threshold_change = 0.5}), founders());
    EXPECT_EQ(subject->kinship()[0].threshold, 4.5);
    EXPECT_EQ(subject->species()[0].threshold, 3.0);
    Scores scores = faithful(*subject);
    std::ranges::fill(scores.species, 0U);
    for (std::uint64_t position = 0; position < 10; ++position) {
        if (subject->carries(position)) {
            scores.status[position] = Status::failed;
        }
    }
    subject = after(subject, scores);
    EXPECT_EQ(subject->kinship()[0].threshold, 3.0);
    EXPECT_EQ(after(make({.threshold = 3.0, .target = 3}), founders())->kinship()[0].threshold,
              3.0);
    EXPECT_EQ(after(make({.threshold = 3.0}), founders())->kinship()[0].threshold, 3.0);
}

TEST(SpeciesStrategy, ParentsAreOfOneSpeciesUnlessTheyMateAbroad) {
    for (const float abroad : {0.0F, 1.0F}) {
        Shared subject = make(
            {.sharing = Sharing::plain, .survival = 1.0, .interspecies_rate = abroad}, 10, 1.0F);
        subject = after(subject, founders());
        const auto species = [&](const Parent& parent) {
            const std::size_t place = index_of(parent.place);
            return place < 6 ? 0 : place < 9 ? 1 : 2;
        };
        std::size_t pairs = 0;
        for (std::uint64_t position = 0; position < 10; ++position) {
            const Parents parents = subject->birth(position).parents;
            if (parents.size() == 2) {
                ++pairs;
                EXPECT_EQ(species(parents[0]) != species(parents[1]), abroad > 0.0F);
                EXPECT_GE(parents[0].fitness, parents[1].fitness);
                EXPECT_NE(parents[0].birth, parents[1].birth);
            }
        }
        // One who is alone in its species finds no mate there.
        EXPECT_EQ(pairs, abroad > 0.0F ? 8U : 3U);
    }
}

TEST(SpeciesStrategy, BirthsAreAsManyAsThePopulationWhateverHappens) {
    RandomStream rng(random_key(3, "test"), 1);
    for (const std::uint64_t size : {1U, 7U, 60U}) {
        Shared subject = make({.target = 4, .min_size = 1, .stagnation = 3}, size);
        for (int generation = 0; generation < 60; ++generation) {
            Scores scores = faithful(*subject);
            const auto known =
                static_cast<std::uint32_t>(subject->kinship()[0].representatives.size());
            std::uint32_t next = known;
            for (std::uint64_t position = 0; position < size; ++position) {
                scores.fitness[position] = static_cast<double>(rng.normal());
                if (known == 0 || rng.chance(0.1F)) {
                    scores.species[position] = next;
                    next += rng.index(2);
                }
                if (rng.chance(0.1F)) {
                    scores.status[position] = Status::non_finite;
                }
            }
            subject = after(subject, scores);
            std::uint64_t offspring = 0;
            for (const SpeciesSummary& one : subject->species()) {
                offspring += one.offspring;
            }
            EXPECT_EQ(offspring, subject->parent_pool().empty() ? 0 : size);
            for (std::uint64_t position = 0; position < size; ++position) {
                const Birth birth = subject->birth(position);
                EXPECT_EQ(birth.recipe == Recipe::sample, subject->parent_pool().empty());
                for (const Parent& parent : birth.parents) {
                    EXPECT_EQ(parent.birth, subject->parent_pool()[index_of(parent.place)].birth);
                }
            }
            const Shared loaded =
                make({.target = 4, .min_size = 1, .stagnation = 3}, size)->load(subject->save());
            ASSERT_EQ(loaded->digest(), subject->digest());
            EXPECT_EQ(loaded->birth(size - 1), subject->birth(size - 1));
        }
    }
}

TEST(SpeciesStrategy, SomebodyIsBornHoweverManyAreCarried) {
    Shared subject =
        after(make({.sharing = Sharing::plain, .elitism = 1000, .elitism_size = 1}), founders());
    for (int generation = 0; generation < 5; ++generation) {
        std::uint64_t carried = 0;
        for (std::uint64_t position = 0; position < 10; ++position)
            carried += subject->carries(position) ? 1U : 0U;
        EXPECT_LT(carried, 10U);
        EXPECT_GT(carried, 0U);
        subject = after(subject, faithful(*subject));
    }
}

TEST(SpeciesStrategy, MigrantsAreASpeciesUntilTheirChildrenShowWhoTheyAre) {
    const Shared subject = after(make({.sharing = Sharing::plain}), founders());
    const std::vector<Member> arriving{{107, 107, 9.0}, {103, 103, 2.0}, {108, 4, 6.0}};
    const Shared next = subject->receive(arriving, false);
    const SpeciesSummary visitors = next->species()[3];
    EXPECT_EQ(visitors.id, 4U);
    EXPECT_EQ(visitors.offspring, 2U);  // the genome of birth 4 is here
    std::uint64_t offspring = 0;
    for (const SpeciesSummary& one : next->species()) {
        offspring += one.offspring;
    }
    EXPECT_EQ(offspring, 10U);
    EXPECT_EQ(next->birth(9).parents.front().birth / 100, 1U);
    EXPECT_FALSE(next->carries(9));
    // The fittest of all is carried over, wherever it comes from.
    const Shared led = subject->receive(std::vector<Member>{{107, 107, 1e6}}, false);
    EXPECT_TRUE(led->carries(9));
    EXPECT_EQ(led->birth(9).parents.front().birth, 107U);
    EXPECT_EQ(make({.sharing = Sharing::plain})->load(led->save())->digest(), led->digest());
    // A population that has died out is all theirs.
    const Shared alone = subject->receive(arriving, true);
    EXPECT_EQ(alone->parent_pool().size(), 3U);
    EXPECT_EQ(alone->kinship()[0].representatives.size(), 1U);
    EXPECT_TRUE(alone->carries(0));
    for (std::uint64_t position = 0; position < 10; ++position) {
        EXPECT_GT(alone->birth(position).parents.front().birth, 100U);
    }
    EXPECT_EQ(make({.sharing = Sharing::plain})->load(alone->save())->digest(), alone->digest());
}

TEST(SpeciesStrategy, IslandsHaveSpeciesOfTheirOwn) {
    const IslandSettings islands{.count = 3, .every = 2, .migrants = 2, .extinction_every = 5};
    Shared subject = make({.target = 3}, 30, 0.5F, islands);
    for (int generation = 0; generation < 12; ++generation) {
        const std::vector<Kinship> kinship = subject->kinship();
        ASSERT_EQ(kinship.size(), 3U);
        EXPECT_EQ(kinship[1].begin, 10U);
        EXPECT_EQ(kinship[1].end, 20U);
        Scores scores(30);
        for (std::uint64_t position = 0; position < 30; ++position) {
            scores.status[position] = Status::ok;
            scores.fitness[position] = static_cast<double>((position * 7919) % 101);
            const Kinship& own = kinship[position / 10];
            scores.species.push_back(
                own.representatives.empty()
                    ? static_cast<std::uint32_t>(position % 10 / 4)
                    : static_cast<std::uint32_t>(position % own.representatives.size()));
            for (const PoolPlace place : own.representatives) {
                EXPECT_LT(index_of(place), subject->parent_pool().size());
            }
        }
        const std::vector<std::uint64_t> ids = subject->species_of(scores);
        EXPECT_EQ(ids.size(), 30U);
        subject = after(subject, scores);
        ASSERT_EQ(make({.target = 3}, 30, 0.5F, islands)->load(subject->save())->digest(),
                  subject->digest());
    }
}

TEST(SpeciesStrategy, RefusesDamageAndOtherSettings) {
    const Shared subject = make({});
    ThreadPool threads(1);
    const Decision decision = subject->decide(founders(), threads);
    for (std::size_t length = 0; length < decision.size(); length += 7) {
        EXPECT_THROW(static_cast<void>(subject->apply(std::span(decision).first(length))),
                     InputError);
    }
    std::size_t refused = 0;
    for (std::size_t at = 0; at < decision.size(); ++at) {
        Decision damaged = decision;
        damaged[at] ^= std::byte{0x40};
        try {
            const auto next = subject->apply(damaged);
            for (std::uint64_t position = 0; position < 10; ++position) {
                static_cast<void>(next->birth(position));
            }
        } catch (const InputError&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, decision.size() / 4);
    EXPECT_THAT([&] { static_cast<void>(make({.stagnation = 3})->load(subject->save())); },
                ThrowsMessage<InputError>(HasSubstr("other species")));
    EXPECT_THAT([&] { static_cast<void>(make({.min_size = 11})); },
                ThrowsMessage<ConfigError>(HasSubstr("species.min_size is 11")));
    EXPECT_THAT(
        [&] {
            static_cast<void>(standard_strategies().make(
                "species", {.population = {.size = 10}, .steady_state = {.window = 4}}));
        },
        ThrowsMessage<ConfigError>(HasSubstr("\"species\" has no steady state")));
}

}  // namespace
}  // namespace cambrian::evolve::species_tests

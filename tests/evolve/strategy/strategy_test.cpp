#include "cambrian/evolve/strategy/strategy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

constexpr PopulationSettings settings{.size = 12, .elite_fraction = 0.25};

std::unique_ptr<Strategy> strategy(std::uint64_t seed = 1, float splice_rate = 0.5F) {
    return make_elite_strategy(seed, settings, splice_rate);
}

/// Fitness by a fixed hash of the id, so that ranks are mixed and repeatable.
std::vector<Outcome> outcomes(const std::vector<Birth>& births) {
    std::vector<Outcome> result;
    for (const Birth& birth : births) {
        Outcome outcome;
        outcome.id = birth.id;
        outcome.fitness = static_cast<double>((birth.id * 7919) % 101);
        outcome.genome = {birth.id, 1};
        result.push_back(outcome);
    }
    return result;
}

void advance(Strategy& subject, int generations) {
    for (int i = 0; i < generations; ++i) {
        subject.tell(outcomes(subject.ask()));
    }
}

TEST(EliteStrategy, AsksTheSameOnManyThreads) {
    const auto subject = make_elite_strategy(1, {.size = 5000, .elite_fraction = 0.1}, 0.5F);
    advance(*subject, 2);
    ThreadPool threads(3);
    EXPECT_EQ(subject->ask(threads), subject->ask());
}

TEST(EliteStrategy, NamesParentsByTheirPlace) {
    const auto subject = strategy();
    advance(*subject, 2);
    for (const Birth& birth : subject->ask()) {
        for (const Parent& parent : birth.parents) {
            const Member& member = subject->parent_pool()[parent.member];
            EXPECT_EQ(parent.birth, member.birth);
            EXPECT_EQ(parent.genome, member.genome);
            EXPECT_EQ(parent.fitness, member.fitness);
        }
    }
}

TEST(EliteStrategy, StartsWithFounders) {
    const auto subject = strategy();
    const std::vector<Birth> births = subject->ask();
    ASSERT_EQ(births.size(), 12U);
    for (std::size_t i = 0; i < births.size(); ++i) {
        EXPECT_EQ(births[i].id, i);
        EXPECT_EQ(births[i].recipe, Recipe::sample);
        EXPECT_TRUE(births[i].parents.empty());
    }
    EXPECT_TRUE(subject->parent_pool().empty());
}

TEST(EliteStrategy, CarriesTheBestAndVariesOnlyThem) {
    const auto subject = strategy();
    advance(*subject, 1);
    const auto parent_pool = subject->parent_pool();
    ASSERT_EQ(parent_pool.size(), 3U);
    EXPECT_GE(parent_pool[0].fitness, parent_pool[1].fitness);
    EXPECT_GE(parent_pool[1].fitness, parent_pool[2].fitness);
    const std::vector<Birth> births = subject->ask();
    std::set<std::size_t> parent_counts;
    for (std::size_t i = 0; i < births.size(); ++i) {
        EXPECT_EQ(births[i].id, 12 + i);
        EXPECT_EQ(births[i].recipe, i < 3 ? Recipe::carry : Recipe::vary);
        if (i < 3) {
            EXPECT_EQ(births[i].parents[0].birth, parent_pool[i].birth);
        } else {
            parent_counts.insert(births[i].parents.size());
        }
        for (const Parent& parent : births[i].parents) {
            EXPECT_TRUE(parent.birth == parent_pool[0].birth ||
                        parent.birth == parent_pool[1].birth ||
                        parent.birth == parent_pool[2].birth);
        }
        if (births[i].parents.size() == 2) {
            EXPECT_NE(births[i].parents[0].birth, births[i].parents[1].birth);
            EXPECT_GE(births[i].parents[0].fitness, births[i].parents[1].fitness);
        }
    }
    EXPECT_EQ(parent_counts, (std::set<std::size_t>{1, 2}));
}

TEST(EliteStrategy, SpliceRateDecidesTheNumberOfParents) {
    for (const float rate : {0.0F, 1.0F}) {
        const auto subject = strategy(3, rate);
        advance(*subject, 1);
        for (const Birth& birth : subject->ask()) {
            if (birth.recipe == Recipe::vary) {
                EXPECT_EQ(birth.parents.size(), rate > 0.5F ? 2U : 1U);
            }
        }
    }
}

TEST(EliteStrategy, TiesGoToTheLowerId) {
    const auto subject = strategy();
    std::vector<Outcome> equal = outcomes(subject->ask());
    for (Outcome& outcome : equal) {
        outcome.fitness = -1.0;
    }
    subject->tell(equal);
    EXPECT_EQ(subject->parent_pool()[0].birth, 0U);
    EXPECT_EQ(subject->parent_pool()[2].birth, 2U);
}

TEST(EliteStrategy, FailedAndNanOutcomesAreNeverParents) {
    const auto subject = strategy();
    std::vector<Outcome> mixed = outcomes(subject->ask());
    for (Outcome& outcome : mixed) {
        outcome.status = Status::failed;
        outcome.fitness = 1e9;
    }
    mixed[4].status = Status::ok;
    mixed[4].fitness = std::numeric_limits<double>::quiet_NaN();
    mixed[5].status = Status::ok;
    mixed[5].fitness = -5.0;
    subject->tell(mixed);
    ASSERT_EQ(subject->parent_pool().size(), 1U);
    EXPECT_EQ(subject->parent_pool()[0].birth, 5U);
    const std::vector<Birth> births = subject->ask();
    EXPECT_EQ(births[0].recipe, Recipe::carry);
    EXPECT_EQ(births[1].recipe, Recipe::vary);
    EXPECT_EQ(births[1].parents.size(), 1U);
}

TEST(EliteStrategy, WithoutAnyValidOutcomeStartsAfresh) {
    const auto subject = strategy();
    std::vector<Outcome> failed = outcomes(subject->ask());
    for (Outcome& outcome : failed) {
        outcome.status = Status::non_finite;
    }
    subject->tell(failed);
    const std::vector<Birth> births = subject->ask();
    EXPECT_EQ(births.front().id, 12U);
    EXPECT_EQ(births.front().recipe, Recipe::sample);
}

TEST(EliteStrategy, KeepsAtLeastOneAndAtMostAll) {
    const auto lone = make_elite_strategy(1, {.size = 4, .elite_fraction = 0.0}, 1.0F);
    advance(*lone, 2);
    EXPECT_EQ(lone->parent_pool().size(), 1U);
    const auto all = make_elite_strategy(1, {.size = 4, .elite_fraction = 7.0}, 1.0F);
    advance(*all, 2);
    EXPECT_EQ(all->parent_pool().size(), 4U);
    const auto exact = make_elite_strategy(1, {.size = 100, .elite_fraction = 0.07}, 1.0F);
    advance(*exact, 1);
    EXPECT_EQ(exact->parent_pool().size(), 7U);
}

TEST(EliteStrategy, IsAFunctionOfTheSeed) {
    const auto first = strategy(5);
    const auto second = strategy(5);
    const auto other = strategy(6);
    advance(*first, 3);
    advance(*second, 3);
    advance(*other, 3);
    EXPECT_EQ(first->ask(), second->ask());
    EXPECT_EQ(first->ask(), first->ask());
    EXPECT_NE(first->ask(), other->ask());
}

TEST(EliteStrategy, ContinuesFromSavedBytes) {
    const auto first = strategy(5);
    advance(*first, 3);
    const auto second = strategy(5);
    second->load(first->save());
    EXPECT_EQ(second->generation(), 3U);
    EXPECT_EQ(second->save(), first->save());
    advance(*first, 2);
    advance(*second, 2);
    EXPECT_EQ(first->ask(), second->ask());
}

TEST(EliteStrategy, RefusesForeignAndDamagedBytes) {
    const auto first = strategy(5);
    advance(*first, 3);
    const std::vector<std::byte> bytes = first->save();
    EXPECT_THROW(strategy(6)->load(bytes), InputError);
    EXPECT_THROW(strategy(5, 0.1F)->load(bytes), InputError);
    EXPECT_THROW(make_elite_strategy(5, {.size = 13}, 0.5F)->load(bytes), InputError);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_THROW(strategy(5)->load(std::span(bytes).first(length)), InputError);
    }
    const auto second = strategy(5);
    const std::vector<std::byte> before = second->save();
    EXPECT_THROW(second->load(std::span(bytes).first(bytes.size() - 1)), InputError);
    EXPECT_EQ(second->save(), before);
}

}  // namespace
}  // namespace cambrian::evolve

#include "cambrian/evolve/strategy/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve::selection_tests {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Shared = std::shared_ptr<const Strategy>;

/// How often each of four places is drawn, in shares.
std::array<double, 4> shares_of(const SelectionSettings& selection) {
    constexpr int draws = 200'000;
    std::array<double, 4> shares{};
    RandomStream rng(random_key(1, "test"), 1);
    for (int i = 0; i < draws; ++i) {
        shares.at(select_place(rng, 4, selection)) += 1.0 / draws;
    }
    return shares;
}

void expect_shares(const SelectionSettings& selection, const std::array<double, 4>& expected) {
    const std::array<double, 4> shares = shares_of(selection);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(shares.at(i), expected.at(i), 0.006) << i;
    }
}

TEST(Selection, DrawsPlacesAsItsTypeSays) {
    expect_shares({}, {0.25, 0.25, 0.25, 0.25});
    expect_shares({.type = Selection::roulette}, {0.4, 0.3, 0.2, 0.1});
    // The fittest is missed by both draws with (3/4)².
    expect_shares({.type = Selection::tournament, .tournament_size = 2},
                  {7.0 / 16, 5.0 / 16, 3.0 / 16, 1.0 / 16});
    expect_shares({.type = Selection::tournament, .tournament_size = 1}, {0.25, 0.25, 0.25, 0.25});
}

TEST(Selection, ALargeTournamentEndsWithTheFittest) {
    RandomStream rng(random_key(3, "test"), 1);
    std::uint32_t sum = 0;
    for (int i = 0; i < 20000; ++i) {  // 2·10^10 draws, if each were made.
        sum += select_place(rng, 5, {.type = Selection::tournament, .tournament_size = 1'000'000});
    }
    EXPECT_EQ(sum, 0U);
    // The fittest of very many is missed now and then.
    const SelectionSettings large{.type = Selection::tournament, .tournament_size = 5000};
    int fittest = 0;
    for (int i = 0; i < 400; ++i) {
        fittest += select_place(rng, 5000, large) == 0 ? 1 : 0;
    }
    EXPECT_NEAR(fittest, 400 * 0.632, 50);
    RandomStream usual(random_key(3, "test"), 2);
    RandomStream word_by_word(random_key(3, "test"), 2);
    static_cast<void>(
        select_place(usual, 2, {.type = Selection::tournament, .tournament_size = 64}));
    for (int i = 0; i < 64; ++i) {
        static_cast<void>(word_by_word.bits());
    }
    EXPECT_EQ(usual.bits(), word_by_word.bits());
}

TEST(Selection, TheOtherOfTwoIsAnother) {
    for (const Selection type :
         {Selection::truncation, Selection::tournament, Selection::roulette}) {
        RandomStream rng(random_key(2, "test"), 1);
        std::set<std::uint32_t> seen;
        for (int i = 0; i < 1000; ++i) {
            const std::uint32_t other = select_other(rng, 4, 2, {.type = type});
            EXPECT_NE(other, 2U);
            seen.insert(other);
        }
        EXPECT_EQ(seen, (std::set<std::uint32_t>{0, 1, 3}));
        EXPECT_EQ(select_other(rng, 2, 1, {.type = type}), 0U);
    }
}

Shared make(const SelectionSettings& selection, const SteadyStateSettings& steady = {}) {
    return standard_strategies().make("elite", {.seed = 1,
                                                .population = {.size = 12, .elite_fraction = 0.25},
                                                .splice_rate = 0.5F,
                                                .steady_state = steady,
                                                .selection = selection});
}

/// Scores that are the better the later a birth is, or all equal.
Shared after(const Shared& subject, bool equal = false) {
    Scores scores(subject->births());
    for (std::uint64_t position = 0; position < subject->births(); ++position) {
        scores.fitness[position] =
            equal ? 0.0 : static_cast<double>(subject->first_birth() + position);
        scores.status[position] = Status::ok;
    }
    ThreadPool threads(1);
    return subject->apply(subject->decide(scores, threads));
}

std::size_t carried(const Strategy& subject) {
    std::size_t count = 0;
    for (std::uint64_t position = 0; position < subject.births(); ++position) {
        EXPECT_EQ(subject.carries(position), subject.birth(position).recipe == Recipe::carry);
        count += subject.carries(position) ? 1U : 0U;
    }
    return count;
}

std::set<BirthId> parents_of(const Strategy& subject) {
    std::set<BirthId> parents;
    for (std::uint64_t position = 0; position < subject.births(); ++position) {
        if (!subject.carries(position)) {
            for (const Parent& parent : subject.birth(position).parents) {
                parents.insert(parent.birth);
            }
        }
    }
    return parents;
}

TEST(Selection, ElitesAndParentsAreSettingsOfTheirOwn) {
    EXPECT_EQ(parent_count({}, {12, 0.25}), 3U);
    EXPECT_EQ(parent_count({.type = Selection::roulette}, {12, 0.25}), 12U);
    const Shared few = after(make({.parent_fraction = 0.05}));
    EXPECT_EQ(few->parent_pool().size(), 3U);
    EXPECT_EQ(carried(*few), 3U);
    EXPECT_EQ(parents_of(*few), (std::set<BirthId>{11}));
    const Shared many = after(make({.parent_fraction = 0.5}));
    EXPECT_EQ(many->parent_pool().size(), 6U);
    EXPECT_EQ(carried(*many), 3U);
    for (const BirthId parent : parents_of(*many)) {
        EXPECT_GE(parent, 6U);
    }
    EXPECT_GT(parents_of(*many).size(), 3U);
    const Shared all = after(make({.type = Selection::tournament}));
    EXPECT_EQ(all->parent_pool().size(), 12U);
    EXPECT_EQ(carried(*all), 3U);
    const Shared loaded = make({.type = Selection::tournament})->load(all->save());
    EXPECT_EQ(loaded->digest(), all->digest());
    EXPECT_EQ(loaded->birth(7), all->birth(7));
    EXPECT_THAT([&] { static_cast<void>(make({.type = Selection::roulette})->load(all->save())); },
                ThrowsMessage<InputError>(HasSubstr("another seed, population, selection")));
}

TEST(Selection, RestartsBeginWithFoundersAlone) {
    Shared subject = after(make({.restart_after = 2}));
    subject = after(subject, true);
    EXPECT_EQ(carried(*subject), 3U);
    const Shared restarted = after(subject, true);  // the second generation without a new best
    EXPECT_TRUE(restarted->parent_pool().empty());
    EXPECT_EQ(carried(*restarted), 0U);
    for (std::uint64_t position = 0; position < 12; ++position) {
        EXPECT_EQ(restarted->birth(position).recipe, Recipe::sample);
        EXPECT_EQ(restarted->birth(position).id, 36 + position);
    }
    const Shared loaded = make({.restart_after = 2})->load(restarted->save());
    EXPECT_EQ(loaded->digest(), restarted->digest());
    EXPECT_EQ(loaded->birth(5), restarted->birth(5));
    const Shared next = after(restarted, true);
    EXPECT_EQ(carried(*next), 3U);
    EXPECT_FALSE(after(next, true)->parent_pool().empty());
    EXPECT_TRUE(after(after(next, true), true)->parent_pool().empty());
}

TEST(Selection, FoundersAfterNoValidBirthAreJudgedByThemselves) {
    const Shared first = after(make({.restart_after = 2}));
    ThreadPool threads(1);
    const Shared none = first->apply(first->decide(Scores(first->births()), threads));
    ASSERT_TRUE(none->parent_pool().empty());
    // Worse than those before: the best since.
    const Shared next = after(none, true);
    EXPECT_FALSE(next->parent_pool().empty());
    EXPECT_FALSE(after(next, true)->parent_pool().empty());
    EXPECT_TRUE(after(after(next, true), true)->parent_pool().empty());
}

TEST(Selection, WhatWasBestInAnotherTaskIsNoRecord) {
    const auto changing = [](std::vector<std::uint64_t> changes) -> Shared {
        return standard_strategies().make("elite", {.seed = 3,
                                                    .population = {.size = 12},
                                                    .selection = {.restart_after = 2},
                                                    .task_changes = std::move(changes)});
    };
    Shared subject = after(changing({1}));
    subject = after(subject, true);  // generation 1: as bad as before is the best of its task
    subject = after(subject, true);
    EXPECT_FALSE(subject->parent_pool().empty());
    const Shared loaded = changing({1})->load(subject->save());
    EXPECT_EQ(loaded->digest(), subject->digest());
    EXPECT_TRUE(after(subject, true)->parent_pool().empty());
    EXPECT_TRUE(after(after(after(changing({})), true), true)->parent_pool().empty());
}

TEST(Selection, TheSteadyStateRefusesWhatItCannotDo) {
    EXPECT_THAT([] { static_cast<void>(make({.parent_fraction = 0.5}, {.window = 4})); },
                ThrowsMessage<ConfigError>(HasSubstr("selection.parent_fraction is set")));
    EXPECT_THAT([] { static_cast<void>(make({.restart_after = 5}, {.window = 4})); },
                ThrowsMessage<ConfigError>(HasSubstr("selection.restart_after is set")));
    EXPECT_EQ(make({.type = Selection::tournament}, {.window = 4})->births(), 1U);
}

}  // namespace
}  // namespace cambrian::evolve::selection_tests

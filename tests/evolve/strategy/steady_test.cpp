#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

// The steady state: blocks of births, of which several are open at once.
namespace cambrian::evolve::steady_state {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Shared = std::shared_ptr<const Strategy>;

constexpr std::uint64_t block = 4;
constexpr std::uint64_t open = 3;
constexpr std::uint64_t population = 20;

StrategyContext context(std::uint64_t window = open * block) {
    StrategyContext made;
    made.seed = 3;
    made.population = {.size = population, .elite_fraction = 0.25};
    made.splice_rate = 0.5F;
    made.steady_state = {.window = window, .block = block};
    return made;
}

Shared make(const StrategyContext& of) {
    return standard_strategies().make("elite", of);
}

/// A fixed hash of the id, so that the order is mixed and repeatable.
double fitness_of(BirthId id) {
    return static_cast<double>((id * 7919) % 1009);
}

/// The state after the oldest open block was told.
Shared after(const Shared& subject) {
    ThreadPool threads(1);
    Scores scores(subject->births());
    for (std::uint64_t position = 0; position < scores.size(); ++position) {
        const BirthId id = subject->first_birth() + position - (open - 1) * block;
        scores.fitness[position] = fitness_of(id);
        scores.status[position] = id % 11 == 5 ? Status::failed : Status::ok;
    }
    return subject->apply(subject->decide(scores, threads));
}

Shared advanced(Shared subject, int blocks) {
    for (int i = 0; i < blocks; ++i) {
        subject = after(subject);
    }
    return subject;
}

std::vector<Birth> births_of(const Strategy& subject) {
    std::vector<Birth> births;
    for (std::uint64_t position = 0; position < subject.births(); ++position) {
        births.push_back(subject.birth(position));
    }
    return births;
}

TEST(SteadyState, APopulationOfOneHasChildren) {
    StrategyContext one = context();
    one.population.size = 1;
    const Shared subject = advanced(make(one), 3);
    ASSERT_EQ(subject->parent_pool().size(), 1U);
    for (const Birth& birth : births_of(*subject)) {
        EXPECT_EQ(birth.recipe, Recipe::vary);
        EXPECT_EQ(birth.parents.size(), 1U);
    }
}

TEST(SteadyState, ABirthKnowsWhatWasToldUpToAWindowBeforeIt) {
    Shared subject = make(context());
    EXPECT_EQ(subject->open(), open);
    std::size_t children = 0;
    for (std::uint64_t told = 0; told < 40; ++told, subject = after(subject)) {
        EXPECT_EQ(subject->told(), told);
        EXPECT_EQ(subject->generation(), told + open - 1);
        // The best five of all that were told, of whom every eleventh failed.
        std::vector<Member> known;
        for (BirthId id = 0; id < told * block; ++id) {
            if (id % 11 != 5) {
                known.push_back({id, id, fitness_of(id)});
            }
        }
        std::ranges::sort(known, fitter);
        known.resize(std::min<std::size_t>(known.size(), 5));
        EXPECT_THAT(subject->parent_pool(), ::testing::ElementsAreArray(known));
        for (const Birth& birth : births_of(*subject)) {
            EXPECT_EQ(birth.recipe, birth.id < population ? Recipe::sample : Recipe::vary);
            for (const Parent& parent : birth.parents) {
                ++children;
                EXPECT_LT(parent.birth, birth.id - birth.id % block - (open - 1) * block);
                EXPECT_EQ(subject->parent_pool()[index_of(parent.place)].birth, parent.birth);
            }
        }
    }
    EXPECT_GT(children, 150U);
}

TEST(SteadyState, FormerStatesGiveTheBirthsOfTheirBlocks) {
    const Shared early = advanced(make(context()), 9);
    const Shared late = advanced(early, 2);
    const std::unique_ptr<Strategy> before = late->former();
    ASSERT_TRUE(before);
    const std::unique_ptr<Strategy> oldest = before->former();
    ASSERT_TRUE(oldest);
    EXPECT_EQ(oldest->generation(), early->generation());
    EXPECT_EQ(births_of(*oldest), births_of(*early));
    EXPECT_EQ(oldest->former(), nullptr);
}

TEST(SteadyState, GoesOnFromSavedBytes) {
    const Shared subject = advanced(make(context()), 12);
    const Shared loaded = make(context())->load(subject->save());
    EXPECT_EQ(loaded->digest(), subject->digest());
    EXPECT_EQ(births_of(*advanced(loaded, 3)), births_of(*advanced(subject, 3)));
    EXPECT_EQ(births_of(*loaded->former()), births_of(*subject->former()));
}

TEST(SteadyState, RefusesForeignAndDamagedBytes) {
    const std::vector<std::byte> bytes = advanced(make(context()), 12)->save();
    EXPECT_THROW(static_cast<void>(make(context(2 * block))->load(bytes)), InputError);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_THROW(static_cast<void>(make(context())->load(std::span(bytes).first(length))),
                     InputError);
    }
    // Before the pools stands the generation: members of blocks that were not told in an earlier
    // one.
    const std::size_t pool = bytes.size() - advanced(make(context(2 * block)), 12)->save().size();
    std::vector<std::byte> earlier = bytes;
    std::byte& generation = earlier[earlier.size() - open * pool - sizeof(std::uint64_t)];
    ASSERT_EQ(generation, std::byte{12 + open - 1});
    generation = std::byte{open};
    EXPECT_THAT([&] { static_cast<void>(make(context())->load(earlier)); },
                ThrowsMessage<InputError>(HasSubstr("a member is born later")));
}

TEST(SteadyState, AWindowHoldsWholeBlocks) {
    EXPECT_THAT([] { static_cast<void>(make(context(3))); },
                ThrowsMessage<ConfigError>(HasSubstr("steady_state.window is 3")));
    EXPECT_THAT([] { static_cast<void>(make(context(10))); },
                ThrowsMessage<ConfigError>(HasSubstr("use 8 or 12")));
    EXPECT_EQ(make(context(block))->open(), 1U);
    StrategyContext generations = context(0);
    EXPECT_THAT([&] { static_cast<void>(make(generations)); },
                ThrowsMessage<ConfigError>(HasSubstr("without steady_state.window")));
    generations.steady_state.block = 1;
    EXPECT_EQ(make(generations)->open(), 1U);
    // That divides 5,128 and is at least 6.
    EXPECT_THAT([&] { static_cast<void>(make(context(5128))); },
                ThrowsMessage<ConfigError>(HasSubstr("set steady_state.block to 8 or more")));
    EXPECT_EQ(make(context(1024 * block))->open(), 1024U);
}

TEST(SteadyState, IslandsShareABlockAsTheyShareThePopulation) {
    StrategyContext islands = context();
    islands.islands = {.count = 3, .every = 2, .sizes = {5, 5, 10}};
    Shared subject = make(islands);
    EXPECT_EQ(subject->open(), open);
    EXPECT_EQ(subject->births(), block);
    for (int told = 0; told < 20; ++told, subject = after(subject)) {
        const std::vector<Birth> births = births_of(*subject);
        std::vector<std::uint32_t> on;
        for (std::size_t i = 0; i < births.size(); ++i) {
            EXPECT_EQ(births[i].id, subject->first_birth() + i);
            on.push_back(births[i].island);
        }
        EXPECT_THAT(on, ::testing::ElementsAre(0, 1, 2, 2));
    }
    const Shared loaded = make(islands)->load(subject->save());
    EXPECT_EQ(births_of(*loaded->former()->former()), births_of(*subject->former()->former()));
    islands.islands = {.count = 5};
    EXPECT_THAT([&] { static_cast<void>(make(islands)); },
                ThrowsMessage<ConfigError>(
                    HasSubstr("no birth of a block) set steady_state.block to 5 or more")));
}

TEST(SteadyState, AStrategyThatKnowsGenerationsOnlyIsNamed) {
    StrategyRegistry registry;
    registry.add("plain", [](const StrategyContext& of) {
        StrategyContext generations = of;
        generations.steady_state = {};
        return make_elite_strategy(generations);
    });
    EXPECT_THAT([&] { static_cast<void>(registry.make("plain", context())); },
                ThrowsMessage<ConfigError>(HasSubstr("\"plain\" has no steady state")));
}

}  // namespace
}  // namespace cambrian::evolve::steady_state

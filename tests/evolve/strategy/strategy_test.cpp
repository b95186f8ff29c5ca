#include "cambrian/evolve/strategy/strategy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

using Shared = std::shared_ptr<const Strategy>;

Shared make(const StrategyContext& context) {
    return standard_strategies().make("elite", context);
}

Shared strategy(std::uint64_t seed = 1, float splice_rate = 0.5F) {
    return make({seed, {.size = 12, .elite_fraction = 0.25}, splice_rate});
}

std::vector<Birth> births_of(const Strategy& subject) {
    std::vector<Birth> births;
    for (std::uint64_t position = 0; position < subject.births(); ++position) {
        births.push_back(subject.birth(position));
    }
    return births;
}

/// Fitness by a fixed hash of the id, so that ranks are mixed and repeatable.
Scores scores_of(const Strategy& subject) {
    Scores scores(subject.births());
    for (std::uint64_t position = 0; position < subject.births(); ++position) {
        scores.fitness[position] =
            static_cast<double>(((subject.first_birth() + position) * 7919) % 101);
        scores.status[position] = Status::ok;
    }
    if (subject.regulates()) {
        const std::uint64_t genes = 10 + 4 * (subject.generation() % 3);
        scores.complexity.assign(scores.size(), static_cast<std::uint32_t>(genes));
    }
    return scores;
}

Decision decide(const Strategy& subject, const Scores& scores) {
    ThreadPool threads(2);
    return subject.decide(scores, threads);
}

Shared after(const Shared& subject, const Scores& scores) {
    return subject->apply(decide(*subject, scores));
}

Shared advanced(Shared subject, int generations) {
    for (int i = 0; i < generations; ++i) {
        subject = after(subject, scores_of(*subject));
    }
    return subject;
}

TEST(EliteStrategy, NamesParentsByTheirPlace) {
    const Shared subject = advanced(strategy(), 2);
    for (const Birth& birth : births_of(*subject)) {
        for (const Parent& parent : birth.parents) {
            const Member& member = subject->parent_pool()[index_of(parent.place)];
            EXPECT_EQ(parent.birth, member.birth);
            EXPECT_EQ(parent.fitness, member.fitness);
        }
    }
}

void expect_foreseen(const StrategyContext& context) {
    const Shared founders = make(context);
    EXPECT_FALSE(founders->first_parent(0, 5, 0));
    const Shared former = advanced(founders, 2);
    const Shared next = advanced(former, 1);
    ASSERT_EQ(next->parent_pool().size(), next->max_members());
    for (std::uint64_t position = 0; position < next->births(); ++position) {
        const PoolPlace drawn = next->birth(position).parents.front().place;
        EXPECT_EQ(former->first_parent(3, position, next->max_members()), index_of(drawn));
    }
}

TEST(EliteStrategy, ForeseesTheFirstParentsOfGenerationsToCome) {
    StrategyContext context{
        .seed = 3, .population = {.size = 40, .elite_fraction = 0.2}, .splice_rate = 0.5F};
    for (const Selection type :
         {Selection::truncation, Selection::tournament, Selection::roulette}) {
        context.selection = {.type = type};
        expect_foreseen(context);
    }
}

TEST(Strategy, ForeseesFirstParentsOnIslandsAndInPhasesToo) {
    StrategyContext context{
        .seed = 3, .population = {.size = 40, .elite_fraction = 0.2}, .splice_rate = 0.5F};
    context.complexity = {.ceiling = 2.0, .splice = false};
    expect_foreseen(context);
    context.islands = {.count = 3, .every = 1, .sizes = {20, 12, 8}};
    expect_foreseen(context);
    context.complexity = {};
    expect_foreseen(context);
    // Which island has less is not told.
    const Shared subject = advanced(make(context), 2);
    EXPECT_FALSE(subject->first_parent(3, 5, subject->max_members() - 1));
}

TEST(EliteStrategy, StartsWithFounders) {
    const Shared subject = strategy();
    const std::vector<Birth> births = births_of(*subject);
    ASSERT_EQ(births.size(), 12U);
    for (std::size_t i = 0; i < births.size(); ++i) {
        EXPECT_EQ(births[i].id, i);
        EXPECT_EQ(births[i].recipe, Recipe::sample);
        EXPECT_TRUE(births[i].parents.empty());
    }
    EXPECT_TRUE(subject->parent_pool().empty());
}

TEST(EliteStrategy, CarriesTheBestAndVariesOnlyThem) {
    const Shared subject = advanced(strategy(), 1);
    const auto parent_pool = subject->parent_pool();
    ASSERT_EQ(parent_pool.size(), 3U);
    EXPECT_GE(parent_pool[0].fitness, parent_pool[1].fitness);
    EXPECT_GE(parent_pool[1].fitness, parent_pool[2].fitness);
    const std::vector<Birth> births = births_of(*subject);
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
        const Shared subject = advanced(strategy(3, rate), 1);
        for (const Birth& birth : births_of(*subject)) {
            if (birth.recipe == Recipe::vary) {
                EXPECT_EQ(birth.parents.size(), rate > 0.5F ? 2U : 1U);
            }
        }
    }
}

TEST(EliteStrategy, TiesGoToTheLowerId) {
    Scores equal = scores_of(*strategy());
    std::ranges::fill(equal.fitness, -1.0);
    const Shared subject = after(strategy(), equal);
    EXPECT_EQ(subject->parent_pool()[0].birth, 0U);
    EXPECT_EQ(subject->parent_pool()[2].birth, 2U);
}

TEST(EliteStrategy, FailedAndNanScoresAreNeverParents) {
    Scores mixed(12);
    std::ranges::fill(mixed.fitness, 1e9);
    mixed.status[4] = Status::ok;
    mixed.fitness[4] = std::numeric_limits<double>::quiet_NaN();
    mixed.status[5] = Status::ok;
    mixed.fitness[5] = -5.0;
    const Shared subject = after(strategy(), mixed);
    ASSERT_EQ(subject->parent_pool().size(), 1U);
    EXPECT_EQ(subject->parent_pool()[0].birth, 5U);
    const std::vector<Birth> births = births_of(*subject);
    EXPECT_EQ(births[0].recipe, Recipe::carry);
    EXPECT_EQ(births[1].recipe, Recipe::vary);
    EXPECT_EQ(births[1].parents.size(), 1U);
}

TEST(EliteStrategy, WithoutAnyValidScoreStartsAfresh) {
    const Shared subject = after(strategy(), Scores(12));
    EXPECT_EQ(subject->birth(0).id, 12U);
    EXPECT_EQ(subject->birth(0).recipe, Recipe::sample);
}

TEST(EliteStrategy, MembersRememberTheBirthThatMadeThem) {
    Shared subject = strategy();
    std::map<BirthId, BirthId> origins;
    for (int generation = 0; generation < 4; ++generation) {
        for (const Birth& birth : births_of(*subject)) {
            origins[birth.id] =
                birth.recipe == Recipe::carry ? origins.at(birth.parents.front().birth) : birth.id;
        }
        subject = after(subject, scores_of(*subject));
        for (const Member& member : subject->parent_pool()) {
            EXPECT_EQ(member.origin, origins.at(member.birth));
        }
    }
}

TEST(EliteStrategy, KeepsAtLeastOneAndAtMostAll) {
    EXPECT_EQ(advanced(make({1, {4, 0.0}, 1.0F}), 2)->parent_pool().size(), 1U);
    EXPECT_EQ(advanced(make({1, {4, 7.0}, 1.0F}), 2)->parent_pool().size(), 4U);
    EXPECT_EQ(advanced(make({1, {100, 0.07}, 1.0F}), 1)->parent_pool().size(), 7U);
}

TEST(EliteStrategy, IsAFunctionOfTheSeed) {
    const Shared first = advanced(strategy(5), 3);
    const Shared second = advanced(strategy(5), 3);
    const Shared other = advanced(strategy(6), 3);
    EXPECT_EQ(births_of(*first), births_of(*second));
    EXPECT_EQ(first->digest(), second->digest());
    EXPECT_NE(births_of(*first), births_of(*other));
    EXPECT_NE(first->digest(), other->digest());
    EXPECT_NE(first->digest(), advanced(first, 1)->digest());
}

TEST(EliteStrategy, ContinuesFromSavedBytes) {
    const Shared first = advanced(strategy(5), 3);
    const Shared second = strategy(5)->load(first->save());
    EXPECT_EQ(second->generation(), 3U);
    EXPECT_EQ(second->digest(), first->digest());
    EXPECT_EQ(births_of(*advanced(first, 2)), births_of(*advanced(second, 2)));
}

TEST(EliteStrategy, RefusesForeignAndDamagedBytes) {
    const std::vector<std::byte> bytes = advanced(strategy(5), 3)->save();
    EXPECT_THROW(static_cast<void>(strategy(6)->load(bytes)), InputError);
    EXPECT_THROW(static_cast<void>(strategy(5, 0.1F)->load(bytes)), InputError);
    EXPECT_THROW(static_cast<void>(make({5, {.size = 13}, 0.5F})->load(bytes)), InputError);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_THROW(static_cast<void>(strategy(5)->load(std::span(bytes).first(length))),
                     InputError);
    }
}

TEST(EliteStrategy, RefusesDecisionsAboutOtherStates) {
    const Shared subject = advanced(strategy(), 2);
    const Decision sound = decide(*subject, scores_of(*subject));
    EXPECT_NO_THROW(static_cast<void>(subject->apply(sound)));
    for (std::size_t length = 1; length < sound.size(); ++length) {
        if (length % 12 != 0) {
            EXPECT_THROW(static_cast<void>(subject->apply(std::span(sound).first(length))),
                         InputError);
        }
    }
    Decision twice = sound;
    twice.insert(twice.end(), sound.begin(), sound.end());
    EXPECT_THROW(static_cast<void>(subject->apply(twice)), InputError);
    Decision outside = sound;
    outside[0] = std::byte{200};
    EXPECT_THROW(static_cast<void>(subject->apply(outside)), InputError);
    Decision disorder(sound.begin() + 12, sound.end());
    disorder.insert(disorder.end(), sound.begin(), sound.begin() + 12);
    EXPECT_THROW(static_cast<void>(subject->apply(disorder)), InputError);
}

/// Follows a strategy for some generations. → How many of them were to keep the best, and did.
int kept_best(Shared subject, int generations) {
    int kept = 0;
    for (int generation = 0; generation < generations; ++generation) {
        const Scores scores = scores_of(*subject);
        std::vector<Member> all;
        if (subject->members_stay()) {
            all.assign(subject->parent_pool().begin(), subject->parent_pool().end());
        }
        const BirthId first = subject->told() * subject->births();
        for (std::uint64_t position = 0; position < scores.size(); ++position) {
            all.push_back({first + position, first + position, scores.fitness[position]});
        }
        const Shared next = after(subject, scores);
        if (subject->keeps_best()) {
            const Member best = *std::ranges::min_element(next->parent_pool(), fitter);
            EXPECT_EQ(best.birth, std::ranges::min_element(all, fitter)->birth) << generation;
            ++kept;
        }
        subject = next;
    }
    return kept;
}

TEST(Strategy, SaysWhereTheBestIsKept) {
    StrategyContext context{.seed = 3, .population = {.size = 24, .elite_fraction = 0.25}};
    EXPECT_EQ(kept_best(make(context), 12), 12);
    context.selection = {.type = Selection::tournament, .parent_fraction = 0.5};
    EXPECT_EQ(kept_best(make(context), 12), 12);
    context.selection = {.restart_after = 2};
    EXPECT_EQ(kept_best(make(context), 12), 0);
    context.selection = {};
    context.islands = {.count = 3, .every = 2, .migrants = 2, .extinction_every = 4};
    EXPECT_EQ(kept_best(make(context), 12), 9);
    context.steady_state = {.window = 12, .block = 6};
    EXPECT_EQ(kept_best(make(context), 12), 9);
    context.islands = {};
    EXPECT_EQ(kept_best(make(context), 12), 12);
    context.steady_state = {};
    context.complexity = {.ceiling = 2.0};
    EXPECT_EQ(kept_best(make(context), 12), 12);
    context.selection = {.restart_after = 2};
    EXPECT_EQ(kept_best(make(context), 12), 0);
}

TEST(StrategyRegistry, NamesTheNearestType) {
    EXPECT_THAT([] { static_cast<void>(standard_strategies().make("elit", {})); },
                ::testing::ThrowsMessage<ConfigError>(::testing::HasSubstr("\"elite\"")));
    StrategyRegistry registry = standard_strategies();
    EXPECT_THROW(registry.add("elite", make_elite_strategy), ConfigError);
    registry.add("mine", make_elite_strategy);
    EXPECT_EQ(registry.names(),
              (std::vector<std::string>{"age_layers", "elite", "mine", "species"}));
}

TEST(StrategyRegistry, NamesAFactoryThatMakesNoStrategy) {
    StrategyRegistry registry;
    registry.add("nuller", [](const StrategyContext&) -> std::unique_ptr<Strategy> { return {}; });
    registry.add("thrower", [](const StrategyContext&) -> std::unique_ptr<Strategy> {
        throw std::runtime_error("no luck");
    });
    for (const std::uint64_t islands : {1U, 3U}) {
        StrategyContext context{1, {.size = 12, .elite_fraction = 0.25}, 0.5F};
        context.islands.count = islands;
        EXPECT_THAT([&] { static_cast<void>(registry.make("nuller", context)); },
                    ::testing::ThrowsMessage<ConfigError>(::testing::HasSubstr(
                        "strategy \"nuller\" fails (it makes none) mend its factory")));
        EXPECT_THAT([&] { static_cast<void>(registry.make("thrower", context)); },
                    ::testing::ThrowsMessage<ConfigError>(
                        ::testing::HasSubstr("strategy \"thrower\" fails (no luck) mend")));
    }
}

/// Gives no states.
class Stuck final : public Strategy {
  public:
    explicit Stuck(std::unique_ptr<Strategy> elite) : elite_(std::move(elite)) {}
    std::uint64_t generation() const override { return elite_->generation(); }
    std::uint64_t births() const override { return elite_->births(); }
    BirthId first_birth() const override { return elite_->first_birth(); }
    Birth birth(std::uint64_t position) const override { return elite_->birth(position); }
    std::span<const Member> parent_pool() const override { return elite_->parent_pool(); }
    Decision decide(const Scores& scores, ThreadPool& threads) const override {
        return elite_->decide(scores, threads);
    }
    std::unique_ptr<Strategy> apply(std::span<const std::byte>) const override { return {}; }
    std::unique_ptr<Strategy> receive(std::span<const Member>, bool) const override { return {}; }
    std::vector<std::byte> save() const override { return elite_->save(); }
    std::unique_ptr<Strategy> load(std::span<const std::byte>) const override { return {}; }

  private:
    std::unique_ptr<Strategy> elite_;
};

TEST(StrategyRegistry, AStrategyThatGivesNoStateIsNamed) {
    const auto fails = [](const char* code) {
        return ::testing::ThrowsMessage<ConfigError>(
            std::string(code) + " of the strategy fails (it makes none) mend it");
    };
    StrategyRegistry registry;
    registry.add("stuck", [](const StrategyContext& context) {
        return std::make_unique<Stuck>(make_elite_strategy(context));
    });
    for (const std::uint64_t islands : {1U, 3U}) {
        StrategyContext context{1, {.size = 12, .elite_fraction = 0.25}, 0.5F};
        context.islands.count = islands;
        const Shared made = registry.make("stuck", context);
        const Decision decision = decide(*made, scores_of(*made));
        EXPECT_THAT([&] { static_cast<void>(state_after(*made, decision)); }, fails("apply()"));
        EXPECT_THAT([&] { static_cast<void>(state_of(*made, made->save())); }, fails("load()"));
    }
    const Shared alone = registry.make("stuck", {1, {.size = 12, .elite_fraction = 0.25}, 0.5F});
    EXPECT_THAT([&] { static_cast<void>(state_with(*alone, {}, false)); }, fails("receive()"));
}

}  // namespace
}  // namespace cambrian::evolve

#include "cambrian/evolve/strategy/age_layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::evolve::age_layer_tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Shared = std::shared_ptr<const Strategy>;

constexpr std::uint64_t never = ~std::uint64_t{0};

TEST(AgeLayers, LimitsByHand) {
    const auto limits = [](AgeScheme scheme) {
        return age_limits({.count = 6, .gap = 10, .scheme = scheme});
    };
    EXPECT_THAT(limits(AgeScheme::linear), ElementsAre(10, 20, 30, 40, 50, never));
    EXPECT_THAT(limits(AgeScheme::fibonacci), ElementsAre(10, 20, 30, 50, 80, never));
    EXPECT_THAT(limits(AgeScheme::polynomial), ElementsAre(10, 20, 40, 90, 160, never));
    EXPECT_THAT(limits(AgeScheme::exponential), ElementsAre(10, 20, 40, 80, 160, never));
    EXPECT_THAT(age_limits({.count = 1, .gap = 3}), ElementsAre(never));
}

Shared make(const AgeLayerSettings& settings, const IslandSettings& islands = {}) {
    return standard_strategies().make("age_layers",
                                      {.seed = 1,
                                       .population = {.size = 24, .elite_fraction = 0.25},
                                       .splice_rate = 0.5F,
                                       .islands = islands,
                                       .age_layers = settings});
}

Scores scores_of(const Strategy& subject) {
    Scores scores(subject.births());
    for (std::uint64_t position = 0; position < subject.births(); ++position) {
        scores.fitness[position] =
            static_cast<double>(((subject.first_birth() + position) * 7919) % 101);
        scores.status[position] = position % 11 == 10 ? Status::failed : Status::ok;
    }
    return scores;
}

Shared after(const Shared& subject, const Scores& scores) {
    ThreadPool threads(1);
    return subject->apply(subject->decide(scores, threads));
}

/// Three layers of eight, limits 2 and 4: who lives in which, told from births alone.
TEST(AgeLayers, KeepTheYoungApart) {
    const AgeLayerSettings settings{.count = 3, .gap = 2, .scheme = AgeScheme::linear};
    Shared subject = make(settings);
    std::map<BirthId, std::uint64_t> founded;  // the oldest founder among the ancestors
    std::map<BirthId, std::uint64_t> layer;
    for (std::uint64_t generation = 0; generation < 30; ++generation) {
        std::array<std::size_t, 3> founders{};
        for (std::uint64_t position = 0; position < 24; ++position) {
            const Birth birth = subject->birth(position);
            const std::uint64_t own = position / 8;
            std::uint64_t first = generation;
            for (const Parent& parent : birth.parents) {
                first = std::min(first, founded.at(parent.birth));
                // From here or right below, where it lived or what it has grown out of.
                EXPECT_LE(layer.at(parent.birth), own);
                EXPECT_EQ(parent.birth, subject->parent_pool()[index_of(parent.place)].birth);
            }
            founded[birth.id] = first;
            layer[birth.id] = own;
            const std::uint64_t age = generation - first;
            if (birth.recipe == Recipe::carry) {
                EXPECT_LT(age, own == 0 ? 2U : own == 1 ? 4U : never) << generation;
            }
            EXPECT_EQ(birth.recipe == Recipe::carry, subject->carries(position));
            founders.at(own) += birth.recipe == Recipe::sample ? 1U : 0U;
        }
        EXPECT_EQ(founders[0], generation % 2 == 0 ? 8U : 0U) << generation;
        EXPECT_EQ(founders[2], generation == 0 ? 8U : 0U) << generation;
        double best = worst_fitness;
        Scores scores = scores_of(*subject);
        for (std::uint64_t position = 0; position < 24; ++position) {
            // A fitness stays with its genome.
            if (subject->carries(position)) {
                scores.fitness[position] = subject->birth(position).parents.front().fitness;
                scores.status[position] = Status::ok;
            }
            if (scores.valid(position)) {
                best = std::max(best, scores.fitness[position]);
            }
        }
        subject = after(subject, scores);
        const auto kept = std::ranges::max_element(subject->parent_pool(), {}, &Member::fitness);
        EXPECT_EQ(kept->fitness, best);
        EXPECT_LE(subject->parent_pool().size(), 6U);
        const Shared loaded = make(settings)->load(subject->save());
        ASSERT_EQ(loaded->digest(), subject->digest());
        EXPECT_EQ(loaded->birth(23), subject->birth(23));
    }
}

TEST(AgeLayers, MigrantsLiveWhereAllAgesDo) {
    const Shared subject =
        after(make({.count = 3, .gap = 5}), scores_of(*make({.count = 3, .gap = 5})));
    const Shared next = subject->receive(std::vector<Member>{{1000, 1000, 1e6}}, false);
    EXPECT_EQ(next->birth(16).parents.front().birth, 1000U);
    EXPECT_EQ(next->parent_pool().size(), 6U);
    const Shared alone = subject->receive(std::vector<Member>{{1000, 1000, 1e6}}, true);
    EXPECT_EQ(alone->parent_pool().size(), 1U);
    EXPECT_EQ(alone->birth(20).parents.front().birth, 1000U);
}

TEST(AgeLayers, RefusesWhatCannotBe) {
    EXPECT_THAT([] { static_cast<void>(make({.count = 13})); },
                ThrowsMessage<ConfigError>(HasSubstr("a layer has fewer than 2")));
    EXPECT_THAT(
        [] {
            static_cast<void>(standard_strategies().make(
                "age_layers", {.population = {.size = 24}, .selection = {.restart_after = 3}}));
        },
        ThrowsMessage<ConfigError>(HasSubstr("selection.restart_after is set")));
    const Shared subject = make({.count = 3, .gap = 5});
    EXPECT_THAT([&] { static_cast<void>(make({.count = 3, .gap = 6})->load(subject->save())); },
                ThrowsMessage<InputError>(HasSubstr("other layers")));
    ThreadPool threads(1);
    Decision decision = subject->decide(scores_of(*subject), threads);
    decision[0] = std::byte{24};
    EXPECT_THROW(static_cast<void>(subject->apply(decision)), InputError);
}

}  // namespace
}  // namespace cambrian::evolve::age_layer_tests

#include "cambrian/evolve/strategy/islands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Shared = std::shared_ptr<const Strategy>;

std::vector<std::uint64_t> of(Topology topology, std::uint64_t count, std::uint64_t island) {
    return neighbours({.count = count, .topology = topology}, island, 9, 1);
}

TEST(Topology, SaysWhoSendsToWhom) {
    EXPECT_THAT(of(Topology::ring, 4, 0), ElementsAre(3));
    EXPECT_THAT(of(Topology::ring, 4, 3), ElementsAre(2));
    EXPECT_THAT(of(Topology::ring, 2, 1), ElementsAre(0));
    EXPECT_THAT(of(Topology::complete, 4, 1), ElementsAre(0, 2, 3));
    EXPECT_THAT(of(Topology::star, 4, 0), ElementsAre(1, 2, 3));
    EXPECT_THAT(of(Topology::star, 4, 2), ElementsAre(0));
    EXPECT_THAT(of(Topology::hypercube, 8, 5), ElementsAre(1, 4, 7));
    EXPECT_THAT(of(Topology::hypercube, 6, 5), ElementsAre(1, 4));
    // Three rows of four.
    EXPECT_THAT(of(Topology::torus, 12, 5), ElementsAre(1, 4, 6, 9));
    EXPECT_THAT(of(Topology::torus, 12, 0), ElementsAre(1, 3, 4, 8));
    // A prime number of islands is one row.
    EXPECT_THAT(of(Topology::torus, 5, 0), ElementsAre(1, 4));
    EXPECT_TRUE(of(Topology::complete, 1, 0).empty());
}

TEST(Topology, RandomIsDrawnAnewAndNeverOneself) {
    const IslandSettings settings{.count = 5, .topology = Topology::random};
    std::set<std::uint64_t> seen;
    for (std::uint64_t generation = 0; generation < 50; ++generation) {
        const auto others = neighbours(settings, 2, generation, 1);
        ASSERT_EQ(others.size(), 1U);
        EXPECT_NE(others.front(), 2U);
        seen.insert(others.front());
        EXPECT_EQ(others, neighbours(settings, 2, generation, 1));
    }
    EXPECT_EQ(seen.size(), 4U);
}

TEST(Islands, SharesAndSizes) {
    EXPECT_THAT(island_sizes({.count = 3}, 10), ElementsAre(4, 3, 3));
    EXPECT_THAT(island_sizes({.count = 2, .sizes = {7, 3}}, 10), ElementsAre(7, 3));
    for (const IslandSettings& wrong :
         {IslandSettings{.count = 2, .sizes = {7, 4}}, IslandSettings{.count = 3, .sizes = {7, 3}},
          IslandSettings{.count = 2, .sizes = {10, 0}},
          // Its sum is 10 but for 2⁶⁴.
          IslandSettings{.count = 2, .sizes = {18'446'744'073'709'551'615U, 11}}}) {
        EXPECT_THAT([&] { static_cast<void>(island_sizes(wrong, 10)); },
                    ThrowsMessage<ConfigError>(HasSubstr("islands.sizes has")));
    }
    EXPECT_THAT([] { static_cast<void>(island_sizes({.count = 11}, 10)); },
                ThrowsMessage<ConfigError>(HasSubstr("islands.count is 11")));
}

class IslandsTest : public ::testing::Test {
  protected:
    static Shared make(const IslandSettings& islands) {
        return standard_strategies().make("elite",
                                          {.seed = 3,
                                           .population = {.size = 40, .elite_fraction = 0.25},
                                           .splice_rate = 0.5F,
                                           .islands = islands});
    }

    /// One generation; fitness by a hash of the origin, so that what is carried keeps its own.
    Shared advanced(const Shared& subject, double offset_of_last = 0.0) {
        Scores scores(subject->births());
        for (std::uint64_t i = 0; i < scores.size(); ++i) {
            const Birth birth = subject->birth(i);
            const BirthId origin =
                birth.recipe == Recipe::carry
                    ? subject->parent_pool()[index_of(birth.parents.front().place)].origin
                    : birth.id;
            scores.fitness[i] = static_cast<double>((origin * 7919) % 997) +
                                (birth.island == 3 ? offset_of_last : 0.0);
            scores.status[i] = Status::ok;
            island_of.emplace(origin, birth.island);
        }
        return subject->apply(subject->decide(scores, threads));
    }
    /// Members of an island's pool, by the places that its births name.
    static std::vector<Member> pool_of(const Strategy& subject, std::uint32_t island) {
        std::map<std::uint32_t, Member> found;
        for (std::uint64_t i = 0; i < subject.births(); ++i) {
            const Birth birth = subject.birth(i);
            for (const Parent& parent : birth.parents) {
                if (birth.island == island && birth.recipe == Recipe::carry) {
                    const auto place = static_cast<std::uint32_t>(parent.place);
                    found.emplace(place, subject.parent_pool()[place]);
                }
            }
        }
        std::vector<Member> members;
        for (const auto& [place, member] : found) {
            members.push_back(member);
        }
        return members;
    }
    /// Members whose genomes were born on another island than they live on.
    std::size_t strangers(const Strategy& subject, std::uint32_t island) {
        const std::vector<Member> pool = pool_of(subject, island);
        return static_cast<std::size_t>(std::ranges::count_if(
            pool, [&](const Member& member) { return island_of.at(member.origin) != island; }));
    }

    ThreadPool threads{1};
    std::map<BirthId, std::uint32_t> island_of;  ///< Where each genome was born.
};

TEST_F(IslandsTest, KeepToThemselvesBetweenMigrations) {
    Shared subject = make({.count = 4, .every = 0});
    for (int generation = 0; generation < 6; ++generation) {
        subject = advanced(subject);
        for (std::uint32_t island = 0; island < 4; ++island) {
            EXPECT_EQ(strangers(*subject, island), 0U);
        }
        std::set<BirthId> ids;
        for (std::uint64_t i = 0; i < subject->births(); ++i) {
            const Birth birth = subject->birth(i);
            EXPECT_EQ(birth.id, subject->first_birth() + i);
            EXPECT_EQ(birth.island, i / 10);
            for (const Parent& parent : birth.parents) {
                EXPECT_EQ(subject->parent_pool()[index_of(parent.place)].birth, parent.birth);
            }
        }
    }
}

TEST_F(IslandsTest, DrawDifferentlyFromEachOther) {
    const Shared subject = advanced(make({.count = 4, .every = 0}));
    std::set<std::vector<std::size_t>> choices;
    for (std::uint64_t island = 0; island < 4; ++island) {
        std::vector<std::size_t> sizes;
        for (std::uint64_t i = 10 * island; i < 10 * island + 10; ++i) {
            sizes.push_back(subject->birth(i).parents.size());
        }
        choices.insert(sizes);
    }
    EXPECT_GT(choices.size(), 1U);
}

TEST_F(IslandsTest, MigrantsKeepTheirOriginAndStayAtHomeToo) {
    for (const Topology topology : {Topology::ring, Topology::complete, Topology::star}) {
        const IslandSettings settings{.count = 4, .topology = topology, .every = 2};
        Shared subject = advanced(make(settings));
        EXPECT_EQ(strangers(*subject, 1), 0U);
        subject = advanced(subject);
        std::size_t moved = 0;
        for (std::uint32_t island = 0; island < 4; ++island) {
            const std::vector<Member> pool = pool_of(*subject, island);
            EXPECT_EQ(pool.size(), 3U);
            for (const Member& member : pool) {
                const std::uint32_t home = island_of.at(member.origin);
                moved += home != island ? 1U : 0U;
                // Where it is not at home any more, only fitter ones are.
                const std::vector<Member> there = pool_of(*subject, home);
                EXPECT_TRUE(std::ranges::find(there, member) != there.end() ||
                            std::ranges::all_of(
                                there, [&](const Member& other) { return fitter(other, member); }))
                    << "from " << home << " to " << island;
            }
        }
        EXPECT_GT(moved, 0U);
    }
}

TEST_F(IslandsTest, TheFittestOfResidentsAndMigrantsStay) {
    const Shared apart = advanced(advanced(make({.count = 4, .every = 0})));
    for (const Topology topology : {Topology::ring, Topology::complete, Topology::star}) {
        for (const std::uint64_t migrants : {1U, 2U, 3U}) {
            const IslandSettings settings{
                .count = 4, .topology = topology, .every = 2, .migrants = migrants};
            const Shared subject = advanced(advanced(make(settings)));
            for (std::uint32_t island = 0; island < 4; ++island) {
                std::vector<Member> fittest = pool_of(*apart, island);
                for (const std::uint64_t sender : neighbours(settings, island, 1, 3)) {
                    const std::vector<Member> pool =
                        pool_of(*apart, static_cast<std::uint32_t>(sender));
                    fittest.insert(fittest.end(), pool.begin(),
                                   pool.begin() + static_cast<std::ptrdiff_t>(migrants));
                }
                std::ranges::sort(fittest, fitter);
                fittest.resize(3);
                EXPECT_EQ(pool_of(*subject, island), fittest) << migrants;
            }
        }
    }
}

/// Two islands, the second of which has only members that are worse than any of the first.
Scores better_on_the_first(const Strategy& subject) {
    Scores scores(subject.births());
    std::ranges::fill(scores.status, Status::ok);
    for (std::uint64_t i = 0; i < scores.size(); ++i) {
        const Birth birth = subject.birth(i);
        // Those that came are the worst where they are told again, so that nobody stays there.
        const double of_second = birth.recipe == Recipe::carry ? -1000.0 : -100.0;
        scores.fitness[i] = (birth.island == 0 ? 100.0 : of_second) - static_cast<double>(i);
    }
    return scores;
}

TEST_F(IslandsTest, RandomMigrantsAreDrawnFromAllMembersWithoutRepetition) {
    for (const std::uint64_t migrants : {1U, 2U}) {
        Shared subject = standard_strategies().make(
            "elite",
            {.seed = 3,
             .population = {.size = 20, .elite_fraction = 0.25},
             .islands = {
                 .count = 2, .every = 1, .migrants = migrants, .choice = Migrants::random}});
        std::set<BirthId> seen;
        std::set<std::set<BirthId>> groups;
        for (int generation = 0; generation < 50; ++generation) {
            subject = subject->apply(subject->decide(better_on_the_first(*subject), threads));
            std::set<BirthId> arrived;
            for (const Member& member : pool_of(*subject, 1)) {
                if (member.fitness > 0.0) {
                    arrived.insert(member.origin);
                }
            }
            EXPECT_EQ(arrived.size(), migrants);
            seen.insert(arrived.begin(), arrived.end());
            groups.insert(arrived);
        }
        EXPECT_THAT(seen, ElementsAre(0, 1, 2));
        EXPECT_EQ(groups.size(), 3U);
    }
}

/// Two islands, of which the first never gets better.
Scores stale_on_the_first(const Strategy& subject) {
    Scores scores(subject.births());
    std::ranges::fill(scores.status, Status::ok);
    for (std::uint64_t i = 0; i < scores.size(); ++i)
        scores.fitness[i] =
            subject.birth(i).island == 0 ? 1.0 : 2.0 + static_cast<double>(subject.generation());
    return scores;
}

TEST_F(IslandsTest, NoMigrantStandsInForTheFoundersOfARestart) {
    for (const char* strategy : {"elite", "species"}) {
        Shared subject = standard_strategies().make(
            strategy, {.seed = 3,
                       .population = {.size = 20, .elite_fraction = 0.25},
                       .splice_rate = 0.5F,
                       .islands = {.count = 2, .every = 2, .extinction_every = 2},
                       .selection = {.restart_after = 1}});
        for (int generation = 0; generation < 2; ++generation) {
            Scores scores = stale_on_the_first(*subject);
            if (std::string_view(strategy) == "species") scores.species.assign(scores.size(), 0);
            subject = subject->apply(subject->decide(scores, threads));
        }
        for (std::uint64_t i = 0; i < 20; ++i)
            EXPECT_EQ(subject->birth(i).recipe == Recipe::sample, i < 10) << strategy << i;
    }
}

TEST_F(IslandsTest, TheSameMigrantIsTakenOnce) {
    Shared subject = make({.count = 2, .every = 1});
    for (int generation = 0; generation < 12; ++generation) {
        subject = advanced(subject);
        for (std::uint32_t island = 0; island < 2; ++island) {
            std::set<BirthId> origins;
            const std::vector<Member> pool = pool_of(*subject, island);
            for (const Member& member : pool) {
                origins.insert(member.origin);
            }
            EXPECT_EQ(origins.size(), pool.size());
        }
    }
}

TEST_F(IslandsTest, TheWorstIslandDiesOutAndIsPopulatedByTheOthers) {
    Shared subject = make({.count = 4, .every = 0, .extinction_every = 3});
    for (int generation = 0; generation < 2; ++generation) {
        subject = advanced(subject, -1e6);
        EXPECT_EQ(strangers(*subject, 3), 0U);
    }
    subject = advanced(subject, -1e6);
    EXPECT_EQ(strangers(*subject, 3), 3U);
    std::vector<Member> others;
    for (std::uint32_t island = 0; island < 3; ++island) {
        EXPECT_EQ(strangers(*subject, island), 0U);
        const std::vector<Member> pool = pool_of(*subject, island);
        others.insert(others.end(), pool.begin(), pool.end());
    }
    std::ranges::sort(others, fitter);
    others.resize(3);
    EXPECT_EQ(pool_of(*subject, 3), others);
}

TEST_F(IslandsTest, WhichIslandDiesOutIsToldBeforeMigrantsCome) {
    constexpr std::array best{40.0, 10.0, 30.0, 20.0};
    for (const Topology topology : {Topology::ring, Topology::complete, Topology::star}) {
        Shared subject =
            make({.count = 4, .topology = topology, .every = 1, .extinction_every = 1});
        Scores scores(subject->births());
        std::ranges::fill(scores.status, Status::ok);
        for (std::uint64_t i = 0; i < scores.size(); ++i)
            scores.fitness[i] = best.at(i / 10) - 0.125 * static_cast<double>(i % 10);
        subject = subject->apply(subject->decide(scores, threads));
        const std::vector<Member> fittest{{0, 0, 40.0}, {1, 1, 39.875}, {2, 2, 39.75}};
        EXPECT_EQ(pool_of(*subject, 0), fittest) << topology_names.at(std::size_t(topology));
        EXPECT_EQ(pool_of(*subject, 1), fittest) << topology_names.at(std::size_t(topology));
    }
}

TEST_F(IslandsTest, AnIslandWithoutAValidScoreIsPopulatedByMigrants) {
    Shared subject = advanced(make({.count = 4, .every = 2}));
    Scores scores(subject->births());
    for (std::uint64_t i = 0; i < 30; ++i) {
        scores.fitness[i] = 1.0;
        scores.status[i] = Status::ok;
    }
    for (std::uint64_t i = 0; i < 40; ++i) {
        island_of.emplace(subject->first_birth() + i, static_cast<std::uint32_t>(i / 10));
    }
    subject = subject->apply(subject->decide(scores, threads));
    EXPECT_EQ(pool_of(*subject, 3).size(), 1U);
    EXPECT_EQ(strangers(*subject, 3), 1U);
}

TEST_F(IslandsTest, ContinueFromSavedBytes) {
    const IslandSettings settings{
        .count = 3, .topology = Topology::random, .every = 1, .choice = Migrants::random};
    Shared first = make(settings);
    for (int generation = 0; generation < 4; ++generation) {
        first = advanced(first);
    }
    Shared second = make(settings)->load(first->save());
    EXPECT_EQ(first->digest(), second->digest());
    first = advanced(first);
    second = advanced(second);
    EXPECT_EQ(first->digest(), second->digest());
    const std::vector<std::byte> bytes = first->save();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_THROW(static_cast<void>(make(settings)->load(std::span(bytes).first(length))),
                     InputError);
    }
    EXPECT_THROW(static_cast<void>(make({.count = 4})->load(bytes)), InputError);
}

}  // namespace
}  // namespace cambrian::evolve

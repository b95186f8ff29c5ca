#include "cambrian/distributed/generation/follower.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>

#include "cambrian/distributed/generation/ancestry.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/genome/weight_rows.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// What ranks know of a run without a message between them: rounds, genomes, and the way back.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class FollowerTest : public testing::Test {
  protected:
    static constexpr std::uint32_t ranks = 3;

    FollowerTest() {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            followers.push_back(std::make_unique<Follower>(
                make_strategy(experiment), settings(ranks), variation, memory, threads));
        }
        all = std::make_unique<Follower>(make_strategy(experiment), settings(1), variation, memory,
                                         threads);
        ancestry.begin(all->round()->strategy, {});
    }

    static Follower::Settings settings(std::uint32_t of_ranks) {
        Follower::Settings made;
        made.ranks = of_ranks;
        made.on_backend = true;
        return made;
    }

    static SharedIndividual parent(const Follower& follower, std::size_t place) {
        return (*follower.parents(*follower.round()))[place];
    }

    /// A child of genomes that may lie on a backend, and lies there, too, where the test has it.
    SharedIndividual child(const evolve::Birth& birth, const PoolGenomes& parents) {
        PoolGenomes here = parents;
        for (SharedIndividual& genome : here) {
            genome = genome && !genome->on_host() ? twins.at(genome.get()) : genome;
        }
        SharedIndividual made = make_child(variation, birth, here, memory).genome;
        if (!on_backend) {
            return made;
        }
        const auto there = std::make_shared<evolve::Individual>();
        there->structure = made->structure;
        there->row = rows.take({1}).front();
        twins.emplace(there.get(), std::move(made));
        alive.push_back(there);
        return there;
    }

    /// Children of a range, made where they are evaluated. `fill` brings what is missing.
    void make(Follower& follower, OrderRange births) {
        const Round& round = *follower.round();
        std::vector<SharedIndividual> children;
        for (std::size_t i = births.begin; i < births.end; ++i) {
            children.push_back(
                child(round.strategy->birth(round.order[i]), *follower.parents(round)));
        }
        follower.keep(round, births, std::move(children));
    }

    /// One generation, cut in three; → how many parents had to travel.
    std::size_t advance(std::size_t remakes) {
        const Round& round = *followers[0]->round();
        const auto size = static_cast<std::uint32_t>(round.order.size());
        Record record{round.generation(), {}, {{size / 3, 2}, {size / 2, 0}, {size, 1}}};
        std::size_t travelled = 0;
        std::uint32_t begin = 0;
        for (const HolderRange& range : record.holders) {
            Follower& follower = *followers[range.rank];
            const OrderRange births{begin, range.end};
            const MissingParents missing = follower.missing_parents(round, births, remakes);
            const MissingParents again = follower.missing_parents(round, births, remakes);
            EXPECT_EQ(again.places, missing.places);
            EXPECT_TRUE(again.remakes.recipes.empty()) << "made twice";
            for (const auto& [place, birth] : missing.remakes.recipes) {
                follower.fill(round, place, child(birth, *missing.remakes.former));
                ++made_on_backend;
            }
            for (const std::uint32_t place : missing.places) {
                const evolve::BirthId origin = round.strategy->parent_pool()[place].origin;
                SharedIndividual genome = followers[round.holders[place]]->find(origin);
                EXPECT_TRUE(genome) << "its holder lacks birth " << origin;
                follower.fill(round, place, std::move(genome));
                ++travelled;
            }
            make(follower, births);
            begin = range.end;
        }
        EXPECT_TRUE(all->missing_parents(*all->round(), {0, size}, 0).places.empty());
        make(*all, {0, size});
        evolve::Scores scores(round.strategy->births());
        for (std::uint64_t i = 0; i < scores.size(); ++i) {
            scores.fitness[i] = static_cast<double>((round.strategy->birth(i).id * 7919) % 101);
            scores.status[i] = evolve::Status::ok;
        }
        record.decision = round.strategy->decide(scores, threads);
        ancestry.add(record.decision);
        for (auto& follower : followers) {
            static_cast<void>(follower->apply(record));
        }
        record.holders = {{size, 0}};
        static_cast<void>(all->apply(record));
        return travelled;
    }

    Experiment experiment = [] {
        Experiment made = xor_experiment({});
        made.population.size = 60;
        return made;
    }();
    const evolve::Variation variation{experiment.seed, experiment.variation};
    ThreadPool threads{2};
    GenomePool memory{1};
    bool on_backend = false;
    std::size_t made_on_backend = 0;
    std::unique_ptr<Backend> backend = make_cpu_backend({});
    evolve::WeightRows rows{*backend};
    std::unordered_map<const evolve::Individual*, SharedIndividual> twins;  ///< On the host.
    PoolGenomes alive;  ///< So that nobody else has their address.
    Ancestry ancestry;
    std::unique_ptr<Follower> all;
    std::vector<std::unique_ptr<Follower>> followers;
};

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

TEST_F(FollowerTest, WhatIsForeseenOfARoundChangesNothing) {
    static_cast<void>(advance(0));
    Foresight foresight;
    ASSERT_TRUE(foresee(*followers[0]->round(), foresight));
    EXPECT_FALSE(foresee(*followers[0]->round(), foresight));
    ASSERT_EQ(foresight.places.size(), 60U);
    static_cast<void>(advance(0));
    const Round& round = *followers[0]->round();
    const auto order = [&] {
        return make_round(round.strategy, round.holders, false, threads, foresight)->order;
    };
    EXPECT_EQ(order(), round.order);
    foresight.places.resize(20);
    EXPECT_EQ(order(), round.order);
    // What holds for other rounds is not used.
    std::ranges::fill(foresight.places, 0U);
    ++foresight.members;
    EXPECT_EQ(order(), round.order);
    --foresight.members;
    EXPECT_NE(order(), round.order);
    ++foresight.generation;
    EXPECT_EQ(order(), round.order);
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
        evolve::Scores scores(round.strategy->births());
        for (std::uint64_t i = 0; i < scores.size(); ++i) {
            scores.fitness[i] = static_cast<double>((round.strategy->birth(i).id * 7919) % 101);
            scores.status[i] = evolve::Status::ok;
        }
        record.decision = round.strategy->decide(scores, threads);
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

TEST_F(FollowerTest, OrderKeepsTogetherWhoseParentsLieTogether) {
    static_cast<void>(advance(0));
    const Round& round = *followers[0]->round();
    std::vector<std::uint32_t> ranks_in_order;
    auto positions = round.order;
    for (const std::uint32_t position : round.order) {
        const evolve::Birth birth = round.strategy->birth(position);
        EXPECT_NE(birth.recipe, evolve::Recipe::carry);
        ranks_in_order.push_back(round.holders[index_of(birth.parents.front().place)]);
    }
    EXPECT_TRUE(std::ranges::is_sorted(ranks_in_order));
    for (std::size_t rank = 0; rank < round.zones.size(); ++rank) {
        const OrderRange zone = round.zones[rank];
        EXPECT_EQ(zone.size(), static_cast<std::size_t>(std::ranges::count(ranks_in_order, rank)));
        EXPECT_TRUE(zone.size() == 0 || ranks_in_order[zone.begin] == rank);
    }
    EXPECT_EQ(round.zones.back().end, round.order.size());
    std::ranges::sort(positions);
    EXPECT_EQ(std::ranges::adjacent_find(positions), positions.end());
    EXPECT_EQ(positions.size(), 60U - round.strategy->parent_pool().size());
}

TEST(RoundTest, ManyBirthsAreInOrderOfTheRanksOfTheirParents) {
    Experiment experiment = xor_experiment({});
    experiment.population.size = 10'000;
    ThreadPool threads{3};
    const SharedStrategy founders = make_strategy(experiment);
    evolve::Scores scores(founders->births());
    for (std::uint64_t i = 0; i < scores.size(); ++i) {
        scores.fitness[i] = static_cast<double>(i * 7919 % 10'007);
        scores.status[i] = evolve::Status::ok;
    }
    const SharedStrategy strategy = founders->apply(founders->decide(scores, threads));
    for (const std::uint32_t ranks : {1U, 3U, 100U, 5'000U}) {
        std::vector<std::uint32_t> holders(strategy->parent_pool().size());
        for (std::size_t place = 0; place < holders.size(); ++place) {
            holders[place] = static_cast<std::uint32_t>(place * 7907 % ranks);
        }
        const auto rank_of = [&](std::uint32_t position) {
            return holders[index_of(strategy->birth(position).parents.front().place)];
        };
        std::vector<std::uint32_t> expected;
        for (std::uint32_t position = 0; position < strategy->births(); ++position) {
            if (!strategy->carries(position)) {
                expected.push_back(position);
            }
        }
        std::ranges::stable_sort(expected, {}, rank_of);
        const SharedRound round = make_round(strategy, holders, false, threads, {});
        EXPECT_TRUE(std::ranges::equal(round->order, expected)) << ranks << " ranks";
        for (std::uint32_t rank = 0; rank < round->zones.size(); ++rank) {
            const OrderRange zone = round->zones[rank];
            const auto own = std::span(expected).subspan(zone.begin, zone.size());
            EXPECT_TRUE(std::ranges::all_of(
                own, [&](std::uint32_t position) { return rank_of(position) == rank; }));
        }
        EXPECT_EQ(round->zones.back().end, expected.size());
    }
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
    const auto decision = [this](double sign) {
        evolve::Scores scores(all->round()->strategy->births());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            scores.fitness[i] = sign * static_cast<double>(i);
            scores.status[i] = evolve::Status::ok;
        }
        return all->round()->strategy->decide(scores, threads);
    };
    const evolve::Decision right = decision(1.0);
    Follower& diverged = *followers[0];
    static_cast<void>(diverged.apply({0, decision(-1.0), {{60, 0}}}));
    const SharedRound other = diverged.round();
    static_cast<void>(all->apply({0, right, {{60, 0}}}));
    const auto jump = [&] { return diverged.load(all->round()->strategy->save(), all->holders()); };
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

TEST_F(FollowerTest, WhatAnotherStateMadeIsNoParentAGenerationLater) {
    Follower& diverged = *followers[0];
    const std::uint64_t births = all->round()->strategy->births();
    const auto record = [this, births](double sign) {
        const evolve::Strategy& strategy = *all->round()->strategy;
        evolve::Scores scores(births);
        for (std::size_t i = 0; i < births; ++i) {
            scores.fitness[i] = sign * static_cast<double>(i);
            scores.status[i] = evolve::Status::ok;
        }
        const auto size = static_cast<std::uint32_t>(all->round()->order.size());
        return Record{strategy.generation(), strategy.decide(scores, threads), {{size, 0}}};
    };
    static_cast<void>(diverged.apply(record(-1.0)));
    static_cast<void>(all->apply(record(1.0)));
    const OrderRange every{0, diverged.round()->order.size()};
    diverged.keep(*diverged.round(), every,
                  PoolGenomes(every.size(), std::make_shared<const evolve::Individual>()));
    const Hash128 passed = all->round()->digest;
    static_cast<void>(all->apply(record(1.0)));
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
    all->load(round->strategy->save(), std::vector(round->holders));
    EXPECT_EQ(all->child(position), made) << "its round is still open";

    evolve::Scores scores(round->strategy->births());
    for (std::uint64_t i = 0; i < scores.size(); ++i) {
        scores.fitness[i] = i == position ? 2.0 : 1.0;
        scores.status[i] = evolve::Status::ok;
    }
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
        evolve::Scores scores(6);
        for (std::uint64_t i = 0; i < 6; ++i) {
            scores.fitness[i] =
                static_cast<double>(told + (round.strategy->birth(i).id * 7919) % 29);
            scores.status[i] = evolve::Status::ok;
        }
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

TEST_F(FollowerTest, AncestryMakesWhateverWasBornOnTheWay) {
    std::map<evolve::BirthId, evolve::Individual> born;
    for (int generation = 0; generation < 6; ++generation) {
        static_cast<void>(advance(0));
        const std::span<const evolve::Member> members = all->round()->strategy->parent_pool();
        for (std::size_t place = 0; place < members.size(); ++place) {
            born.emplace(members[place].origin, *parent(*all, place));
        }
    }
    std::vector<evolve::BirthId> origins;
    for (const auto& [origin, genome] : born) {
        origins.push_back(origin);
    }
    const Ancestry::Genomes made = ancestry.make(origins, variation, memory, threads);
    ASSERT_EQ(made.size(), born.size());
    for (const auto& [origin, genome] : made) {
        EXPECT_EQ(*genome, born.at(origin)) << origin;
        EXPECT_TRUE(ancestry.knows(origin)) << origin;
    }
    EXPECT_FALSE(ancestry.knows(1'000'000));
    EXPECT_THAT(
        [&] {
            static_cast<void>(
                ancestry.make(std::vector<evolve::BirthId>{1'000'000}, variation, memory, threads));
        },
        ThrowsMessage<InputError>(HasSubstr("birth 1000000 cannot be made again")));
}

TEST_F(FollowerTest, AncestryBeginsAnywhere) {
    static_cast<void>(advance(0));
    static_cast<void>(advance(0));
    ancestry.begin(all->round()->strategy, *all->parents(*all->round()));
    static_cast<void>(advance(0));
    static_cast<void>(advance(0));
    const std::span<const evolve::Member> members = all->round()->strategy->parent_pool();
    std::vector<evolve::BirthId> origins;
    for (const evolve::Member& member : members) {
        origins.push_back(member.origin);
    }
    const Ancestry::Genomes made = ancestry.make(origins, variation, memory, threads);
    for (std::size_t place = 0; place < members.size(); ++place) {
        EXPECT_EQ(*made.at(members[place].origin), *parent(*all, place));
    }
}

}  // namespace
}  // namespace cambrian::distributed

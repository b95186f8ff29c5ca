#include "cambrian/tests/distributed/support/follower_support.hpp"

#include <utility>

namespace cambrian::distributed {

FollowerTest::FollowerTest() {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        followers.push_back(std::make_unique<Follower>(make_strategy(experiment), settings(ranks),
                                                       variation, memory, threads));
    }
    all = std::make_unique<Follower>(make_strategy(experiment), settings(1), variation, memory,
                                     threads);
    ancestry.begin(all->round()->strategy, {});
}

Follower::Settings FollowerTest::settings(std::uint32_t of_ranks) {
    Follower::Settings made;
    made.ranks = of_ranks;
    made.on_backend = true;
    return made;
}

SharedIndividual FollowerTest::child(const evolve::Birth& birth, const PoolGenomes& parents) {
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

void FollowerTest::make(Follower& follower, OrderRange births) {
    const Round& round = *follower.round();
    std::vector<SharedIndividual> children;
    for (std::size_t i = births.begin; i < births.end; ++i) {
        children.push_back(child(round.strategy->birth(round.order[i]), *follower.parents(round)));
    }
    follower.keep(round, births, std::move(children));
}

evolve::Decision FollowerTest::decision_of(const Round& round) {
    const evolve::Strategy& strategy = *round.strategy;
    const evolve::Scores scores = valid_scores(strategy.births(), [&](std::uint64_t i) {
        return static_cast<double>((strategy.birth(i).id * 7919) % 101);
    });
    return strategy.decide(scores, threads);
}

std::size_t FollowerTest::advance(std::size_t remakes) {
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
    record.decision = decision_of(round);
    ancestry.add(record.decision);
    for (auto& follower : followers) {
        static_cast<void>(follower->apply(record));
    }
    record.holders = {{size, 0}};
    static_cast<void>(all->apply(record));
    return travelled;
}

}  // namespace cambrian::distributed

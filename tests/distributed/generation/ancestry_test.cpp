#include "cambrian/distributed/generation/ancestry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/follower_support.hpp"

// The way back: whatever was born can be made again.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

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
    EXPECT_TRUE(ancestry.make({}, variation, memory, threads).empty());
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
    const std::size_t one = ancestry.bytes();
    EXPECT_GT(one, all->round()->strategy->parent_pool().size_bytes());
    static_cast<void>(advance(0));
    EXPECT_EQ(ancestry.bytes(), 2 * one);
    ancestry.begin(all->round()->strategy, *all->parents(*all->round()));
    EXPECT_EQ(ancestry.bytes(), 0U);
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

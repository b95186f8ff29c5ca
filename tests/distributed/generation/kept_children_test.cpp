#include "cambrian/distributed/generation/kept_children.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace cambrian::distributed::kept_children_test {
namespace {

std::vector<SharedIndividual> made(std::size_t count) {
    std::vector<SharedIndividual> children(count);
    for (SharedIndividual& child : children) {
        child = std::make_shared<const evolve::Individual>();
    }
    return children;
}

/// Keeps children of `count` positions, `apart` from each other, a few at a time, and looks for
/// all.
void expect_found(std::uint64_t births, std::uint32_t count, std::uint32_t apart) {
    ThreadPool threads(2);
    KeptChildren kept;
    EXPECT_EQ(kept.at(0), nullptr) << "nothing was kept yet";
    std::vector<SharedIndividual> expected(births);
    for (std::uint32_t first = 0; first < count; first += 7) {
        std::vector<std::uint32_t> positions;
        for (std::uint32_t i = first; i < std::min(first + 7, count); ++i) {
            positions.push_back(apart * i);
        }
        std::vector<SharedIndividual> children = made(positions.size());
        for (std::size_t i = 0; i < positions.size(); ++i) {
            expected[positions[i]] = children[i];
        }
        kept.keep(births, positions, children, threads);
    }
    for (std::uint64_t position = 0; position < births; ++position) {
        EXPECT_EQ(kept.at(position), expected[position]) << position;
    }
    EXPECT_EQ(kept.at(births + 100), nullptr);
    EXPECT_EQ(kept.at(~std::uint64_t{0}), nullptr) << "a birth of an earlier round";

    std::weak_ptr<const evolve::Individual> last = expected[apart * (count - 1)];
    expected.clear();
    kept.clear(threads);
    EXPECT_EQ(kept.at(0), nullptr);
    EXPECT_TRUE(last.expired());
}

TEST(KeptChildren, AreFoundWhereTheyAreFew) {
    expect_found(1000, 20, 50);
}

TEST(KeptChildren, AreFoundWhereTheyAreMany) {
    expect_found(1000, 1000, 1);
    expect_found(1, 1, 1);
}

TEST(KeptChildren, BecomeManyOneByOne) {
    expect_found(1000, 200, 5);
    expect_found(1600, 100, 16);
    expect_found(1600, 101, 15);
    expect_found(200'000, 5000, 40);
}

TEST(KeptChildren, AreKeptAgainWhereTheyWereTakenAway) {
    ThreadPool threads(1);
    KeptChildren kept;
    const std::vector<std::uint32_t> positions{5, 6};
    for (const std::uint64_t births : {1000U, 10U, 1000U}) {
        std::vector<SharedIndividual> children = made(2);
        const SharedIndividual second = children[1];
        kept.keep(births, positions, children, threads);
        const KeptChildren taken = std::exchange(kept, {});
        EXPECT_EQ(taken.at(6), second) << births;
        EXPECT_EQ(kept.at(6), nullptr) << births;
        kept.clear(threads);
    }
}

TEST(KeptChildren, OfAPositionThatComesAgainIsTheLatest) {
    ThreadPool threads(1);
    KeptChildren kept;
    const std::vector<std::uint32_t> positions{63};
    for (int i = 0; i < 2; ++i) {
        std::vector<SharedIndividual> children = made(1);
        const SharedIndividual child = children[0];
        kept.keep(1000, positions, children, threads);
        EXPECT_EQ(kept.at(63), child);
        EXPECT_EQ(kept.at(62), nullptr);
        EXPECT_EQ(kept.at(64), nullptr);
    }
}

}  // namespace
}  // namespace cambrian::distributed::kept_children_test

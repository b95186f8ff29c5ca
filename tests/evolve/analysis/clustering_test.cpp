#include "cambrian/evolve/analysis/clustering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/analysis/answers.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::ElementsAre;

Points line(const std::vector<double>& values) {
    return {.rows = values.size(), .width = 1, .values = values};
}

Points random_points(std::size_t rows, std::size_t width, std::uint64_t seed) {
    RandomStream rng(random_key(seed, "test.points"), 0);
    Points points{.rows = rows, .width = width, .values = {}};
    for (std::size_t i = 0; i < rows * width; ++i) points.values.push_back(double{rng.normal()});
    return points;
}

TEST(KMeans, FindsClustersThatLieApart) {
    // Three heaps of 20 around (0, 0), (10, 0) and (0, 10), one after another in turn.
    Points points = random_points(60, 2, 3);
    for (std::size_t i = 0; i < points.rows; ++i) {
        points.values[2 * i] += i % 3 == 1 ? 10.0 : 0.0;
        points.values[2 * i + 1] += i % 3 == 2 ? 10.0 : 0.0;
    }
    const KMeans found = k_means(points, {.clusters = 3});
    for (std::size_t i = 0; i < points.rows; ++i) EXPECT_EQ(found.cluster[i], i % 3) << i;
    EXPECT_GT(mean_value(silhouettes(euclidean(points), found.cluster)), 0.7);
    EXPECT_LT(found.inertia, 60 * 2 * 1.5);
}

TEST(KMeans, EveryCentreIsTheMeanOfItsPointsAndEveryPointIsAtItsNearestCentre) {
    const Points points = random_points(80, 3, 5);
    const KMeans found = k_means(points, {.clusters = 6, .restarts = 3});
    double inertia = 0.0;
    std::vector<std::vector<double>> sums(6, std::vector<double>(4, 0.0));
    for (std::size_t i = 0; i < points.rows; ++i) {
        std::vector<double> squares;
        for (std::size_t k = 0; k < 6; ++k) {
            double sum = 0.0;
            for (std::size_t j = 0; j < 3; ++j)
                sum += std::pow(points.row(i)[j] - found.centres.row(k)[j], 2);
            squares.push_back(sum);
        }
        EXPECT_LE(squares[found.cluster[i]], *std::ranges::min_element(squares) + 1e-12);
        inertia += squares[found.cluster[i]];
        for (std::size_t j = 0; j < 3; ++j) sums[found.cluster[i]][j] += points.row(i)[j];
        sums[found.cluster[i]][3] += 1.0;
    }
    EXPECT_NEAR(found.inertia, inertia, 1e-9);
    for (std::size_t k = 0; k < 6; ++k)
        for (std::size_t j = 0; j < 3; ++j)
            EXPECT_NEAR(found.centres.row(k)[j], sums[k][j] / sums[k][3], 1e-12);
}

TEST(KMeans, IsAFunctionOfItsSeedAndRestartsMakeItNoWorse) {
    const Points points = random_points(50, 2, 8);
    const KMeans once = k_means(points, {.clusters = 7, .restarts = 1, .seed = 4});
    EXPECT_EQ(once.cluster, k_means(points, {.clusters = 7, .restarts = 1, .seed = 4}).cluster);
    EXPECT_LE(k_means(points, {.clusters = 7, .restarts = 8, .seed = 4}).inertia, once.inertia);
}

TEST(KMeans, NoClusterIsEmptyEvenWherePointsAreEqual) {
    for (const std::size_t clusters : {1U, 3U, 5U}) {
        const KMeans found = k_means(line({2, 2, 2, 2, 2}), {.clusters = clusters});
        EXPECT_EQ(std::set<std::uint32_t>(found.cluster.begin(), found.cluster.end()).size(),
                  clusters);
        EXPECT_EQ(found.inertia, 0.0);
    }
    EXPECT_THROW(static_cast<void>(k_means(line({1, 2}), {.clusters = 3})), ConfigError);
    EXPECT_THROW(static_cast<void>(k_means(line({1, 2}), {.clusters = 0})), ConfigError);
}

TEST(Silhouettes, AreThoseWorkedOutByHand) {
    const Distances distances = euclidean(line({0, 1, 10, 12}));
    const std::vector<std::uint32_t> two{0, 0, 1, 1};
    const std::vector<double> found = silhouettes(distances, two);
    EXPECT_NEAR(found[0], (11.0 - 1.0) / 11.0, 1e-15);
    EXPECT_NEAR(found[1], (10.0 - 1.0) / 10.0, 1e-15);
    EXPECT_NEAR(found[2], (9.5 - 2.0) / 9.5, 1e-15);
    EXPECT_NEAR(found[3], (11.5 - 2.0) / 11.5, 1e-15);
}

TEST(Silhouettes, OneAloneAndAllTogetherAreZero) {
    const Distances distances = euclidean(line({0, 1, 10}));
    EXPECT_EQ(silhouettes(distances, std::vector<std::uint32_t>{0, 0, 1})[2], 0.0);
    EXPECT_THAT(silhouettes(distances, std::vector<std::uint32_t>{0, 0, 0}),
                ElementsAre(0.0, 0.0, 0.0));
    EXPECT_THAT(silhouettes(euclidean(line({1, 1, 1})), std::vector<std::uint32_t>{0, 0, 1}),
                ElementsAre(0.0, 0.0, 0.0));
}

/// The greedy method as it is defined: the nearest two groups become one, n - 1 times.
struct Greedy {
    std::vector<double> merged;                      ///< Distances in their order.
    std::vector<std::vector<std::uint32_t>> groups;  ///< After each merge.
};
Greedy greedy(const Distances& distances, Linkage linkage) {
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < distances.count; ++i) groups.push_back({i});
    const auto between = [&](const auto& a, const auto& b) {
        double least = std::numeric_limits<double>::infinity();
        double most = 0.0;
        double sum = 0.0;
        for (const std::size_t i : a)
            for (const std::size_t j : b) {
                least = std::min(least, distances.at(i, j));
                most = std::max(most, distances.at(i, j));
                sum += distances.at(i, j);
            }
        return linkage == Linkage::single     ? least
               : linkage == Linkage::complete ? most
                                              : sum / static_cast<double>(a.size() * b.size());
    };
    Greedy result;
    while (groups.size() > 1) {
        std::size_t first = 0;
        std::size_t second = 1;
        for (std::size_t a = 0; a < groups.size(); ++a)
            for (std::size_t b = a + 1; b < groups.size(); ++b)
                if (between(groups[a], groups[b]) < between(groups[first], groups[second])) {
                    first = a;
                    second = b;
                }
        result.merged.push_back(between(groups[first], groups[second]));
        groups[first].insert(groups[first].end(), groups[second].begin(), groups[second].end());
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(second));
        std::vector<std::uint32_t> of(distances.count);
        std::vector<std::vector<std::size_t>> sorted = groups;
        for (auto& group : sorted) std::ranges::sort(group);
        std::ranges::sort(sorted);
        for (std::size_t k = 0; k < sorted.size(); ++k)
            for (const std::size_t i : sorted[k]) of[i] = static_cast<std::uint32_t>(k);
        result.groups.push_back(of);
    }
    return result;
}

TEST(Hierarchy, MergesAsTheGreedyMethodDoes) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        for (const Linkage linkage : {Linkage::single, Linkage::average, Linkage::complete}) {
            const std::size_t count = 2 + seed;
            const Distances distances = euclidean(random_points(count, 3, seed));
            const Greedy expected = greedy(distances, linkage);
            const std::vector<Merge> merges = hierarchy(distances, linkage);
            ASSERT_EQ(merges.size(), count - 1);
            for (std::size_t i = 0; i < merges.size(); ++i) {
                EXPECT_NEAR(merges[i].distance, expected.merged[i], 1e-12);
                EXPECT_EQ(groups_of(merges, count, count - 1 - i), expected.groups[i]);
                EXPECT_EQ(groups_within(merges, count, merges[i].distance), expected.groups[i]);
            }
            EXPECT_EQ(merges.back().size, count);
        }
}

TEST(Hierarchy, GroupsWithinADistanceAreThoseAtMostSoFar) {
    const std::vector<Merge> merges = hierarchy(euclidean(line({5, 0, 1, 6, 20})), Linkage::single);
    EXPECT_THAT(groups_within(merges, 5, 0.5), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(groups_within(merges, 5, 1.0), ElementsAre(0, 1, 1, 0, 2));
    EXPECT_THAT(groups_within(merges, 5, 4.0), ElementsAre(0, 0, 0, 0, 1));
    EXPECT_THAT(groups_within(merges, 5, 100.0), ElementsAre(0, 0, 0, 0, 0));
}

TEST(Hierarchy, IsATreeInNewickAndInLines) {
    const std::vector<Merge> merges = hierarchy(euclidean(line({0, 1, 4})), Linkage::average);
    const std::vector<std::string> names{"a", "b c", "it's"};
    EXPECT_EQ(newick(merges, names), "((a:1,'b c':1):2.5,'it''s':3.5);");
    EXPECT_EQ(tree_text(merges, names),
              "+ 3.5 (3 networks)\n  + 1 (2 networks)\n    a\n    b c\n  it's\n");
    EXPECT_EQ(newick({}, std::vector<std::string>{"alone"}), "alone;");
    EXPECT_EQ(newick({}, std::vector<std::string>{"xor_2"}), "'xor_2';") << "'_' is a blank";
}

}  // namespace
}  // namespace cambrian::evolve

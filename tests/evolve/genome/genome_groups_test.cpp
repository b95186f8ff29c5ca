#include "cambrian/evolve/evaluation/genome_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

namespace cambrian::evolve {
namespace {

constexpr std::int64_t lockstep = 32;

/// Genomes of some classes and paths, mixed; those of one path have a few different bytecodes.
std::vector<GenomeStructure> structures(std::size_t count, std::size_t paths) {
    std::vector<GenomeStructure> result(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t kind = (i * i) % (3 * paths);
        const std::size_t path = kind % paths;
        const bool graph = path == 0;
        result[i] = {.hash = {.high = 7, .low = kind + 1},
                     .size_class = graph ? as_graph : path % 2,
                     .path = graph ? 0 : path,
                     .cost = graph ? 0 : static_cast<std::int64_t>(64 * kind + 4)};
    }
    return result;
}

std::vector<std::size_t> counts(std::span<const std::uint32_t> order, std::size_t genomes) {
    std::vector<std::size_t> result(genomes, 0);
    for (const std::uint32_t genome : order) ++result[genome];
    return result;
}

/// Whether some neighbours in step have two paths.
bool mixes(const GenomeGroups& groups, std::size_t begin, std::size_t end, std::size_t neighbours) {
    for (std::size_t i = begin; i + 1 < end; ++i)
        if ((i + 1 - begin) % neighbours != 0 &&
            groups.group_at(i).structure.path != groups.group_at(i + 1).structure.path)
            return true;
    return false;
}

TEST(GenomeGroups, WithoutLockstepEveryGenomeHasOnePosition) {
    GenomeGroups groups;
    const auto all = structures(5000, 9);
    groups.arrange(all, 1);
    EXPECT_EQ(groups.order().size(), all.size());
    EXPECT_EQ(std::ranges::count(counts(groups.order(), all.size()), 1U), 5000);
}

TEST(GenomeGroups, NeighboursInLockstepShareAPath) {
    GenomeGroups groups;
    for (const std::size_t count : {3000U, 5000U, 2999U}) {
        const auto all = structures(count, 9);
        groups.arrange(all, lockstep);
        EXPECT_GT(groups.order().size(), count);
        EXPECT_LE(groups.order().size(), count + count / 8);
        EXPECT_EQ(std::ranges::count(counts(groups.order(), count), 0U), 0);
        for (std::size_t begin = 0; begin < groups.order().size();) {
            const std::size_t end = groups.end_of_program(begin);
            EXPECT_FALSE(mixes(groups, begin, end, lockstep)) << begin;
            begin = end;
        }
    }
}

TEST(GenomeGroups, ManyPathsAreNotWorthRepeating) {
    GenomeGroups groups;
    const auto all = structures(600, 150);
    groups.arrange(all, lockstep);
    EXPECT_LE(groups.order().size(), 675U);
    EXPECT_EQ(std::ranges::count(counts(groups.order(), 600), 0U), 0);
}

TEST(GenomeGroups, ProgramsFollowEachOtherAndTheDearBeginFirst) {
    GenomeGroups groups;
    groups.arrange(structures(4000, 9), lockstep);
    std::vector<std::size_t> classes;
    for (std::size_t begin = 0; begin < groups.order().size();) {
        const std::size_t end = groups.end_of_program(begin);
        ASSERT_GT(end, begin);
        const GenomeStructure& first = groups.group_at(begin).structure;
        classes.push_back(first.size_class);
        for (std::size_t i = begin; i < end; ++i) {
            const GenomeStructure& structure = groups.group_at(i).structure;
            EXPECT_EQ(structure.size_class, first.size_class);
            EXPECT_LE(structure.cost, first.cost);
            EXPECT_TRUE(first.size_class != as_graph || structure.hash == first.hash);
        }
        begin = end;
    }
    EXPECT_TRUE(std::ranges::is_sorted(classes));
    EXPECT_EQ(std::ranges::count(classes, 0U), 1);
    EXPECT_EQ(std::ranges::count(classes, 1U), 1);
}

TEST(GenomeGroups, WhatIsEqualLiesSideBySideTheDearBeforeTheCheap) {
    for (const std::size_t paths : {1U, 9U, 3000U}) {
        std::vector<GenomeStructure> all = structures(3000, paths);
        // Paths that agree in their last bits.
        for (GenomeStructure& each : all) each.path <<= 40;
        GenomeGroups groups;
        groups.arrange(all, lockstep);
        std::set<std::uint64_t> hashes;
        std::set<std::pair<std::size_t, std::uint64_t>> paths_of_classes;
        for (std::size_t i = 0; i < groups.order().size(); ++i) {
            const GenomeStructure& here = groups.group_at(i).structure;
            const GenomeStructure* before = i > 0 ? &groups.group_at(i - 1).structure : nullptr;
            const bool path_begins = before == nullptr || here.size_class != before->size_class ||
                                     here.path != before->path;
            if (before == nullptr || here.hash != before->hash) {
                EXPECT_TRUE(hashes.insert(here.hash.low).second) << i;
            }
            if (path_begins) {
                EXPECT_TRUE(paths_of_classes.insert({here.size_class, here.path}).second) << i;
            } else {
                EXPECT_LE(here.cost, before->cost) << i;
            }
        }
    }
}

}  // namespace
}  // namespace cambrian::evolve

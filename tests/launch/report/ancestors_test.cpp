#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>

#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/launch/report/lineage_drawing.hpp"
#include "cambrian/launch/report/lineage_layout.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::launch {
namespace ancestors_tests {
namespace {

using cambrian::test::TemporaryDirectory;
using distributed::LoggedIndividual;
using evolve::BirthId;
using ::testing::HasSubstr;
using ::testing::Not;

/// A log in which each generation has `width` births, all children of two of the generation before.
Ancestry crossed(const TemporaryDirectory& directory, BirthId width, std::uint64_t generations) {
    std::ofstream file(directory.path() / "log.cmb", std::ios::binary);
    const auto write = [&](const distributed::IndividualBlock& block) {
        const std::vector<std::byte> bytes = encode(block);
        file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    };
    write({});
    for (std::uint64_t generation = 0; generation < generations; ++generation) {
        distributed::IndividualBlock block;
        block.generation = generation;
        for (BirthId i = 0; i < width; ++i) {
            LoggedIndividual one{.id = generation * width + i};
            one.origin = one.id;
            one.evaluated = true;
            one.parameters = 5;
            one.fitness = generation == 0 && i == 0 ? -std::numeric_limits<double>::infinity()
                                                    : static_cast<double>(generation / 7);
            if (generation > 0) {
                one.recipe = evolve::Recipe::vary;
                one.parents = {one.id - width, (generation - 1) * width + (i + 1) % width};
                one.parent_count = 2;
            }
            block.individuals.push_back(one);
        }
        write(block);
    }
    file.close();
    return Ancestry(directory.path() / "log.cmb");
}

/// Nobody stands on somebody else, parents stand left of their children, and no line of first
/// parents passes through somebody in its lane.
void expect_readable(const LineageLayout& layout) {
    std::set<std::pair<std::size_t, std::size_t>> taken;
    for (const auto& [id, one] : layout.placed)
        EXPECT_TRUE(taken.emplace(one.column, one.lane).second) << id;
    for (const DrawnDescent& descent : layout.descents) {
        const PlacedKin& child = layout.placed.at(descent.child);
        const PlacedKin& ancestor = layout.placed.at(descent.ancestor);
        EXPECT_LT(ancestor.column, child.column);
        if (ancestor.lane != child.lane) continue;
        for (std::size_t column = ancestor.column + 1; column < child.column; ++column)
            EXPECT_FALSE(taken.contains({column, child.lane}));
    }
}

TEST(LineageDrawing, HasAllOfAShortLineage) {
    const TemporaryDirectory directory;
    const Ancestry ancestry = crossed(directory, 4, 6);
    const Lineage lineage = lineage_of(ancestry, 23);
    EXPECT_EQ(lineage.size(), 1U + 2 + 3 + 4 + 4 + 4);
    const LineageLayout layout = lineage_layout(ancestry, lineage, 23);
    EXPECT_EQ(layout.placed.size(), lineage.size());
    EXPECT_EQ(layout.main_line.size(), 6U);
    EXPECT_EQ(layout.generations.size(), 6U);
    expect_readable(layout);
    for (const Kin* kin : layout.main_line) EXPECT_EQ(layout.placed.at(kin->id).lane, 0U);
    // Both parents of everybody who has any.
    EXPECT_EQ(layout.descents.size(), 2U * (lineage.size() - 4));
    const std::string html = lineage_html(ancestry, 23);
    EXPECT_THAT(html, HasSubstr("birth 23, generation 5, splice of two, parents 19 and 16"));
    EXPECT_THAT(html, HasSubstr("its 17 ancestors: 4 by no parents (founders), 14 by splice"));
    EXPECT_THAT(html, Not(HasSubstr("leaves out")));
    EXPECT_THAT(lineage_html(ancestry, 1),
                HasSubstr("its 0 ancestors: 1 by no parents (founders). The line of first parents "
                          "has 1 birth, back to generation 0."));
}

TEST(LineageDrawing, KeepsOfALongOneWhatChangedFitness) {
    const TemporaryDirectory directory;
    const Ancestry ancestry = crossed(directory, 10, 1000);
    const Lineage lineage = lineage_of(ancestry, 9999);
    const LineageLayout layout = lineage_layout(ancestry, lineage, 9999);
    EXPECT_EQ(layout.main_line.size(), 1000U);
    EXPECT_LE(layout.placed.size(), 100U);
    EXPECT_TRUE(layout.placed.contains(9999));
    EXPECT_TRUE(layout.placed.contains(9));
    expect_readable(layout);
    const std::string html = lineage_html(ancestry, 9999);
    EXPECT_THAT(html, HasSubstr("the picture leaves out"));
    EXPECT_THAT(html, HasSubstr("970 older ones are left out"));
    EXPECT_LT(html.size(), 60'000U);
    EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(LineageDrawing, OfAnUnknownBirthIsNothing) {
    const TemporaryDirectory directory;
    EXPECT_EQ(lineage_html(crossed(directory, 2, 2), 77), "");
    EXPECT_EQ(lineage_html(Ancestry(), 0), "");
}

}  // namespace
}  // namespace ancestors_tests
}  // namespace cambrian::launch

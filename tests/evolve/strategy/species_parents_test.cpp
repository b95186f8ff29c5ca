#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/tests/evolve/support/species_support.hpp"

namespace cambrian::evolve::species_parents_tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using species_tests::after;
using species_tests::Shared;

constexpr std::uint64_t population = 40;
/// Of 40 two may be parents, and six are carried over.
constexpr SpeciesSettings few_parents{.survival = 0.05, .elitism = 6, .interspecies_rate = 0.0F};

Shared make(const SpeciesSettings& settings) {
    return species_tests::make(settings, population, 0.6F);
}

/// The older the fitter; the species follow each other.
Scores in_species(std::uint32_t species) {
    Scores scores(population);
    for (std::uint64_t position = 0; position < population; ++position) {
        scores.status[position] = Status::ok;
        scores.fitness[position] = static_cast<double>(population - position);
        scores.species.push_back(static_cast<std::uint32_t>(position * species / population));
    }
    return scores;
}

std::set<BirthId> parents_of_children(const Strategy& subject) {
    std::set<BirthId> births;
    for (std::uint64_t position = 0; position < population; ++position) {
        if (!subject.carries(position)) {
            for (const Parent& parent : subject.birth(position).parents) {
                births.insert(parent.birth);
            }
        }
    }
    return births;
}

/// As format 2 had it, in which all who are kept are parents: without their number.
std::vector<std::byte> state_of_before(const Strategy& subject) {
    constexpr std::size_t member = 24;
    constexpr std::size_t row = 12 * 8;
    constexpr std::size_t kept = 4 * 8;
    std::vector<std::byte> bytes = subject.save();
    const std::size_t members = 8 + subject.parent_pool().size() * member;
    auto at = bytes.end() - static_cast<std::ptrdiff_t>(members + subject.species().size() * row);
    for (std::size_t i = 0; i < subject.species().size(); ++i) {
        at = bytes.erase(at + kept, at + kept + 8) + (row - kept - 8);
    }
    bytes[1] = std::byte{2};
    return bytes;
}

void expect_equal(const Strategy& found, const Strategy& expected) {
    EXPECT_EQ(found.digest(), expected.digest());
    for (std::uint64_t position = 0; position < population; ++position) {
        EXPECT_EQ(found.birth(position), expected.birth(position));
    }
}

TEST(SpeciesParents, MembersThatAreCarriedBeyondTheirShareHaveNoChildren) {
    const Shared subject = after(make(few_parents), in_species(1));
    EXPECT_EQ(subject->parent_pool().size(), 6U);
    for (std::uint64_t position = 0; position < 6; ++position) {
        EXPECT_TRUE(subject->carries(position));
        EXPECT_EQ(subject->birth(position).parents.front().birth, position);
    }
    EXPECT_FALSE(subject->carries(6));
    EXPECT_THAT(parents_of_children(*subject), ElementsAre(0, 1));
}

TEST(SpeciesParents, OnesOfAnotherSpeciesAreOfItsShare) {
    SpeciesSettings settings = few_parents;
    settings.survival = 0.1;  // two of 20
    settings.interspecies_rate = 1.0F;
    const Shared subject = after(make(settings), in_species(2));
    EXPECT_EQ(subject->parent_pool().size(), 12U);
    EXPECT_THAT(parents_of_children(*subject), ElementsAre(0, 1, 20, 21));
    for (std::uint64_t position = 0; position < population; ++position) {
        const Parents parents = subject->birth(position).parents;
        if (parents.size() == 2) {
            EXPECT_NE(parents[0].birth < 20, parents[1].birth < 20);
        }
    }
}

TEST(SpeciesParents, OneOfThemStandsForTheSpecies) {
    std::set<std::size_t> places;
    Shared subject = make(few_parents);
    for (int generation = 0; generation < 20; ++generation) {
        subject = after(subject, in_species(1));
        places.insert(index_of(subject->kinship()[0].representatives[0]));
    }
    EXPECT_THAT(places, ElementsAre(0, 1));
}

TEST(SpeciesParents, MigrantsMayAllBe) {
    const std::vector<Member> arriving{{107, 107, 9.0}, {103, 103, 2.0}, {108, 108, 6.0}};
    const Shared subject = after(make(few_parents), in_species(1))->receive(arriving, true);
    EXPECT_THAT(parents_of_children(*subject), ElementsAre(103, 107, 108));
}

TEST(SpeciesParents, AreSavedApartFromThoseThatAreCarried) {
    const Shared subject = after(make(few_parents), in_species(1));
    expect_equal(*make(few_parents)->load(subject->save()), *subject);
}

TEST(SpeciesParents, AreAllWhoAreKeptInStatesOfBefore) {
    const Shared subject = after(make({}), in_species(2));
    ASSERT_EQ(subject->parent_pool().size(), 8U);
    expect_equal(*make({})->load(state_of_before(*subject)), *subject);
    ArchiveWriter first;
    first.write(std::uint32_t{1});
    EXPECT_THAT([&] { static_cast<void>(make({})->load(first.take())); },
                ThrowsMessage<InputError>(HasSubstr("it has format 1, this program reads 2 to 3")));
}

}  // namespace
}  // namespace cambrian::evolve::species_parents_tests

#include "cambrian/distributed/generation/genome_pool.hpp"

#include <gtest/gtest.h>

#include <new>
#include <utility>
#include <vector>

#include "cambrian/tests/support/refused_allocations.hpp"

namespace cambrian::distributed {
namespace {

TEST(GenomePool, UsesTheMemoryOfTheDeadAgain) {
    GenomePool pool(1);
    std::vector<GenomePool::Blank> blanks = pool.take(2);
    const evolve::Individual* first = blanks[0].get();
    blanks[0]->weights = {1.0F, 2.0F};
    SharedIndividual genome = std::move(blanks[0]);
    SharedIndividual other = genome;
    genome = nullptr;
    EXPECT_NE(pool.take(1)[0].get(), first);  // Somebody still has it.
    other = nullptr;
    const std::vector<GenomePool::Blank> again = pool.take(2);
    EXPECT_TRUE(again[0].get() == first || again[1].get() == first);
}

TEST(GenomePool, LetsGoOfRoomThatSmallerGenomesDoNotNeed) {
    GenomePool pool(1);
    std::vector<GenomePool::Blank> blanks = pool.take(1);
    blanks[0]->weights.resize(1000);
    blanks.clear();
    blanks = pool.take(1);
    EXPECT_GE(blanks[0]->weights.capacity(), 1000U);
    blanks[0]->weights.resize(400);
    blanks.clear();
    EXPECT_LT(pool.take(1)[0]->weights.capacity(), 1000U);
}

/// Whether it has all back its end tells.
TEST(GenomePool, OutlivesAWantOfMemory) {
    GenomePool pool(1);
    std::vector<GenomePool::Blank> blanks = pool.take(5);
    {
        const test::RefusedAllocations refused(0);
        blanks.clear();  // Nothing is allocated to give them back.
    }
    {
        const test::RefusedAllocations refused(3);
        EXPECT_THROW(static_cast<void>(pool.take(9)), std::bad_alloc);
    }
    EXPECT_EQ(pool.take(9).size(), 9U);
}

}  // namespace
}  // namespace cambrian::distributed

#include "cambrian/distributed/generation/genome_pool.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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

}  // namespace
}  // namespace cambrian::distributed

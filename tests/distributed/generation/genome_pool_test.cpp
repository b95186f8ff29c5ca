#include "cambrian/distributed/generation/genome_pool.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

// Allocations of this program come through here, so that those of one thread can be made to fail.
namespace {

thread_local long left = -1;  ///< Allocations before all fail; negative: none does.

void* allocated_or_null(std::size_t bytes) noexcept {
    if (left == 0) return nullptr;
    left -= left > 0 ? 1 : 0;
    return std::malloc(bytes == 0 ? 1 : bytes);
}

void* allocated(std::size_t bytes) {
    void* const memory = allocated_or_null(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void freed(void* memory) {
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
    return allocated(bytes);
}
void* operator new[](std::size_t bytes) {
    return allocated(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocated_or_null(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocated_or_null(bytes);
}
void operator delete(void* memory) noexcept {
    freed(memory);
}
void operator delete[](void* memory) noexcept {
    freed(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    freed(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    freed(memory);
}

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
    left = 0;
    blanks.clear();  // Nothing is allocated to give them back.
    left = 3;
    EXPECT_THROW(static_cast<void>(pool.take(9)), std::bad_alloc);
    left = -1;
    EXPECT_EQ(pool.take(9).size(), 9U);
}

}  // namespace
}  // namespace cambrian::distributed

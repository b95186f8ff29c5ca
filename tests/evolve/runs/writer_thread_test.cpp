#include "cambrian/evolve/runs/writer_thread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cambrian/distributed/generation/genome_pool.hpp"

namespace cambrian::distributed {
namespace {

TEST(WriterThread, RunsTasksInOrder) {
    std::vector<int> done;
    WriterThread writer(1);
    for (int i = 0; i < 100; ++i) {
        writer.submit([&done, i] { done.push_back(i); });
    }
    writer.drain();
    ASSERT_EQ(done.size(), 100U);
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

TEST(WriterThread, FinishesWhatWasSubmittedBeforeItEnds) {
    std::atomic<int> done = 0;
    {
        WriterThread writer(8);
        for (int i = 0; i < 5; ++i) {
            writer.submit([&done] { ++done; });
        }
    }
    EXPECT_EQ(done, 5);
}

TEST(WriterThread, SaysWhetherItsOwnerWouldWait) {
    using std::chrono::milliseconds;
    std::atomic<bool> slow = true;
    WriterThread writer(1);
    EXPECT_TRUE(writer.drained(milliseconds(0)));
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(writer.has_room(milliseconds(0)));
        writer.submit([&slow] { slow.wait(true); });
    }
    EXPECT_FALSE(writer.has_room(milliseconds(1)));
    EXPECT_FALSE(writer.drained(milliseconds(1)));
    slow = false;
    slow.notify_all();
    EXPECT_TRUE(writer.has_room(std::chrono::seconds(20)));
    EXPECT_TRUE(writer.drained(std::chrono::seconds(20)));
    // A failure is for submit() and drain() to throw: it is nothing to wait for.
    writer.submit([] { throw std::runtime_error("full"); });
    EXPECT_TRUE(writer.drained(std::chrono::seconds(20)));
    EXPECT_THROW(writer.drain(), std::runtime_error);
}

TEST(WriterThread, ThrowsWhatATaskThrewAndDropsTheRest) {
    std::atomic<int> done = 0;
    WriterThread writer(8);
    writer.submit([] { throw std::runtime_error("the disk is full"); });
    EXPECT_THROW(writer.drain(), std::runtime_error);
    EXPECT_THROW(writer.submit([&done] { ++done; }), std::runtime_error);
    EXPECT_THROW(writer.drain(), std::runtime_error);
    EXPECT_EQ(done, 0);
}

TEST(WriterThread, HoldsTheOwnerUpWhenTooMuchWaits) {
    std::atomic<int> begun = 0;
    std::atomic<bool> go = false;
    WriterThread writer(1);
    std::thread release([&] {
        while (begun == 0) std::this_thread::yield();
        go = true;
    });
    for (int i = 0; i < 4; ++i) {
        writer.submit([&] {
            ++begun;
            while (!go) std::this_thread::yield();
        });
        // One runs and one waits; a third had to wait for the first to end.
        EXPECT_TRUE(i < 2 || go);
    }
    release.join();
    writer.drain();
    EXPECT_EQ(begun, 4);
}

TEST(GenomePool, UsesTheMemoryOfTheDeadAgain) {
    GenomePool pool(std::uint64_t{1} << 20U);
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

TEST(GenomePool, KeepsNoMoreThanItsLimit) {
    GenomePool pool(1);
    std::vector<GenomePool::Blank> blanks = pool.take(1);
    blanks[0]->weights.resize(1000);
    blanks.clear();
    EXPECT_TRUE(pool.take(1)[0]->weights.empty());
}

}  // namespace
}  // namespace cambrian::distributed

#include "cambrian/engine/core/task_thread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cambrian {
namespace {

TEST(TaskThread, RunsTasksInOrder) {
    std::vector<int> done;
    TaskThread thread(1);
    for (int i = 0; i < 100; ++i) {
        thread.submit([&done, i] { done.push_back(i); });
    }
    thread.drain();
    ASSERT_EQ(done.size(), 100U);
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

TEST(TaskThread, FinishesWhatWasSubmittedBeforeItEnds) {
    std::atomic<int> done = 0;
    {
        TaskThread thread(8);
        for (int i = 0; i < 5; ++i) {
            thread.submit([&done] { ++done; });
        }
    }
    EXPECT_EQ(done, 5);
}

TEST(TaskThread, SaysWhetherItsOwnerWouldWait) {
    using std::chrono::milliseconds;
    std::atomic<bool> slow = true;
    TaskThread thread(1);
    EXPECT_TRUE(thread.drained(milliseconds(0)));
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(thread.has_room(milliseconds(0)));
        thread.submit([&slow] { slow.wait(true); });
    }
    EXPECT_FALSE(thread.has_room(milliseconds(1)));
    EXPECT_FALSE(thread.drained(milliseconds(1)));
    slow = false;
    slow.notify_all();
    EXPECT_TRUE(thread.has_room(std::chrono::seconds(20)));
    EXPECT_TRUE(thread.drained(std::chrono::seconds(20)));
    // A failure is for submit() and drain() to throw: it is nothing to wait for.
    thread.submit([] { throw std::runtime_error("full"); });
    EXPECT_TRUE(thread.drained(std::chrono::seconds(20)));
    EXPECT_THROW(thread.drain(), std::runtime_error);
}

TEST(TaskThread, ThrowsWhatATaskThrewAndDropsTheRest) {
    std::atomic<int> done = 0;
    TaskThread thread(8);
    thread.submit([] { throw std::runtime_error("the disk is full"); });
    EXPECT_THROW(thread.drain(), std::runtime_error);
    EXPECT_THROW(thread.submit([&done] { ++done; }), std::runtime_error);
    EXPECT_THROW(thread.drain(), std::runtime_error);
    EXPECT_EQ(done, 0);
}

TEST(TaskThread, HoldsTheOwnerUpWhenTooMuchWaits) {
    std::atomic<int> begun = 0;
    std::atomic<bool> go = false;
    TaskThread thread(1);
    std::thread release([&] {
        while (begun == 0) std::this_thread::yield();
        go = true;
    });
    for (int i = 0; i < 4; ++i) {
        thread.submit([&] {
            ++begun;
            while (!go) std::this_thread::yield();
        });
        // One runs and one waits; a third had to wait for the first to end.
        EXPECT_TRUE(i < 2 || go);
    }
    release.join();
    thread.drain();
    EXPECT_EQ(begun, 4);
}

}  // namespace
}  // namespace cambrian

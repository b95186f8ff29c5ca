#include "cambrian/engine/core/once.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cambrian {
namespace {

TEST(Once, WhoComesFirstDoesItAndOthersSeeItDone) {
    for (int round = 0; round < 200; ++round) {
        Once once;
        std::atomic<int> calls = 0;
        int made = 0;  // Read by all without a lock.
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                once.call([&] {
                    ++calls;
                    made = 7;
                });
                EXPECT_EQ(made, 7);
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(calls, 1);
    }
}

TEST(Once, WhatThrowsIsTriedAgain) {
    Once once;
    int calls = 0;
    const auto twice = [&] {
        if (++calls == 1) throw std::runtime_error("the first time");
    };
    EXPECT_THROW(once.call(twice), std::runtime_error);
    once.call(twice);
    once.call(twice);
    EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace cambrian

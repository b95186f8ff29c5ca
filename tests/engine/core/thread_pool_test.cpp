#include "cambrian/engine/core/thread_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cambrian {
namespace {

TEST(ThreadPool, RunsEveryItemOnce) {
    for (const int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (const std::int64_t items : {0, 1, 2, 7, 1000}) {
            std::vector<std::atomic<int>> runs(static_cast<std::size_t>(items));
            pool.for_each(items, [&](std::int64_t item, int worker) {
                EXPECT_GE(worker, 0);
                EXPECT_LT(worker, threads);
                ++runs[static_cast<std::size_t>(item)];
            });
            for (const auto& count : runs) {
                EXPECT_EQ(count, 1);
            }
        }
    }
}

TEST(ThreadPool, NoWorkerRunsTwoItemsAtOnce) {
    ThreadPool pool(3);
    std::vector<std::atomic<int>> busy(3);
    pool.for_each(3000, [&](std::int64_t, int worker) {
        auto& flag = busy[static_cast<std::size_t>(worker)];
        EXPECT_EQ(flag.fetch_add(1), 0);
        flag.fetch_sub(1);
    });
}

TEST(ThreadPool, SurvivesManyShortCalls) {
    ThreadPool pool(2);
    std::atomic<std::int64_t> sum{0};
    for (int call = 0; call < 5000; ++call) {
        pool.for_each(3, [&](std::int64_t item, int) { sum += item; });
    }
    EXPECT_EQ(sum, 15000);
}

TEST(ThreadPool, RethrowsTheExceptionOfTheLowestItem) {
    ThreadPool pool(4);
    for (int call = 0; call < 50; ++call) {
        try {
            pool.for_each(100, [](std::int64_t item, int) {
                if (item % 10 == 3) {
                    throw std::runtime_error(std::to_string(item));
                }
            });
            FAIL() << "nothing was thrown";
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "3");
        }
    }
}

TEST(ThreadPool, SeveralThreadsMayCallAtOnce) {
    ThreadPool pool(3);
    std::vector<std::int64_t> sums(4, 0);
    std::vector<std::thread> callers;
    for (std::int64_t& sum : sums) {
        callers.emplace_back([&pool, &sum] {
            for (int call = 0; call < 300; ++call) {
                std::atomic<std::int64_t> total{0};
                std::vector<std::atomic<int>> busy(3);
                pool.for_each(50, [&](std::int64_t item, int worker) {
                    auto& flag = busy[static_cast<std::size_t>(worker)];
                    EXPECT_EQ(flag.fetch_add(1), 0);
                    total += item;
                    flag.fetch_sub(1);
                });
                sum += total;
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    for (const std::int64_t sum : sums) {
        EXPECT_EQ(sum, 300 * 50 * 49 / 2);
    }
}

TEST(ThreadPool, ItemsMayCallAgain) {
    ThreadPool pool(3);
    std::atomic<std::int64_t> runs{0};
    pool.for_each(8, [&](std::int64_t, int) {
        pool.for_each(
            16, [&](std::int64_t, int) { pool.for_each(4, [&](std::int64_t, int) { ++runs; }); });
    });
    EXPECT_EQ(runs, 8 * 16 * 4);
}

TEST(ThreadPool, AFailureStaysWithItsCall) {
    ThreadPool pool(2);
    std::thread other([&pool] {
        for (int call = 0; call < 200; ++call) {
            EXPECT_THROW(
                pool.for_each(20, [](std::int64_t, int) { throw std::runtime_error("no"); }),
                std::runtime_error);
        }
    });
    for (int call = 0; call < 200; ++call) {
        std::atomic<int> runs{0};
        pool.for_each(20, [&](std::int64_t, int) { ++runs; });
        EXPECT_EQ(runs, 20);
    }
    other.join();
}

TEST(ThreadPool, FindsAtLeastOneProcessor) {
    EXPECT_GE(available_processors(), 1);
}

}  // namespace
}  // namespace cambrian

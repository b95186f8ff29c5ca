#include "cambrian/engine/core/thread_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
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

TEST(ThreadPool, FindsAtLeastOneProcessor) {
    EXPECT_GE(available_processors(), 1);
}

}  // namespace
}  // namespace cambrian

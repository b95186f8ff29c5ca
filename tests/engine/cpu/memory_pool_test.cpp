#include "cambrian/engine/cpu/execution/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "cambrian/engine/core/host_memory.hpp"

namespace cambrian::cpu {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

TEST(MemoryPool, ClassesWasteAnEighthAtMost) {
    std::int64_t before = 0;
    for (std::int64_t bytes = 1; bytes < 3 * mebibyte; bytes += 1 + bytes / 97) {
        const std::int64_t whole = MemoryPool::class_bytes(bytes);
        EXPECT_GE(whole, bytes);
        EXPECT_LE(whole, std::max(bytes + bytes / 8 + 1, bytes + 63));
        EXPECT_EQ(whole % 64, 0);
        EXPECT_EQ(MemoryPool::class_bytes(whole), whole);
        EXPECT_GE(whole, before) << "classes grow";
        before = whole;
    }
}

TEST(MemoryPool, GivesAKeptBlockAgain) {
    MemoryPool pool;
    std::vector<std::byte*> blocks;
    for (const std::int64_t bytes : {1, 64, 100, 500, 513, 576, 1000, 4096, 100000})
        for (int round = 0; round < 3; ++round) {
            std::byte* const memory = pool.take(bytes);
            ASSERT_NE(memory, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
            std::memset(memory, 7, static_cast<std::size_t>(MemoryPool::class_bytes(bytes)));
            if (round == 0) blocks.push_back(memory);
            EXPECT_EQ(memory, blocks.back());
            pool.give(memory, bytes);
        }
    // 1 and 64 bytes are of one class, and so are 513 and 576.
    EXPECT_EQ(pool.allocations(), 7);
    EXPECT_EQ(pool.pooled(), 64 + 128 + 512 + 576 + 1024 + 4096 + 106496) << "every class once";
    pool.trim();
    EXPECT_EQ(pool.pooled(), 0);
}

TEST(MemoryPool, HoldsNoMoreThanItMay) {
    MemoryPool pool;
    pool.set_max_held(10 * mebibyte);
    std::byte* const a = pool.take(4 * mebibyte);
    std::byte* const b = pool.take(5 * mebibyte);
    pool.give(a, 4 * mebibyte);
    EXPECT_EQ(pool.pooled(), 4 * mebibyte);
    std::byte* const c = pool.take(3 * mebibyte);
    EXPECT_EQ(pool.pooled(), 0) << "8 are in use, and 4 more would be 12";
    pool.give(b, 5 * mebibyte);
    pool.give(c, 3 * mebibyte);
    EXPECT_EQ(pool.pooled(), 8 * mebibyte);
}

TEST(MemoryPool, ABlockIsRefusedWhenAsked) {
    MemoryPool pool;
    std::byte* const kept = pool.take(100);
    pool.give(kept, 100);
    pool.set_refusal([] { return true; });
    EXPECT_EQ(pool.take(100), kept) << "this one is here already";
    EXPECT_EQ(pool.take(100), nullptr);
    pool.give(kept, 100);
}

TEST(CpuMemory, PoisonFillsWhatIsFreedAndWhatNobodyClears) {
    MemoryAccount account;
    account.poison = true;
    const auto words = [](const Memory& memory) {
        const auto* first = reinterpret_cast<const std::uint32_t*>(memory.data());
        return std::vector<std::uint32_t>(first, first + memory.bytes() / 4);
    };
    EXPECT_THAT(words(Memory(account, 256)), testing::Each(0U));
    EXPECT_THAT(words(Memory(account, 256, Fill::anything)), testing::Each(poison_word));
    std::byte* freed = nullptr;
    {
        const Memory memory(account, 256);
        freed = memory.data();
    }
    // The first words of a kept block are the pool's.
    EXPECT_EQ(std::to_integer<unsigned>(freed[200]), poison_word & 0xFFU);
}

}  // namespace
}  // namespace cambrian::cpu

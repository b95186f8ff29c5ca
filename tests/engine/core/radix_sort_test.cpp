#include "cambrian/engine/core/radix_sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

TEST(RadixSort, IsTheStableSortOfTheLibrary) {
    RandomStream rng(random_key(5, "test.radix"), 0);
    RadixSort sort;
    for (const int bits : {0, 1, 11, 12, 33, 64})
        for (const std::uint32_t count : {0U, 1U, 2U, 1000U}) {
            std::vector<RadixSort::Item> expected;
            for (std::uint32_t i = 0; i < count; ++i) {
                const std::uint64_t word = std::uint64_t{rng.bits()} << 32 | rng.bits();
                expected.push_back({.key = bits == 0 ? 0 : word >> (64 - bits), .value = i});
            }
            sort.items() = expected;
            std::ranges::stable_sort(expected, {}, &RadixSort::Item::key);
            const auto& sorted = sort.sort();
            ASSERT_EQ(sorted.size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                EXPECT_EQ(sorted[i].key, expected[i].key);
                EXPECT_EQ(sorted[i].value, expected[i].value) << bits << " bits, " << i;
            }
        }
}

}  // namespace
}  // namespace cambrian

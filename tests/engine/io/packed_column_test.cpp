#include "cambrian/engine/io/packed_column.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

using Values = std::vector<std::uint64_t>;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

std::vector<std::byte> packed(const Values& values) {
    std::vector<std::byte> bytes;
    pack_column(bytes, values);
    return bytes;
}

TEST(PackedColumn, KeepsItsNumbersInAsFewBytesAsTheyNeed) {
    const std::vector<std::pair<Values, std::size_t>> samples{
        {{}, 0},
        {{7}, 0},
        {{largest, largest, largest}, 0},
        {{1000, 1255}, 1},
        {{1000, 1256}, 2},
        {{0, 1, 0xFFFFFF}, 3},
        {{largest - 1, 0, 3}, 8},
        {{std::bit_cast<std::uint64_t>(-0.5), std::bit_cast<std::uint64_t>(0.25)}, 8}};
    for (const auto& [values, width] : samples) {
        const std::vector<std::byte> bytes = packed(values);
        EXPECT_EQ(bytes.size(), 9 + width * values.size());
        std::span<const std::byte> rest(bytes);
        EXPECT_EQ(unpack_column(rest, values.size()), values);
        EXPECT_TRUE(rest.empty());
    }
}

TEST(PackedColumn, StandsBeforeOthers) {
    std::vector<std::byte> bytes = packed({1, 2, 3});
    pack_column(bytes, Values{300, 4});
    std::span<const std::byte> rest(bytes);
    EXPECT_EQ(unpack_column(rest, 3), (Values{1, 2, 3}));
    EXPECT_EQ(unpack_column(rest, 2), (Values{300, 4}));
    EXPECT_FALSE(unpack_column(rest, 0).has_value());
}

TEST(PackedColumn, BytesThatHoldNoneAreRefused) {
    const std::vector<std::byte> whole = packed({1, 300, 70'000});
    for (std::size_t length = 0; length < whole.size(); ++length) {
        std::span<const std::byte> part = std::span(whole).first(length);
        EXPECT_FALSE(unpack_column(part, 3).has_value()) << length;
    }
    std::vector<std::byte> wide = whole;
    wide.resize(1000);
    wide[8] = std::byte{9};
    std::span<const std::byte> rest(wide);
    EXPECT_FALSE(unpack_column(rest, 3).has_value());
    // Nothing is kept for a count that the bytes cannot hold.
    rest = whole;
    EXPECT_FALSE(unpack_column(rest, std::size_t{1} << 60U).has_value());
}

TEST(PackedColumn, KeepsRandomNumbers) {
    RandomStream rng(random_key(1, "column"), 0);
    for (unsigned bits = 1; bits <= 64; ++bits) {
        Values values(100);
        for (std::uint64_t& value : values)
            value = (std::uint64_t{rng.bits()} << 32U | rng.bits()) >> (64 - bits);
        const std::vector<std::byte> bytes = packed(values);
        std::span<const std::byte> rest(bytes);
        EXPECT_EQ(unpack_column(rest, values.size()), values);
    }
}

}  // namespace
}  // namespace cambrian

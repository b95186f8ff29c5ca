#include "cambrian/engine/core/hash.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cambrian {
namespace {

// The hash of nothing, published with XXH3.
TEST(Hash, OfNothingIsTheKnownValue) {
    EXPECT_EQ(hash128({}).hex(), "99aa06d3014798d86001c324468d497f");
    EXPECT_EQ(hash64({}), 0x2d06800538d394c2U);
}

TEST(Hash, HexWritesTheHighHalfFirst) {
    EXPECT_EQ((Hash128{0x0123456789abcdefU, 0xfU}).hex(), "0123456789abcdef000000000000000f");
}

TEST(Hasher, SeparatesStringsByTheirLength) {
    EXPECT_NE(Hasher().add("ab").add("c").hash128(), Hasher().add("a").add("bc").hash128());
}

TEST(Hasher, DependsOnOrder) {
    EXPECT_NE(Hasher().add(1.0F).add(2.0F).hash64(), Hasher().add(2.0F).add(1.0F).hash64());
}

TEST(Hasher, HashesLittleEndianBytes) {
    const std::vector<std::byte> bytes{std::byte{0x08}, std::byte{0x07}, std::byte{0x06},
                                       std::byte{0x05}, std::byte{0x04}, std::byte{0x03},
                                       std::byte{0x02}, std::byte{0x01}};
    EXPECT_EQ(Hasher().add(std::uint64_t{0x0102030405060708U}).hash128(), hash128(bytes));
}

TEST(Hasher, HashesValuesOfASpanAfterTheirCount) {
    const std::vector<float> values{1.0F, -2.5F};
    EXPECT_EQ(Hasher().add(std::span<const float>(values)).hash64(),
              Hasher().add(std::uint64_t{2}).add(1.0F).add(-2.5F).hash64());
}

}  // namespace
}  // namespace cambrian

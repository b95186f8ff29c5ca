#include "cambrian/engine/io/container.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/io/compression.hpp"

namespace cambrian {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::byte> noise(std::size_t count, std::uint64_t seed) {
    RandomStream rng(random_key(seed, "noise"), 0);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = std::byte(rng.bits() & 0xFFU);
    return bytes;
}

Container sample() {
    Container container{.kind = "checkpoint", .sections = {}};
    container.add("empty", {});
    container.add("noise", noise(300, 1));
    container.add("repeated", std::vector<std::byte>(5000, std::byte{42}));
    return container;
}

bool reads(std::span<const std::byte> bytes) {
    try {
        static_cast<void>(decode_container(bytes, "test"));
        return true;
    } catch (const InputError&) {
        return false;
    }
}

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
        bytes[at + i] = static_cast<std::byte>((value >> (8 * i)) & 0xFFU);
}

// Where things lie in a container with an empty kind and one section named "s".
constexpr std::size_t sections_at = 12;
constexpr std::size_t stored_at = 8 + 4 + 4 + 8 + 4 + 4 + 1;
constexpr std::size_t plain_at = stored_at + 8;
constexpr std::size_t codec_at = plain_at + 8;
constexpr std::size_t table_end = codec_at + 1 + 8;

std::vector<std::byte> one_section(std::vector<std::byte> content) {
    Container container;
    container.add("s", std::move(content));
    return encode(container);
}

/// Bytes whose table was changed by someone who can compute checksums.
std::vector<std::byte> forged(std::vector<std::byte> bytes, std::size_t at, std::uint64_t value,
                              std::size_t width) {
    put(bytes, at, value, width);
    put(bytes, table_end, hash64(std::span(bytes).first(table_end)), 8);
    return bytes;
}

TEST(Container, KeepsItsSections) {
    const std::vector<std::byte> bytes = encode(sample());
    EXPECT_EQ(decode_container(bytes, "test"), sample());
    EXPECT_EQ(encode(sample()), bytes);
    EXPECT_EQ(decode_container(encode(Container{}), "test"), Container{});
}

TEST(Container, CompressesOnlyWhatBecomesSmaller) {
    EXPECT_LT(one_section(std::vector<std::byte>(100'000)).size(), 300U);
    EXPECT_EQ(one_section(noise(100'000, 2)).size(), 100'000 + table_end + 8);
}

TEST(Container, KeepsLargeSections) {
    std::vector<std::byte> large(3'000'000, std::byte{7});
    const std::vector<std::byte> random = noise(500'000, 3);
    std::copy(random.begin(), random.end(), large.begin() + 1'000'000);
    Container container{.kind = "network", .sections = {}};
    container.add("large", large);
    EXPECT_EQ(decode_container(encode(container), "test"), container);
}

/// Zeros that a frame stores in a 30,000th of their length.
std::vector<std::byte> bomb(std::size_t length) {
    return compress(std::vector<std::byte>(length));
}

/// A file whose sections are all this frame and claim this length, under checksums that are right.
std::vector<std::byte> file_of_frames(std::span<const std::byte> frame, std::uint64_t plain,
                                      std::size_t count = 1) {
    // Noise is stored as it is, and makes room for the frame.
    Container container;
    for (std::size_t i = 0; i < count; ++i) container.add("s", noise(frame.size(), 4));
    std::vector<std::byte> bytes = encode(container);
    constexpr std::size_t entry = codec_at + 1 + 8 - stored_at + 5;
    const std::size_t checksum_at = table_end + (count - 1) * entry;
    EXPECT_EQ(bytes.size(), checksum_at + 8 + count * frame.size());
    for (std::size_t i = 0; i < count; ++i) {
        put(bytes, plain_at + i * entry, plain, 8);
        put(bytes, codec_at + i * entry, 1, 1);
        put(bytes, codec_at + i * entry + 1, hash64(frame), 8);
        std::ranges::copy(
            frame, bytes.begin() + static_cast<std::ptrdiff_t>(checksum_at + 8 + i * frame.size()));
    }
    put(bytes, checksum_at, hash64(std::span(bytes).first(checksum_at)), 8);
    return bytes;
}

TEST(Container, RefusesASectionThatUnpacksToFarMoreThanItsFile) {
    const std::size_t length = std::size_t{256} << 20U;
    const std::vector<std::byte> frame = bomb(length);
    ASSERT_LT(frame.size(), 30'000U);
    const std::vector<std::byte> file = file_of_frames(frame, length);
    EXPECT_THAT([&] { static_cast<void>(decode_container(file, "bomb.cmb")); },
                ThrowsMessage<InputError>(HasSubstr("claims to unpack to 268435456")));
    // A small claim stops the frame there.
    EXPECT_THAT(
        [&] { static_cast<void>(decode_container(file_of_frames(frame, 1000), "bomb.cmb")); },
        ThrowsMessage<InputError>(HasSubstr("does not decompress")));
}

TEST(Container, RefusesManySectionsThatUnpackToFarMoreThanTheirFile) {
    // Each alone would be allowed.
    const std::vector<std::byte> frame = bomb(std::size_t{30} << 20U);
    EXPECT_EQ(decode_container(file_of_frames(frame, std::size_t{30} << 20U, 2), "test")
                  .sections[1]
                  .bytes.size(),
              std::size_t{30} << 20U);
    EXPECT_THAT(
        [&] {
            static_cast<void>(
                decode_container(file_of_frames(frame, std::size_t{30} << 20U, 3), "x"));
        },
        ThrowsMessage<InputError>(HasSubstr("more than a file of its length may")));
}

TEST(Container, StoresAsItIsWhatItsReaderWouldRefuse) {
    Container container;
    for (int section = 0; section < 4; ++section)
        container.add("s", std::vector<std::byte>(std::size_t{30} << 20U));
    const std::vector<std::byte> file = encode(container);
    EXPECT_GT(file.size(), std::size_t{60} << 20U) << "two are packed, two are not";
    EXPECT_LT(file.size(), std::size_t{61} << 20U);
    EXPECT_TRUE(decode_container(file, "large.cmb") == container);
}

TEST(Container, SkipsASectionThatNobodyWantsUnread) {
    const std::vector<std::byte> frame = bomb(1'000'000);
    std::vector<std::byte> file =
        file_of_frames(std::span(frame).first(frame.size() - 1), 1'000'000);
    EXPECT_FALSE(reads(file)) << "the frame is cut";
    static constexpr std::array<WantedSection, 1> other{{{"other"}}};
    EXPECT_TRUE(decode_container(file, "test", other).sections.empty());
    file.back() ^= std::byte{1};
    EXPECT_THAT([&] { static_cast<void>(decode_container(file, "test", other)); },
                ThrowsMessage<InputError>(HasSubstr("\"s\" is damaged")));
}

TEST(Container, RefusesASectionLongerThanItsReaderAllows) {
    const std::vector<std::byte> file = one_section(std::vector<std::byte>(1000));
    static constexpr std::array<WantedSection, 1> enough{{{"s", 1000}}};
    EXPECT_EQ(decode_container(file, "test", enough).section("s").size(), 1000U);
    static constexpr std::array<WantedSection, 1> little{{{"s", 999}}};
    EXPECT_THAT([&] { static_cast<void>(decode_container(file, "test", little)); },
                ThrowsMessage<InputError>(HasSubstr("claims 1000 bytes, it may have 999")));
}

TEST(Container, FindsSectionsByName) {
    const Container container = sample();
    EXPECT_EQ(container.section("noise").size(), 300U);
    EXPECT_THAT([&] { static_cast<void>(container.section("weights")); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("weights"), HasSubstr("checkpoint"))));
}

TEST(Container, NoticesADamagedByteAnywhere) {
    const std::vector<std::byte> bytes = encode(sample());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (const unsigned flip : {0x01U, 0x40U, 0xFFU}) {
            std::vector<std::byte> damaged = bytes;
            damaged[i] ^= std::byte(flip);
            EXPECT_FALSE(reads(damaged)) << i;
        }
    }
}

TEST(Container, NoticesEveryTruncation) {
    const std::vector<std::byte> bytes = encode(sample());
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_FALSE(reads(std::span(bytes).first(length))) << length;
}

TEST(Container, NoticesTrailingBytes) {
    std::vector<std::byte> bytes = encode(sample());
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(reads(bytes));
}

TEST(Container, RefusesRandomBytes) {
    const std::vector<std::byte> good = encode(sample());
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        std::vector<std::byte> bytes = noise(seed, seed);
        EXPECT_FALSE(reads(bytes));
        // The same after a true beginning.
        bytes.insert(bytes.begin(), good.begin(), good.begin() + 12);
        EXPECT_FALSE(reads(bytes));
    }
}

TEST(Container, SaysWhatIsWrong) {
    const auto refuses = [](std::vector<std::byte> bytes, const char* why) {
        EXPECT_THAT([&] { static_cast<void>(decode_container(bytes, "best.cmb")); },
                    ThrowsMessage<InputError>(AllOf(HasSubstr("best.cmb"), HasSubstr(why))));
    };
    std::vector<std::byte> bytes = encode(sample());
    bytes[0] = std::byte{'X'};
    refuses(bytes, "not a Cambrian file");
    bytes = encode(sample());
    put(bytes, 8, 2, 4);
    refuses(bytes, "format version 2");
    bytes = encode(sample());
    bytes.back() ^= std::byte{1};
    refuses(bytes, "section \"repeated\" is damaged");
    refuses({}, "ends too early");
}

TEST(Container, RefusesHostileLengths) {
    const std::vector<std::byte> packed = one_section(std::vector<std::byte>(5000, std::byte{9}));
    const std::vector<std::byte> plain = one_section(noise(64, 4));
    ASSERT_TRUE(reads(forged(packed, plain_at, 5000, 8)));
    for (const std::uint64_t length :
         {std::uint64_t{0}, std::uint64_t{4999}, std::uint64_t{5001}, std::uint64_t{1} << 30U,
          std::uint64_t{1} << 62U, ~std::uint64_t{0}}) {
        EXPECT_FALSE(reads(forged(packed, plain_at, length, 8))) << length;
        EXPECT_FALSE(reads(forged(packed, stored_at, length, 8))) << length;
        EXPECT_FALSE(reads(forged(plain, plain_at, length, 8))) << length;
        EXPECT_FALSE(reads(forged(plain, stored_at, length, 8))) << length;
        EXPECT_FALSE(reads(forged(plain, sections_at, length, 4))) << length;
    }
    EXPECT_FALSE(reads(forged(packed, codec_at, 0, 1)));
    EXPECT_FALSE(reads(forged(plain, codec_at, 1, 1)));
    EXPECT_FALSE(reads(forged(plain, codec_at, 2, 1)));
}

}  // namespace
}  // namespace cambrian

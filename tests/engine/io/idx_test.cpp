#include "cambrian/engine/io/idx.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/io/compression.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian::idx_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (const int value : values) bytes.push_back(std::byte(value));
    return bytes;
}

std::vector<std::byte> packed(std::span<const std::byte> plain) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    std::vector<std::byte> bytes(deflateBound(&stream, plain.size()) + 32);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(bytes.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes.resize(stream.total_out);
    deflateEnd(&stream);
    return bytes;
}

const std::vector<std::byte> integers =
    bytes_of({0, 0, 0x0B, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0xFF, 0xFD, 0x01, 0x2C});

TEST(Idx, ElementsAreBigEndian) {
    const StoredTensor tensor = decode_idx(integers, "it");
    EXPECT_EQ(tensor.type, StoredType::i16);
    EXPECT_EQ(tensor.shape, (Shape{2, 1}));
    EXPECT_THAT(tensor.tensor().elements, ElementsAre(-3, 300));
    const StoredTensor real =
        decode_idx(bytes_of({0, 0, 0x0D, 1, 0, 0, 0, 1, 0xC1, 0, 0, 0}), "it");
    EXPECT_THAT(real.tensor().elements, ElementsAre(-8.0));
    EXPECT_EQ(decode_idx(bytes_of({0, 0, 8, 1, 0, 0, 0, 0}), "it").shape, (Shape{0}));
}

TEST(Idx, FilesMayBePacked) {
    const auto path = std::filesystem::path(testing::TempDir()) / "cambrian_idx_test.gz";
    for (const auto& bytes : {integers, packed(integers)}) {
        write_file_atomically(path, bytes);
        EXPECT_EQ(read_idx(path), decode_idx(integers, "it"));
    }
    std::vector<std::byte> longer = integers;
    longer.push_back(std::byte{7});
    write_file_atomically(path, packed(longer));
    EXPECT_THAT([&] { (void)read_idx(path); },
                ThrowsMessage<InputError>(HasSubstr("do not make 5 bytes")));
    std::filesystem::remove(path);
}

TEST(Idx, WhatDoesNotFitIsRefused) {
    const auto refuses = [](const std::vector<std::byte>& bytes, const std::string& why) {
        EXPECT_THAT([&] { (void)decode_idx(bytes, "f.idx"); },
                    ThrowsMessage<InputError>(HasSubstr(why)));
    };
    refuses({}, "f.idx cannot be read as IDX (it does not start");
    refuses(bytes_of({0, 1, 8, 1}), "two zero bytes");
    refuses(bytes_of({0, 0, 7, 1, 0, 0, 0, 0}), "type code 7");
    refuses(bytes_of({0, 0, 8, 2, 0, 0, 0, 1}), "2 axes are more than the file holds");
    refuses(std::vector<std::byte>(100, std::byte{8}), "two zero bytes");
    refuses(bytes_of({0, 0, 8, 1, 0, 0, 0, 3, 1, 2}), "[3] of U8 do not make 2 bytes");
    refuses(bytes_of({0, 0, 0x0E, 2, 255, 255, 255, 255, 255, 255, 255, 255}), "");
}

TEST(Idx, APackedFileThatClaimsTooMuchIsRefusedBeforeItIsUnpacked) {
    const auto refuses = [](const std::vector<std::byte>& bytes, std::int64_t memory,
                            const std::string& why) {
        EXPECT_THAT([&] { (void)decode_idx(bytes, "f.gz", memory); },
                    ThrowsMessage<InputError>(HasSubstr(why)));
    };
    const std::int64_t plenty = std::int64_t{1} << 50U;
    // 4 GiB after a few bytes, and more than any number of bytes.
    refuses(packed(bytes_of({0, 0, 8, 2, 0, 1, 0, 0, 0, 1, 0, 0, 1, 2, 3})), plenty,
            "packed bytes cannot hold [65536, 65536] of U8");
    refuses(packed(bytes_of({0, 0, 0x0E, 2, 127, 255, 255, 255, 127, 255, 255, 255})), plenty,
            "packed bytes cannot hold [2147483647, 2147483647] of F64");
    // Every byte is there, in a thousandth of the room, and as a data set each takes 18.
    std::vector<std::byte> zeros = bytes_of({0, 0, 8, 2, 0, 0, 0x10, 0, 0, 0, 0x10, 0});
    zeros.resize(zeros.size() + 4096 * 4096);
    const std::vector<std::byte> file = packed(zeros);
    ASSERT_LT(file.size(), 20'000U);
    EXPECT_EQ(decode_idx(file, "f.gz", plenty).shape, (Shape{4096, 4096}));
    EXPECT_EQ(decode_idx(file, "f.gz", 18 * 4096 * 4096).shape, (Shape{4096, 4096}));
    refuses(file, 18 * 4096 * 4096 - 1, "f.gz does not fit into memory ([4096, 4096] of U8");
}

TEST(Gzip, GivesTheFirstBytesOrAll) {
    RandomStream rng(random_key(2, "test.gzip"), 0);
    std::vector<std::byte> plain(700'000);
    for (std::byte& byte : plain) byte = std::byte(rng.bits() & 3U);
    const std::vector<std::byte> bytes = packed(plain);
    ASSERT_TRUE(is_gzip(bytes));
    EXPECT_EQ(gunzip(bytes, 1U << 30U, "it"), plain);
    EXPECT_EQ(gunzip(bytes, 5, "it"), std::vector(plain.begin(), plain.begin() + 5));
    EXPECT_TRUE(gunzip(packed({}), 100, "it").empty());
}

TEST(Gzip, MembersFollowEachOther) {
    const std::vector<std::byte> one = bytes_of({1, 2, 3});
    std::vector<std::byte> file;
    for (int member = 0; member < 3; ++member)
        for (const std::byte byte : packed(member == 1 ? std::vector<std::byte>() : one))
            file.push_back(byte);
    EXPECT_EQ(gunzip(file, 100, "it"), bytes_of({1, 2, 3, 1, 2, 3}));
    EXPECT_EQ(gunzip(file, 4, "it"), bytes_of({1, 2, 3, 1}));
    EXPECT_THROW((void)gunzip(std::span(file).first(file.size() - 1), 100, "it"), InputError);
}

TEST(Gzip, DamageIsAnError) {
    std::vector<std::byte> plain(1000);
    for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = std::byte(i * i & 0xFFU);
    const std::vector<std::byte> bytes = packed(plain);
    const auto refuses = [](std::span<const std::byte> damaged) {
        EXPECT_THAT([&] { (void)gunzip(damaged, 1U << 20U, "f.gz"); },
                    ThrowsMessage<InputError>(HasSubstr("f.gz cannot be unpacked")));
    };
    for (std::size_t size = 0; size < bytes.size(); size += 7)
        refuses(std::span(bytes).first(size));
    std::vector<std::byte> flipped = bytes;
    flipped[flipped.size() - 6] ^= std::byte{1};  // In the checksum.
    refuses(flipped);
    std::vector<std::byte> more = bytes;
    more.push_back(std::byte{0});
    refuses(more);
}

}  // namespace
}  // namespace cambrian::idx_test

#include "cambrian/engine/generation/plain_tokenizers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PlainTokenizers, BytesAreTheirValues) {
    const Tokenizer tokenizer = byte_tokenizer();
    EXPECT_EQ(tokenizer.size(), 256);
    EXPECT_THAT(tokenizer.encode("a\n é"), ElementsAre(97, 10, 32, 0xC3, 0xA9));
    std::vector<std::int64_t> all;
    StreamDecoder stream(tokenizer);
    std::string streamed;
    const std::string text = "two  words\t\r\n\x01 and 漢字 🙂";
    for (const std::int64_t id : tokenizer.encode(text)) streamed += stream.add(id);
    EXPECT_EQ(streamed + stream.finish(), text);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    EXPECT_TRUE(tokenizer.end_tokens().empty());
}

TEST(PlainTokenizers, CharactersAreNumberedAsTheyStand) {
    const std::vector<std::int64_t> characters = characters_of("naïve: a\n漢 ", "a text");
    EXPECT_THAT(characters, ElementsAre('\n', ' ', ':', 'a', 'e', 'n', 'v', 0xEF, 0x6F22));
    const Tokenizer tokenizer = character_tokenizer(characters);
    EXPECT_EQ(tokenizer.size(), 9);
    EXPECT_THAT(tokenizer.encode("a\n漢  ï"), ElementsAre(3, 0, 8, 1, 1, 7));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("  naïve 漢\n\n")), "  naïve 漢\n\n");
    EXPECT_THROW(static_cast<void>(tokenizer.encode("b")), InputError);
}

TEST(PlainTokenizers, WhatIsNoTextOrNoCharacterIsRefused) {
    EXPECT_THAT([] { static_cast<void>(characters_of("ab\xC3", "x.txt")); },
                testing::ThrowsMessage<InputError>(HasSubstr("x.txt is no text (byte 2")));
    for (const std::int64_t code : {std::int64_t{-1}, std::int64_t{0xD800}, std::int64_t{0x110000}})
        EXPECT_THROW(static_cast<void>(character_tokenizer(std::array{code})), InputError) << code;
    EXPECT_THROW(static_cast<void>(character_tokenizer(std::array<std::int64_t, 2>{97, 97})),
                 InputError);
}

}  // namespace
}  // namespace cambrian

#include "cambrian/engine/text/tokenizer.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/text/training/tokenizer_training.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"
#include "cambrian/tests/engine/text/tokenizer_support.hpp"

namespace cambrian {
namespace {

using test::Ids;
using test::letters;
using test::special;
using test::tokens;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

template <class Body>
std::string failure(const Body& body) {
    try {
        body();
    } catch (const InputError& error) {
        return error.what();
    }
    ADD_FAILURE() << "no InputError";
    return "";
}

TEST(Tokenizer, MergesTheEarliestPairFirst) {
    const Tokenizer tokenizer(letters());
    EXPECT_THAT(tokens(tokenizer, "abcd"), ElementsAre("ab", "cd"));
    EXPECT_THAT(tokens(tokenizer, "abc"), ElementsAre("abc"));
    EXPECT_THAT(tokens(tokenizer, "aaa"), ElementsAre("aa", "a"));  // From the left.
    EXPECT_THAT(tokens(tokenizer, "bcd"), ElementsAre("b", "cd"));
    EXPECT_THAT(tokens(tokenizer, ""), ElementsAre());
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("abcd e")), "abcd e");
}

TEST(Tokenizer, TheLastOfEqualMergesCounts) {
    TokenizerDefinition definition = letters();
    definition.merges.push_back({"c", "d"});  // After "bc" now.
    EXPECT_THAT(tokens(Tokenizer(definition), "bcd"), ElementsAre("bc", "d"));
}

TEST(Tokenizer, WordsThatAreTokensNeedNoMerges) {
    TokenizerDefinition definition = letters();
    definition.vocabulary.push_back({"dec", 11});
    EXPECT_THAT(tokens(Tokenizer(definition), "dec"), ElementsAre("d", "e", "c"));
    definition.ignore_merges = true;
    EXPECT_THAT(tokens(Tokenizer(definition), "dec"), ElementsAre("dec"));
}

TEST(Tokenizer, AddedTokensComeFirst) {
    TokenizerDefinition definition = letters();
    definition.added = {special(20, "<a>"),
                        special(21, "<a><a>"),
                        {.id = 22, .content = "cc", .normalized = true, .special = false}};
    const Tokenizer tokenizer(definition);
    EXPECT_EQ(tokenizer.size(), 23);
    EXPECT_THAT(tokens(tokenizer, "a<a>b"), ElementsAre("a", "<a>", "b"));
    EXPECT_THAT(tokens(tokenizer, "<a><a><a>"), ElementsAre("<a><a>", "<a>"));  // The longest.
    EXPECT_THAT(tokens(tokenizer, "accb"), ElementsAre("a", "cc", "b"));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("a<a>cc")), "acc");
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("a<a>cc"), SpecialTokens::show), "a<a>cc");
    EXPECT_EQ(tokenizer.id_of("<a>"), 20);
    EXPECT_EQ(tokenizer.id_of("ab"), 7);
    EXPECT_FALSE(tokenizer.id_of("no"));
    EXPECT_EQ(tokenizer.token(15), "");  // A gap.
    EXPECT_TRUE(tokenizer.is_special(20));
    EXPECT_FALSE(tokenizer.is_special(22));
}

TEST(Tokenizer, AddedTokensTakeSpaceAndWholeWords) {
    TokenizerDefinition definition = letters();
    AddedToken left = special(20, "L");
    left.lstrip = true;
    AddedToken right = special(21, "R");
    right.rstrip = true;
    AddedToken word = special(22, "W");
    word.single_word = true;
    definition.added = {left, right, word};
    const Tokenizer tokenizer(definition);
    EXPECT_THAT(tokens(tokenizer, "a  L  b"), ElementsAre("a", "L", " ", " ", "b"));
    EXPECT_THAT(tokens(tokenizer, "a  R  b"), ElementsAre("a", " ", " ", "R", "b"));
    EXPECT_THAT(tokens(tokenizer, "aR  Lb"), ElementsAre("a", "R", "L", "b"));
    definition.added = {right, special(23, "  ")};
    EXPECT_THAT(tokens(Tokenizer(definition), "aR    b"),
                ElementsAre("a", "R", "  ", "  ", "b"));  // Each is given, as in the original.
    EXPECT_THAT(tokens(tokenizer, "a W b"), ElementsAre("a", " ", "W", " ", "b"));
    EXPECT_THAT(tokens(tokenizer, "W"), ElementsAre("W"));
    EXPECT_THAT(failure([&] { static_cast<void>(tokenizer.encode("aW b")); }), HasSubstr("\"W\""));
}

TEST(Tokenizer, TheTemplateSurroundsTheText) {
    TokenizerDefinition definition = letters();
    definition.added = {special(20, "<s>"), special(21, "</s>")};
    definition.post_processor = Template{.single = {"<s>", std::nullopt, "end"},
                                         .tokens = {{"<s>", {20}}, {"end", {21, 21}}}};
    const Tokenizer tokenizer(definition);
    EXPECT_EQ(tokenizer.encode("e"), (Ids{20, 5, 21, 21}));
    EXPECT_EQ(tokenizer.encode(""), (Ids{20, 21, 21}));
    EXPECT_EQ(tokenizer.encode("e", Surround::no), (Ids{5}));
    EXPECT_EQ(tokenizer.end_tokens(), (Ids{21}));
}

TEST(Tokenizer, UnknownCharactersAreRefusedOrNamed) {
    TokenizerDefinition definition = letters();
    EXPECT_THAT(failure([&] { static_cast<void>(Tokenizer(definition).encode("a\xC3\xA9")); }),
                StartsWith("the text holds the character \"\xC3\xA9\" (no token stands for it"));
    definition.vocabulary.push_back({"<unk>", 11});
    definition.unknown_token = "<unk>";
    EXPECT_THAT(tokens(Tokenizer(definition), "axyb"), ElementsAre("a", "<unk>", "<unk>", "b"));
    definition.fuse_unknown = true;
    EXPECT_THAT(tokens(Tokenizer(definition), "axyb"), ElementsAre("a", "<unk>", "b"));
}

TEST(Tokenizer, BytesStandForCharactersWithoutAToken) {
    TokenizerDefinition definition = letters();
    definition.byte_fallback = true;
    for (std::int64_t byte = 0; byte < 256; ++byte)
        definition.vocabulary.push_back({fmt::format("<0x{:02X}>", byte), 11 + byte});
    definition.decoders = {ByteFallbackDecoder{}, FuseDecoder{}};
    const Tokenizer tokenizer(definition);
    EXPECT_THAT(tokens(tokenizer, "a\xE2\x82\xAC"), ElementsAre("a", "<0xE2>", "<0x82>", "<0xAC>"));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xE2\x82\xAC")), "a\xE2\x82\xAC");
    definition.vocabulary.pop_back();
    EXPECT_THAT(failure([&] { Tokenizer{definition}; }), HasSubstr("no token \"<0xFF>\""));
    // Characters that stand for bytes fall back to bytes of these characters: not known here.
    definition.pre_tokenizers = {ByteLevelPreTokenizer{}};
    EXPECT_THAT(failure([&] { Tokenizer{definition}; }), HasSubstr("byte_fallback, but no token"));
}

TEST(Tokenizer, SpacesBecomeVisibleAsInSentencePiece) {
    const std::string mark = "\xE2\x96\x81";
    TokenizerDefinition definition = letters();
    definition.vocabulary.push_back({mark, 11});
    definition.vocabulary.push_back({mark + "a", 12});
    definition.merges.push_back({mark, "a"});
    definition.normalizers = {PrependNormalizer{mark}, ReplaceNormalizer{" ", mark}};
    definition.decoders = {ReplaceDecoder{mark, " "}, FuseDecoder{}, StripDecoder{" ", 1}};
    const Tokenizer replaced(definition);
    EXPECT_THAT(tokens(replaced, "a b"), ElementsAre(mark + "a", mark, "b"));
    EXPECT_EQ(replaced.decode(replaced.encode(" a b")), " a b");
    StreamDecoder continued(replaced, SpecialTokens::leave_out, Before::text);
    for (int text = 0; text < 2; ++text) {
        EXPECT_EQ(continued.add(12), " a") << "what is before it is no start";
        EXPECT_EQ(continued.finish(), "");
    }

    definition.normalizers = {};
    definition.decoders = {MetaspaceDecoder{}};
    definition.added = {special(20, "<s>")};
    for (const auto& [scheme, expected] :
         std::vector<std::pair<PrependScheme, std::vector<std::string>>>{
             {PrependScheme::always, {mark + "a", mark, "b", "<s>", mark, "b"}},
             {PrependScheme::first, {mark + "a", mark, "b", "<s>", "b"}},
             {PrependScheme::never, {"a", mark, "b", "<s>", "b"}}}) {
        definition.pre_tokenizers = {MetaspacePreTokenizer{.prepend_scheme = scheme}};
        EXPECT_EQ(tokens(Tokenizer(definition), "a b<s>b"), expected);
    }
}

TEST(Tokenizer, MetaspaceDropsTheMarksOfTheFirstTokenUnlessItPutsNoneThere) {
    const std::string mark = "\xE2\x96\x81";
    TokenizerDefinition definition = letters();
    definition.vocabulary.push_back({mark, 11});
    definition.vocabulary.push_back({mark + mark + "a", 12});
    definition.vocabulary.push_back({"a" + mark + "b", 13});
    definition.added = {special(20, "<s>")};
    const auto decoded = [&](PrependScheme scheme, const Ids& ids) {
        definition.decoders = {MetaspaceDecoder{.prepend_scheme = scheme}};
        return Tokenizer(definition).decode(ids);
    };
    for (const PrependScheme scheme : {PrependScheme::always, PrependScheme::first}) {
        EXPECT_EQ(decoded(scheme, {12, 12}), "a  a");
        EXPECT_EQ(decoded(scheme, {20, 13, 13}), "aba b");
        EXPECT_EQ(decoded(scheme, {11, 11, 1}), " a");
        EXPECT_EQ(decoded(scheme, {0, 11, 1}), "  a") << "a space is no mark";
    }
    EXPECT_EQ(decoded(PrependScheme::never, {12, 13}), "  aa b");
    // A prompt is before it.
    definition.decoders = {MetaspaceDecoder{}};
    StreamDecoder continued(Tokenizer(definition), SpecialTokens::leave_out, Before::text);
    EXPECT_EQ(continued.add(12), "  a");
}

TEST(Tokenizer, RepliesOfSeveralMessagesEndAfterTheLastOne) {
    TokenizerDefinition definition = letters();
    definition.added = {special(20, "<|endoftext|>"), special(21, "<|end|>")};
    EXPECT_EQ(Tokenizer(definition).end_tokens(), (Ids{20, 21})) << "Phi";
    definition.added.push_back(special(22, "<|return|>"));
    definition.added.push_back(special(23, "<|call|>"));
    EXPECT_EQ(Tokenizer(definition).end_tokens(), (Ids{20, 22, 23})) << "gpt-oss";
    definition.added[2].special = false;  // A text of somebody's.
    EXPECT_EQ(Tokenizer(definition).end_tokens(), (Ids{20, 21, 23}));
}

TEST(Tokenizer, SplitsByTextAndDigits) {
    TokenizerDefinition definition = letters();
    definition.vocabulary.push_back({"1", 11});
    definition.vocabulary.push_back({"11", 12});
    definition.vocabulary.push_back({"a1", 13});
    definition.vocabulary.push_back({"1a", 14});
    definition.merges = {{"1", "1"}, {"a", "1"}, {"1", "a"}};
    const auto with = [&](const PreTokenizer& step) {
        definition.pre_tokenizers = {step};
        return tokens(Tokenizer(definition), "a11a1");
    };
    EXPECT_THAT(with(DigitsPreTokenizer{true}), ElementsAre("a", "1", "1", "a", "1"));
    EXPECT_THAT(with(DigitsPreTokenizer{false}), ElementsAre("a", "11", "a", "1"));
    const auto split = [&](SplitBehavior behavior, bool invert = false) {
        return with(SplitPreTokenizer{.pattern = "1", .behavior = behavior, .invert = invert});
    };
    EXPECT_THAT(split(SplitBehavior::isolated), ElementsAre("a", "1", "1", "a", "1"));
    EXPECT_THAT(split(SplitBehavior::removed), ElementsAre("a", "a"));
    EXPECT_THAT(split(SplitBehavior::removed, true), ElementsAre("1", "1", "1"));
    EXPECT_THAT(split(SplitBehavior::contiguous), ElementsAre("a", "11", "a", "1"));
    EXPECT_THAT(split(SplitBehavior::merged_with_previous), ElementsAre("a1", "1", "a1"));
    EXPECT_THAT(split(SplitBehavior::merged_with_next), ElementsAre("a", "1", "1a", "1"));
}

TEST(Tokenizer, RefusesDefinitionsThatContradictThemselves) {
    const auto refused = [](auto change) {
        TokenizerDefinition definition = letters();
        change(definition);
        return failure([&] { Tokenizer(definition, "x.json"); });
    };
    using Definition = TokenizerDefinition;
    EXPECT_THAT(refused([](Definition& d) {
                    d.merges.push_back({"a", "z"});
                }),
                HasSubstr("merge 5 needs the token \"z\""));
    EXPECT_THAT(refused([](Definition& d) {
                    d.merges.push_back({"d", "e"});
                }),
                HasSubstr("merge 5 needs the token \"de\""));
    EXPECT_THAT(refused([](Definition& d) {
                    d.vocabulary.push_back({"a", 11});
                }),
                HasSubstr("\"a\" stands twice"));
    EXPECT_THAT(refused([](Definition& d) {
                    d.vocabulary.push_back({"f", 3});
                }),
                HasSubstr("the id 3 is of \"c\" and of \"f\""));
    EXPECT_THAT(refused([](Definition& d) {
                    d.vocabulary.push_back({"f", 1 << 20});
                }),
                HasSubstr("not one from 0 to"));
    EXPECT_THAT(refused([](Definition& d) {
                    d.vocabulary.push_back({"f", std::int64_t{1} << 40});
                    d.vocabulary.push_back({"fa", 12});
                    d.merges.push_back({"f", "a"});
                }),
                HasSubstr("not one from 0 to"));
    EXPECT_THAT(refused([](Definition& d) { d.unknown_token = "?"; }), HasSubstr("unk_token"));
    EXPECT_THAT(refused([](Definition& d) { d.added = {special(3, "f")}; }),
                HasSubstr("the id 3 is of"));
    EXPECT_THAT(refused([](Definition& d) { d.added = {special(30, "a")}; }),
                HasSubstr("in the vocabulary 1"));
    EXPECT_THAT(refused([](Definition& d) { d.added = {special(30, "")}; }),
                HasSubstr("has no text"));
    EXPECT_THAT(refused([](Definition& d) { d.added = {special(30, std::string(513, 'x'))}; }),
                HasSubstr("513 bytes"));
    EXPECT_THAT(refused([](Definition& d) {
                    d.decoders = {FuseDecoder{}, ByteLevelDecoder{}};
                }),
                HasSubstr("cannot decode"));
    EXPECT_THAT(refused([](Definition& d) { d.decoders = {StripDecoder{}}; }),
                HasSubstr("cannot decode"));
    EXPECT_THAT(refused([](Definition& d) {
                    d.pre_tokenizers = {SplitPreTokenizer{.pattern = "x+", .regex = true}};
                }),
                HasSubstr("an expression that is not known, x+"));
    EXPECT_THAT(refused([](Definition& d) {
                    d.pre_tokenizers = {ByteLevelPreTokenizer{}, DigitsPreTokenizer{}};
                }),
                HasSubstr("after ByteLevel"));
    EXPECT_THAT(
        refused([](Definition& d) {
            d.normalizers = {PrependNormalizer{"a"}};
            d.pre_tokenizers = {MetaspacePreTokenizer{.prepend_scheme = PrependScheme::first}};
        }),
        HasSubstr("move the beginning"));
    EXPECT_THAT(refused([](Definition& d) {
                    d.post_processor = Template{.single = {"<s>", std::nullopt}, .tokens = {}};
                }),
                HasSubstr("does not name"));
    EXPECT_THAT(refused([](Definition& d) { d.post_processor = Template{}; }),
                HasSubstr("leaves out the text"));
}

TEST(Tokenizer, RefusesTextsAndIdsThatAreNone) {
    const Tokenizer tokenizer(letters());
    EXPECT_THAT(failure([&] { static_cast<void>(tokenizer.encode("a\xFF")); }),
                StartsWith("the text is not UTF-8 (byte 1 belongs to no character)"));
    for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{11}, std::int64_t{1} << 40})
        EXPECT_THAT(failure([&] { static_cast<void>(tokenizer.decode(Ids{id})); }),
                    HasSubstr("is of no token"));
    TokenizerDefinition definition = letters();
    definition.decoders.clear();
    EXPECT_THAT(failure([&] { static_cast<void>(Tokenizer(definition).decode(Ids{1})); }),
                HasSubstr("has no decoder"));
}

// A word without end must not take quadratic time, nor normalizers make a text without end.
TEST(Tokenizer, HostileTextsTakeTimeInProportion) {
    const Tokenizer tokenizer(letters());
    for (const std::string unit : {"a", "abcd", "ab", "abc"}) {
        std::string text;
        while (text.size() < 500'000) text += unit;
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    }
    TokenizerDefinition definition = letters();
    definition.normalizers.assign(16, ReplaceNormalizer{"a", "aa"});
    EXPECT_THAT(failure([&] { static_cast<void>(Tokenizer(definition).encode("aaaa")); }),
                HasSubstr("(16 times as many are the most)"));
    definition = letters();
    definition.decoders.assign(16, ReplaceDecoder{"a", "aaaa"});
    EXPECT_THAT(failure([&] { Tokenizer{definition}; }), HasSubstr("decodes a token of 1 bytes"));
    TokenizerDefinition added = letters();
    added.added = {special(20, std::string(512, 'a')), special(21, std::string(300, 'a') + "b")};
    EXPECT_EQ(Tokenizer(added).encode(std::string(512 * 1000, 'a')).size(), 1000U);
    AddedToken space = special(20, "  ");
    space.rstrip = true;
    added.added = {space};
    EXPECT_EQ(Tokenizer(added).encode(std::string(500'000, ' ')).size(), 250'000U);
}

/// What a stream gives, one id at a time.
std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
    StreamDecoder decoder(tokenizer);
    std::string text;
    for (const std::int64_t id : ids) {
        const std::string piece = decoder.add(id);
        EXPECT_EQ(piece.find("\xEF\xBF\xBD"), text.npos) << "a character was not held back";
        text += piece;
    }
    return text + decoder.finish();
}

TEST(Tokenizer, AStreamHoldsBackUnfinishedCharacters) {
    const Tokenizer tokenizer(byte_tokenizer({}));
    const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    EXPECT_EQ(streamed(tokenizer, tokenizer.encode(text)), text);
    StreamDecoder decoder(tokenizer);
    EXPECT_EQ(decoder.add(0xF0), "");
    EXPECT_EQ(decoder.add(0x9F), "");
    EXPECT_EQ(decoder.add('a'),
              "\xEF\xBF\xBD"
              "a");  // It was never completed.
    EXPECT_EQ(decoder.add(0xE2), "");
    EXPECT_EQ(decoder.finish(), "\xEF\xBF\xBD");
    EXPECT_EQ(decoder.finish(), "");
}

// Any ids, in one piece or one by one, give the same valid text.
TEST(Tokenizer, StreamsOfAnyBytesAreWhatDecodeGives) {
    const Tokenizer tokenizer(byte_tokenizer({}));
    RandomStream stream(random_key(5, "bytes"), 0);
    for (int round = 0; round < 2000; ++round) {
        Ids ids;
        for (int i = 0; i < 12; ++i) {
            // Bytes that begin, continue and break characters.
            constexpr std::array<int, 12> bytes{0x41, 0x80, 0xBF, 0xC3, 0xE0, 0xA0,
                                                0xED, 0x9F, 0xF0, 0x90, 0xF4, 0x8F};
            ids.push_back(bytes[stream.index(bytes.size())]);
        }
        StreamDecoder decoder(tokenizer);
        std::string text;
        std::string raw;
        for (const std::int64_t id : ids) {
            text += decoder.add(id);
            raw += static_cast<char>(id);
        }
        ASSERT_EQ(text + decoder.finish(), unicode::repaired(raw));
    }
}

}  // namespace
}  // namespace cambrian

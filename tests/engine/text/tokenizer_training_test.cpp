#include "cambrian/engine/text/training/tokenizer_training.hpp"

#include <gmock/gmock.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/text/tokenizer.hpp"
#include "cambrian/tests/engine/text/tokenizer_support.hpp"

namespace cambrian {
namespace {

using test::tokens;
using testing::ElementsAre;

TokenizerDefinition learn(std::string_view text, TokenizerTraining settings) {
    const std::vector<std::string_view> texts{text};
    return train_byte_pairs(texts, settings);
}

std::vector<std::string> merges(const TokenizerDefinition& definition) {
    std::vector<std::string> result;
    for (const TokenMerge& merge : definition.merges)
        result.push_back(merge.left + "+" + merge.right);
    return result;
}

// Counted by hand. Words: low ×5, " lower" ×2, " newest" ×6, " widest" ×3.
TEST(TokenizerTraining, JoinsTheMostFrequentPairs) {
    std::string text = "low";
    for (int i = 0; i < 4; ++i) text += "\nlow";
    for (int i = 0; i < 2; ++i) text += " lower";
    for (int i = 0; i < 6; ++i) text += " newest";
    for (int i = 0; i < 3; ++i) text += " widest";
    // "es" and "st" stand 9 times, the ids of e and s are smaller; then "es"+"t" 9 times.
    const TokenizerDefinition definition =
        learn(text, {.vocabulary = 256 + 4, .min_count = 2, .special = {}});
    EXPECT_THAT(merges(definition), ElementsAre("e+s", "es+t", "l+o", "lo+w"));
    EXPECT_THAT(tokens(Tokenizer(definition), "lowest"), ElementsAre("low", "est"));
}

TEST(TokenizerTraining, CountsPairsOfEqualSymbolsAsTheyAreMerged) {
    // "aaaa" has three pairs, of which two are merged; then one.
    EXPECT_THAT(merges(learn("aaaa", {.vocabulary = 300, .min_count = 1, .special = {}})),
                ElementsAre("a+a", "aa+aa"));
    EXPECT_THAT(merges(learn("aaaaa", {.vocabulary = 300, .min_count = 2, .special = {}})),
                ElementsAre("a+a"));
}

TEST(TokenizerTraining, SpecialTokensAreNoTextToLearnFrom) {
    const TokenizerDefinition definition =
        learn("ab<|x|>ab<|x|>ab", {.vocabulary = 300, .min_count = 2, .special = {"<|x|>"}});
    EXPECT_THAT(merges(definition), ElementsAre("a+b"));
    const Tokenizer tokenizer(definition);
    EXPECT_EQ(tokenizer.size(), 258);
    EXPECT_THAT(tokenizer.encode("ab<|x|>"), ElementsAre(256, 257));
}

TEST(TokenizerTraining, StopsWhereTheVocabularyIsFull) {
    const TokenizerDefinition definition =
        learn("abcdabcdabcd", {.vocabulary = 258, .min_count = 2, .special = {"<|x|>"}});
    EXPECT_EQ(definition.merges.size(), 1U);
    EXPECT_THROW(static_cast<void>(learn("a", {.vocabulary = 256})), ConfigError);
    EXPECT_THROW(static_cast<void>(learn("\xFF", {})), InputError);
}

// One word of half a megabyte: a merge must not walk through all of it.
TEST(TokenizerTraining, LongWordsTakeTimeInProportion) {
    std::string text;
    std::uint32_t state = 1;
    while (text.size() < 500'000) {
        state = state * 1664525U + 1013904223U;
        text += static_cast<char>('a' + (state >> 24U) % 26);
    }
    const TokenizerDefinition definition = learn(text, {.vocabulary = 2048});
    EXPECT_EQ(definition.vocabulary.size() + definition.added.size(), 2048U);
}

TEST(TokenizerTraining, BytesAreTheirOwnIds) {
    const Tokenizer tokenizer(byte_tokenizer(std::vector<std::string>{"<|end|>"}));
    EXPECT_EQ(tokenizer.size(), 257);
    EXPECT_THAT(tokenizer.encode("a\n\xC3\xA9<|end|>"), ElementsAre('a', '\n', 0xC3, 0xA9, 256));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\n\xC3\xA9")), "a\n\xC3\xA9");
}

TEST(TokenizerTraining, CharactersStandInTheOrderOfTheirCodes) {
    const std::vector<std::string_view> texts{"ba b", "\xE2\x82\xAC\xC3\xA9"};
    const Tokenizer tokenizer(character_tokenizer(texts, std::vector<std::string>{"<|end|>"}));
    EXPECT_EQ(tokenizer.size(), 6);
    EXPECT_THAT(tokenizer.encode("ab \xC3\xA9\xE2\x82\xAC<|end|>"), ElementsAre(1, 2, 0, 3, 4, 5));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab \xE2\x82\xAC")), "ab \xE2\x82\xAC");
    EXPECT_THROW(static_cast<void>(tokenizer.encode("c")), InputError);
    const std::vector<std::string_view> nul{std::string_view("a\0", 2)};
    EXPECT_THROW(static_cast<void>(character_tokenizer(nul, {})), InputError);
}

}  // namespace
}  // namespace cambrian

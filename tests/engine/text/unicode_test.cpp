#include "cambrian/engine/text/unicode/unicode.hpp"

#include <gtest/gtest.h>

#include <string>

#include "cambrian/engine/core/hash.hpp"

namespace cambrian::unicode {
namespace {

std::string utf8(std::u32string_view codes) {
    std::string text;
    for (const char32_t code : codes) append(text, code);
    return text;
}

TEST(Unicode, WritesAndReadsEveryCharacter) {
    for (char32_t code = 0; code <= 0x10FFFF; ++code) {
        if (code >= 0xD800 && code < 0xE000) continue;
        std::string text;
        append(text, code);
        ASSERT_EQ(valid_length(text), text.size());
        ASSERT_EQ(character_at(text, 0).code, code);
        ASSERT_EQ(character_before(text, text.size()).code, code);
        ASSERT_EQ(character_at(text, 0).length, text.size());
        ASSERT_EQ(unfinished_length(text), 0U);
        for (std::size_t cut = 1; cut < text.size(); ++cut)
            ASSERT_EQ(unfinished_length(text.substr(0, cut)), cut);
    }
}

TEST(Unicode, KnowsBytesThatAreNoCharacter) {
    for (const std::string bytes :
         {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82"}) {
        EXPECT_EQ(valid_length("ab" + bytes), 2U);
        EXPECT_EQ(valid_length(repaired("ab" + bytes)), repaired("ab" + bytes).size());
    }
}

// The example of the Unicode Standard, section 3.9, table 3-11.
TEST(Unicode, RepairsEachLongestBeginningOnce) {
    const std::string bad = "\xEF\xBF\xBD";
    EXPECT_EQ(repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), bad + bad + bad + bad + "A");
    EXPECT_EQ(repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
              bad + bad + bad + bad + bad + bad + bad + bad + "A");
}

TEST(Unicode, ClassesFollowTheStandard) {
    struct Case {
        char32_t code;
        Classes classes;
    };
    for (const Case& row : std::initializer_list<Case>{
             {U'a', letter | tail | word},
             {U'A', letter | head | word},
             {U'7', number | word},
             {U'_', word},
             {U' ', space},
             {U'!', 0},
             {0x85, space},                          // next line
             {0xA0, space},                          // no-break space
             {0xAA, letter | head | tail | word},    // feminine ordinal indicator, Lo
             {0xB2, number},                         // superscript two, No
             {0x1C5, letter | head | word},          // Dž, Lt
             {0x2B0, letter | head | tail | word},   // modifier letter small h, Lm
             {0x301, head | tail | word},            // combining acute accent, Mn
             {0x200B, 0},                            // zero width space, Cf
             {0x200D, word},                         // zero width joiner
             {0x2160, number | word},                // roman numeral one, Nl
             {0x2028, space},                        // line separator
             {0x24B6, word},                         // circled A: alphabetic, So
             {0x3000, space},                        // ideographic space
             {0x4E00, letter | head | tail | word},  // a Han character
             {0x9FFF, letter | head | tail | word},  // the last one of its block
             {0xD7A3, letter | head | tail | word},  // the last Hangul syllable
             {0xE000, 0},                            // private use
             {0x10400, letter | head | word},        // Deseret
             {0x1F600, 0},                           // an emoji
             {0x10FFFF, 0}})
        EXPECT_EQ(classes(row.code), row.classes) << std::hex << static_cast<unsigned>(row.code);
}

TEST(Unicode, ComposesAsTheStandardSays) {
    struct Case {
        std::u32string from;
        std::u32string to;
    };
    for (const Case& row : std::initializer_list<Case>{
             {U"plain ASCII", U"plain ASCII"},
             {U"e\u0301", U"\u00E9"},
             {U"\u212B", U"\u00C5"},                // Angstrom sign
             {U"D\u0307\u0323", U"\u1E0C\u0307"},   // marks in the order of classes
             {U"q\u0307\u0323", U"q\u0323\u0307"},  // and without a composition
             {U"a\u0323\u0302", U"\u1EAD"},         // over two steps
             {U"\u0958", U"\u0915\u093C"},          // excluded from composition
             {U"\u2126", U"\u03A9"},                // Ohm sign, a singleton
             {U"\uF900", U"\u8C48"},                // a compatibility ideograph
             {U"\u1100\u1161\u11A8", U"\uAC01"},    // Hangul of three parts
             {U"\uAC00\u11A8", U"\uAC01"},
             {U"\uAC01\u11A8", U"\uAC01\u11A8"},        // but one trailing consonant
             {U"\U000110A5\U000110BA", U"\U000110AB"},  // beyond 16 bits
             {U"a\u0315\u0300\u05AE\u0300b", U"\u00E0\u05AE\u0300\u0315b"},
             {U"\u0344", U"\u0308\u0301"}})
        EXPECT_EQ(composed(utf8(row.from)), utf8(row.to));
}

// Of all characters, each after an A and before an acute accent, as Python's unicodedata of
// Unicode 14 has them: printed by tests/tokenizer/compositions.py.
TEST(Unicode, ComposesEveryCharacter) {
    std::string text;
    for (char32_t code = 1; code <= 0x10FFFF; ++code) {
        if (code >= 0xD800 && code < 0xE000) continue;
        text += composed(utf8(std::u32string{U'A', code, 0x301, U'\n'}));
    }
    EXPECT_EQ(hash64(std::as_bytes(std::span(text))), 0x73092CFF8EE8C9DBU);
}

// Marks without end take time in proportion to n log n.
TEST(Unicode, ComposesManyMarks) {
    std::string text = "a";
    for (int i = 0; i < 300'000; ++i) text += i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3";
    const std::string result = composed(text);
    EXPECT_EQ(valid_length(result), result.size());
    EXPECT_TRUE(result.starts_with("\xE1\xBA\xA1"));  // The dot below composes with the letter.
}

}  // namespace
}  // namespace cambrian::unicode

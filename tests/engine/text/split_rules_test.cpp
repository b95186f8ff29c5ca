#include "cambrian/engine/text/split_rules.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace cambrian {
namespace {

using testing::ElementsAre;
using Words = std::vector<std::string>;

Words words(const SplitRule& rule, std::string_view text) {
    Words result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = rule.end(text, at);
        result.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return result;
}

struct SplitCase {
    std::string text;
    Words gpt2;
    Words gpt4;
    Words qwen;
    Words gpt4o;
};

// Found by hand from the expressions.
TEST(SplitRules, CutAsTheirExpressionsSay) {
    for (const SplitCase& row : std::initializer_list<SplitCase>{
             {"Hello world",
              {"Hello", " world"},
              {"Hello", " world"},
              {"Hello", " world"},
              {"Hello", " world"}},
             {"it's WE'LL",
              {"it", "'s", " WE", "'", "LL"},
              {"it", "'s", " WE", "'LL"},
              {"it", "'s", " WE", "'LL"},
              {"it's", " WE'LL"}},
             {"x'\xC5\xBFy",  // U+017F is an s where case is ignored.
              {"x", "'", "\xC5\xBFy"},
              {"x", "'\xC5\xBF", "y"},
              {"x", "'\xC5\xBF", "y"},
              {"x'\xC5\xBF", "y"}},
             {"12345 678",
              {"12345", " 678"},
              {"123", "45", " ", "678"},
              {"1", "2", "3", "4", "5", " ", "6", "7", "8"},
              {"123", "45", " ", "678"}},
             {"a   b", {"a", "  ", " b"}, {"a", "  ", " b"}, {"a", "  ", " b"}, {"a", "  ", " b"}},
             {"a  ", {"a", "  "}, {"a", "  "}, {"a", "  "}, {"a", "  "}},
             {"a \n\n  b",
              {"a", " \n\n ", " b"},
              {"a", " \n\n", " ", " b"},
              {"a", " \n\n", " ", " b"},
              {"a", " \n\n", " ", " b"}},
             {"f(x);\r\n\ty",
              {"f", "(", "x", ");", "\r\n", "\t", "y"},
              {"f", "(x", ");\r\n", "\ty"},
              {"f", "(x", ");\r\n", "\ty"},
              {"f", "(x", ");\r\n", "\ty"}},
             {"a/\n/b",
              {"a", "/", "\n", "/", "b"},
              {"a", "/\n", "/b"},
              {"a", "/\n", "/b"},
              {"a", "/\n/", "b"}},
             {"CamelCaseHTTPServer",
              {"CamelCaseHTTPServer"},
              {"CamelCaseHTTPServer"},
              {"CamelCaseHTTPServer"},
              {"Camel", "Case", "HTTPServer"}},
             {"e\xCC\x81t",  // A mark is no letter, and the one before letters may be anything.
              {"e", "\xCC\x81", "t"},
              {"e", "\xCC\x81t"},
              {"e", "\xCC\x81t"},
              {"e\xCC\x81t"}},
             {"\xE3\x80\x80\xE5\xA4\x9C\xE3\x80\x82\xEF\xBC\x91",  // Ideographic space, Han, full
                                                                   // stop, 1.
              {"\xE3\x80\x80", "\xE5\xA4\x9C", "\xE3\x80\x82", "\xEF\xBC\x91"},
              {"\xE3\x80\x80\xE5\xA4\x9C", "\xE3\x80\x82", "\xEF\xBC\x91"},
              {"\xE3\x80\x80\xE5\xA4\x9C", "\xE3\x80\x82", "\xEF\xBC\x91"},
              {"\xE3\x80\x80\xE5\xA4\x9C", "\xE3\x80\x82", "\xEF\xBC\x91"}},
         }) {
        EXPECT_EQ(words(split_rules()[0], row.text), row.gpt2) << row.text;
        EXPECT_EQ(words(split_rules()[1], row.text), row.gpt4) << row.text;
        EXPECT_EQ(words(split_rules()[2], row.text), row.qwen) << row.text;
        EXPECT_EQ(words(split_rules()[3], row.text), row.gpt4o) << row.text;
    }
}

// Heads give characters back until a tail follows: "ªB" has none after B, so ª is the tail.
TEST(SplitRules, WordsOfGpt4oGiveBack) {
    const SplitRule& rule = split_rules()[3];
    EXPECT_THAT(words(rule,
                      "\xC2\xAA"
                      "BC"),
                ElementsAre("\xC2\xAA", "BC"));
    EXPECT_THAT(words(rule,
                      "B\xC2\xAA"
                      "C"),
                ElementsAre("B\xC2\xAA", "C"));
    EXPECT_THAT(words(rule, "ABCd"), ElementsAre("ABCd"));
    EXPECT_THAT(words(rule, "-AB-c"), ElementsAre("-AB", "-c"));
    EXPECT_THAT(words(rule, "\xCC\x81"), ElementsAre("\xCC\x81"));
}

TEST(SplitRules, TekkenHasNoContractions) {
    EXPECT_THAT(words(split_rules()[4], "it's 12"), ElementsAre("it", "'s", " ", "1", "2"));
}

TEST(SplitRules, AreFoundByTheirPatterns) {
    for (const SplitRule& rule : split_rules()) EXPECT_EQ(find_split_rule(rule.pattern), &rule);
    EXPECT_EQ(find_split_rule("\\s+"), nullptr);
}

// What one match reads again must not grow with the text.
TEST(SplitRules, TakeTimeInProportionToHostileTexts) {
    constexpr std::size_t length = 500'000;
    for (const SplitRule& rule : split_rules())
        for (const std::string unit : {" ", "A", "'", "\n ",
                                       "\xC2\xAA"
                                       "A",
                                       "\xCC\x81", " \t", "1"}) {
            std::string text;
            while (text.size() < length) text += unit;
            std::size_t count = 0;
            for (std::size_t at = 0; at < text.size(); ++count) at = rule.end(text, at);
            EXPECT_GT(count, 0U);
        }
}

}  // namespace
}  // namespace cambrian

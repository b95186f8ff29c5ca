#include "cambrian/engine/core/json/json_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

std::string nested(std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
}

std::string why(std::string_view text, const json_text::Limits& limits = {}) {
    const auto fault = json_text::fault(text, limits);
    return fault ? fault->why : "";
}

TEST(JsonText, ReadsWhatIsSound) {
    const std::string text = R"({"b": [1, -2.5, true, null], "a": {"b": "\u00e9"}})";
    EXPECT_EQ(json_text::fault(text), std::nullopt);
    EXPECT_EQ(json_text::parse(text), nlohmann::json::parse(text));
    EXPECT_EQ(json_text::parse_ordered(text).begin().key(), "b");
    EXPECT_EQ(why(nested(100)), "");
}

TEST(JsonText, RefusesWhatIsNestedWithoutABound) {
    for (const std::size_t levels : {std::size_t{101}, std::size_t{100'000}})
        EXPECT_THAT(why(nested(levels)), HasSubstr("nested too deeply, more than 100 levels"));
    EXPECT_THAT(why(std::string(1'000'000, '[')), HasSubstr("nested too deeply"));
    std::string objects;
    for (int level = 0; level < 100'000; ++level) objects += "{\"a\":";
    EXPECT_THAT(why(objects), HasSubstr("nested too deeply"));
    EXPECT_THROW((void)json_text::parse(nested(100'000)), InputError);
    EXPECT_THAT(why("[[]]", {.depth = 1}), HasSubstr("more than 1 levels"));
}

TEST(JsonText, RefusesWhatIsNoValueForSure) {
    EXPECT_THAT(why("[1e400]"), HasSubstr("the number 1e400 is beyond"));
    EXPECT_THAT(why("[-1e400]"), HasSubstr("the number -1e400 is beyond"));
    EXPECT_THAT(why("\"\xff\""), HasSubstr("UTF-8"));
    EXPECT_THAT(why(R"({"a":1,"a":2})"), HasSubstr("\"a\" stands twice"));
    EXPECT_THAT(why(R"({"a":"x\u0000y"})"), HasSubstr("NUL"));
    EXPECT_THAT(why(R"({"x\u0000y":1})"), HasSubstr("NUL"));
    EXPECT_THAT(why(std::string_view("1\0more", 6)), HasSubstr("NUL"));
    EXPECT_THAT(why("[1,2,3]", {.length = 6}), HasSubstr("7 bytes"));
    EXPECT_THAT(why(R"({"a":1,"b":2,"c":3})", {.keys = 2}), HasSubstr("more than 2 keys"));
    EXPECT_EQ(why(R"({"a":1,"b":{"c":3}})", {.keys = 2}), "");
    EXPECT_NE(why(""), "");
}

TEST(JsonText, SaysWhereItIsBroken) {
    const auto fault = json_text::fault("[1,,2]");
    ASSERT_TRUE(fault);
    EXPECT_THAT(fault->byte, Optional(std::size_t{4}));
    EXPECT_FALSE(fault->is_json);
    EXPECT_TRUE(json_text::fault(nested(101))->is_json);
}

TEST(JsonText, SaysLittleOfAHostileText) {
    EXPECT_LT(why("\"" + std::string(100'000, 'x')).size(), 300U);
    EXPECT_LT(why(std::string(100'000, '1')).size(), 300U);
    const std::string key = "\"" + std::string(100'000, 'k') + "\":1";
    EXPECT_LT(why("{" + key + "," + key + "}").size(), 300U);
    EXPECT_EQ(json_text::shown(nlohmann::json(std::string(1000, 'x'))).size(), 203U);
}

TEST(JsonText, ReadsMessagePack) {
    nlohmann::json value = {{"a", {1, -2, 2.5, nullptr, true}}, {"b", "\xc3\xa9"}};
    value["c"] = nlohmann::json::binary({0, 255});
    std::string bytes;
    nlohmann::json::to_msgpack(value, bytes);
    EXPECT_EQ(json_text::parse_packed(bytes), value);
}

TEST(JsonText, CountsValuesBeforeAnyIsKept) {
    // A list of three empty lists has four values, and so has one of three numbers.
    for (const std::string text : {"[[],[],[]]", "[1,2,3]", R"({"a":[null,true]})"}) {
        EXPECT_NO_THROW(static_cast<void>(json_text::parse(text, {.values = 4}))) << text;
        EXPECT_THROW(static_cast<void>(json_text::parse(text, {.values = 3})), InputError) << text;
    }
    const std::string lists = "\x93\x90\x90\x90";
    EXPECT_NO_THROW(static_cast<void>(json_text::parse_packed(lists, {.values = 4})));
    EXPECT_THROW(static_cast<void>(json_text::parse_packed(lists, {.values = 3})), InputError);
}

TEST(JsonText, RefusesHostileMessagePack) {
    const auto why_packed = [](const std::string& bytes) -> std::string {
        try {
            static_cast<void>(json_text::parse_packed(bytes, {.length = std::size_t{1} << 20U}));
        } catch (const InputError& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_THAT(why_packed(std::string(200'000, '\x91')), HasSubstr("nested too deeply"));
    EXPECT_THAT(why_packed({'\xD4', '\x01', '\x00'}), HasSubstr("an extension of MessagePack"));
    EXPECT_THAT(why_packed("\x82\xa1\x61\xc0\xa1\x61\xc0"), HasSubstr("stands twice"));
    EXPECT_THAT(why_packed(std::string("\xa2\x61\0", 3)), HasSubstr("NUL"));
    EXPECT_THAT(why_packed("\xa1\xff"), HasSubstr("not UTF-8"));
    EXPECT_THAT(why_packed(std::string("\xca\x7f\xc0\0\0", 5)), HasSubstr("not finite"));
    EXPECT_THAT(why_packed(std::string(2 << 20, '\x01')), HasSubstr("more than"));
    // Lengths that are not there: of a list, a map, a text, bytes, an extension.
    for (const char* head : {"\xdd", "\xdf", "\xdb", "\xc6", "\xc9"})
        EXPECT_NE(why_packed(head + std::string(4, '\xff')), "");
    EXPECT_NE(why_packed(""), "");
    EXPECT_NE(why_packed("\xc1"), "") << "a byte that begins nothing";
    EXPECT_NE(why_packed("\x01\x02"), "") << "something follows";
    EXPECT_NE(why_packed("\x81\x01\x02"), "") << "a key that is no text";
}

TEST(Shortened, ShowsWhatCanBeShown) {
    EXPECT_EQ(shortened("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8d"),
              "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8d");
    EXPECT_EQ(shortened("a\nb\x1b[0m\x7f"), "a?b?[0m?");
    EXPECT_EQ(shortened("\xc2\x80-\xc2\x9f-\xc2\xa0"), "?-?-\xc2\xa0");
    EXPECT_EQ(shortened("\xff\xc3 \xed\xa0\x80 \xc0\x80"), "?? ??? ??");
    EXPECT_EQ(shortened(std::string(200, 'x')), std::string(200, 'x'));
    EXPECT_EQ(shortened(std::string(201, 'x')), std::string(200, 'x') + "...");
    EXPECT_EQ(shortened("ab\xc3\xa9", 3), "ab...") << "a character is not cut in two";
    EXPECT_EQ(shortened(""), "");
}

TEST(Shortened, KnowsUtf8) {
    EXPECT_TRUE(is_utf8(""));
    EXPECT_TRUE(is_utf8("\xf4\x8f\xbf\xbf"));
    for (const char* text : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                             "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "a\xff"})
        EXPECT_FALSE(is_utf8(text)) << shortened(text);
}

}  // namespace
}  // namespace cambrian

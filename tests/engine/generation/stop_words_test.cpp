#include "cambrian/engine/generation/stop_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

/// All that is given of a text in pieces of a size.
std::string given(std::vector<std::string> words, std::string_view text, std::size_t size,
                  bool found) {
    StopWords stop(std::move(words));
    std::string result;
    for (std::size_t at = 0; at < text.size(); at += size)
        result += stop.add(text.substr(at, size));
    EXPECT_EQ(stop.found(), found) << text << " by " << size;
    return result + stop.finish();
}

TEST(StopWords, EndATextBeforeTheFirstWhereverPiecesEnd) {
    for (std::size_t size = 1; size < 12; ++size) {
        EXPECT_EQ(given({"end", "nd of"}, "the end of it", size, true), "the ");
        EXPECT_EQ(given({"abc", "b"}, "abc", size, true), "a");
        EXPECT_EQ(given({"\n\n"}, "a\nb\n\nc", size, true), "a\nb");
        EXPECT_EQ(given({"aab"}, "aaaab", size, true), "aa");
        EXPECT_EQ(given({"aab"}, "aaaa", size, false), "aaaa");
        EXPECT_EQ(given({}, "all of it", size, false), "all of it");
    }
}

TEST(StopWords, HoldBackOnlyWhatMayBecomeAWord) {
    StopWords stop({"stop"});
    EXPECT_EQ(stop.add("do st"), "do ");
    EXPECT_EQ(stop.add("ep st"), "step ");
    EXPECT_EQ(stop.add("op it"), "");
    EXPECT_TRUE(stop.found());
    EXPECT_EQ(stop.add("more"), "");
    EXPECT_EQ(stop.finish(), "");
}

TEST(StopWords, AnEmptyWordIsRefused) {
    EXPECT_THROW(StopWords({"a", ""}), ConfigError);
}

}  // namespace
}  // namespace cambrian

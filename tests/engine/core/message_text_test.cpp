#include "cambrian/engine/core/message_text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace cambrian {
namespace {

constexpr std::array<std::string_view, 4> names{"layers", "grid", "link_add_rate", "links"};

TEST(NearestName, ForgivesFewEdits) {
    EXPECT_EQ(nearest_name("layer", names), "layers");
    EXPECT_EQ(nearest_name("lyaers", names), "layers");
    EXPECT_EQ(nearest_name("gird", names), "grid");
    EXPECT_EQ(nearest_name("grid", names), "grid");
    EXPECT_EQ(nearest_name("link_ad_rat", names), "link_add_rate");
}

TEST(NearestName, CountsASwapAsOneEdit) {
    constexpr std::array<std::string_view, 2> close{"abdc", "axyd"};
    EXPECT_EQ(nearest_name("abcd", close), "abdc");
}

TEST(NearestName, TellsNothingAboutStrangers) {
    EXPECT_FALSE(nearest_name("zebra", names));
    EXPECT_FALSE(nearest_name("", names));
    EXPECT_FALSE(nearest_name(std::string(100'000, 'x'), names));
    EXPECT_FALSE(nearest_name("grid", {}));
}

TEST(Nearest, SuggestsForAMessage) {
    const std::vector<std::string> candidates{"layers", "grid"};
    EXPECT_EQ(nearest_hint("gird", candidates), "did you mean \"grid\"?");
    EXPECT_EQ(nearest_hint("zebra", candidates), "use one of these");
    const std::vector<std::string> raw{"a\x1B[2Jb"};  // Of a file: it must not steer a terminal.
    EXPECT_EQ(nearest_hint("a\x1B[2Jc", raw), "did you mean \"a?[2Jb\"?");
    EXPECT_EQ(joined(candidates), "layers, grid");
    EXPECT_EQ(joined(std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace cambrian

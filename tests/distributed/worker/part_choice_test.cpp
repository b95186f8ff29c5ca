#include "cambrian/distributed/worker/part_choice.hpp"

#include <gtest/gtest.h>

#include <functional>

// In how many parts a shard is evaluated: what is faster stays, what is slower is dropped.
namespace cambrian::distributed {
namespace {

constexpr std::size_t min_births = 4096;

/// The choice after so many shards of `births` that take `seconds(parts)`, and its turns.
std::size_t settled(PartChoice& choice, std::size_t births, int shards,
                    const std::function<double(std::size_t parts)>& seconds) {
    for (int i = 0; i < shards; ++i) choice.note(births, seconds(choice.parts(births)));
    return choice.parts(births);
}

TEST(PartChoice, BeginsWhole) {
    const PartChoice choice({min_births, 0});
    EXPECT_EQ(choice.parts(1), 1U);
    EXPECT_EQ(choice.parts(1'000'000), 1U);
}

TEST(PartChoice, FindsTheFastest) {
    // A host of 8 ms before a device of 8 ms that loses half a millisecond for each part.
    const auto seconds = [](std::size_t parts) {
        return 8.0 / static_cast<double>(parts) + 8.0 + 0.5 * static_cast<double>(parts);
    };
    PartChoice choice({min_births, 0});
    EXPECT_EQ(settled(choice, 100'000, 40, seconds), 4U);
    int others = 0;
    for (int i = 0; i < 10'000; ++i) {
        others += choice.parts(100'000) == 4 ? 0 : 1;
        choice.note(100'000, seconds(choice.parts(100'000)));
    }
    EXPECT_LE(others, 150) << "what is slower is tried too often";
}

TEST(PartChoice, StaysWholeWhereEachPartTakesAsLong) {
    PartChoice choice({min_births, 0});
    const auto seconds = [](std::size_t parts) { return 2.0 + 4.0 * static_cast<double>(parts); };
    EXPECT_EQ(settled(choice, 10'000, 20, seconds), 1U);
}

// As where poles are balanced longer from generation to generation.
TEST(PartChoice, IsNotMisledByShardsThatTakeLongerAndLonger) {
    for (const double growth : {1.05, 0.95}) {
        PartChoice choice({min_births, 0});
        double work = 1.0;
        const auto seconds = [&](std::size_t parts) {
            work *= growth;
            return work * (1.0 + 0.06 * static_cast<double>(parts));
        };
        EXPECT_EQ(settled(choice, 10'000, 100, seconds), 1U) << growth;
    }
}

TEST(PartChoice, BeginsWithAsManyPartsAsItsSettingsSay) {
    PartChoice choice({1024, 16384});
    EXPECT_EQ(choice.parts(10'000), 1U);
    EXPECT_EQ(choice.parts(40'000), 2U);
    EXPECT_EQ(choice.parts(1'000'000), 4U);
    const auto flat = [](std::size_t) { return 1.0; };
    EXPECT_EQ(settled(choice, 40'000, 100, flat), 2U);
}

TEST(PartChoice, EndsATryThatIsInVain) {
    PartChoice choice({min_births, 0});
    int others = 0;
    const auto loses = [](std::size_t parts) { return static_cast<double>(parts); };
    for (int i = 0; i < 30; ++i) {
        others += choice.parts(100'000) == 1 ? 0 : 1;
        choice.note(100'000, loses(choice.parts(100'000)));
    }
    EXPECT_EQ(others, 2);
}

TEST(PartChoice, FollowsWhatChanges) {
    PartChoice choice({min_births, 0});
    const auto gains = [](std::size_t parts) { return 16.0 / static_cast<double>(parts) + 1.0; };
    const auto loses = [](std::size_t parts) { return static_cast<double>(parts); };
    EXPECT_EQ(settled(choice, 100'000, 60, gains), PartChoice::max_parts);
    EXPECT_EQ(settled(choice, 100'000, 400, loses), 1U);
    EXPECT_EQ(settled(choice, 100'000, 4'000, gains), PartChoice::max_parts);
}

TEST(PartChoice, PartsHaveAtLeastSoManyBirths) {
    PartChoice choice({min_births, 0});
    const auto gains = [](std::size_t parts) { return 16.0 / static_cast<double>(parts); };
    EXPECT_EQ(settled(choice, 1'000'000, 60, gains), PartChoice::max_parts);
    EXPECT_EQ(choice.parts(2 * min_births - 1), 1U);
    EXPECT_EQ(choice.parts(3 * min_births), 3U);
    // Small ones tell nothing.
    for (int i = 0; i < 100; ++i) choice.note(100, 1e9);
    EXPECT_EQ(choice.parts(1'000'000), PartChoice::max_parts);
}

}  // namespace
}  // namespace cambrian::distributed

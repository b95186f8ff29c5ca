#include "cambrian/evolve/runs/run_log.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::distributed {
namespace run_log_tests {
namespace {

using cambrian::test::TemporaryDirectory;
using ::testing::HasSubstr;

TEST(LogReader, ReadsALongLogByRows) {
    const TemporaryDirectory directory;
    std::string text = "generation,best\n";
    constexpr int rows = 150'000;
    for (int i = 0; i < rows; ++i) text += fmt::format("{},{}\n", i, 3 * i);
    ASSERT_GT(text.size(), std::size_t{3} << 19U) << "more than is read at once";
    LogReader log(directory.write("log.csv", text + "150000,4"));
    const std::size_t best = log.at("best");
    int count = 0;
    while (const auto row = log.next()) {
        ASSERT_EQ(log.generation(), count);
        ASSERT_EQ((*row)[best], 3.0 * count);
        ++count;
    }
    EXPECT_EQ(count, rows) << "a line without an end is still being written";
    EXPECT_FALSE(log.next());
}

TEST(LogReader, TellsEmptyCellsAndInfiniteNumbers) {
    const TemporaryDirectory directory;
    LogReader log(directory.write("log.csv", "a,b,c\n,-inf,\n"));
    EXPECT_FALSE(log.find("d"));
    const auto row = log.next();
    ASSERT_TRUE(row);
    EXPECT_TRUE(std::isnan((*row)[0]) && std::isnan((*row)[2]));
    EXPECT_EQ((*row)[1], -std::numeric_limits<double>::infinity());
    LogReader empty(directory.write("empty.csv", ""));
    EXPECT_TRUE(empty.columns().empty());
    EXPECT_FALSE(empty.next());
}

TEST(LogReader, RefusesWhatIsNoLog) {
    const TemporaryDirectory directory;
    const auto refused = [&](const std::string& text, const std::string& why) {
        try {
            LogReader log(directory.write("log.csv", text));
            while (log.next()) static_cast<void>(log.generation());
            ADD_FAILURE() << why;
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), HasSubstr(why));
        }
    };
    refused("a,b,a\n", "log.csv:1: two columns are named a");
    refused("generation,a\n1,2\n3\n", "line 3 has 1 cells (the header has 2)");
    refused("generation\n1,2\n", "line 2 holds \"2\" (no number of a column)");
    refused("generation\n1\nx\n", "line 3 holds \"x\"");
    refused("a\n1\n", "has no column generation");
    refused("generation\n2\n1\n", "holds generation 1 after 2 (generations rise)");
    refused("generation\n" + std::string(std::size_t{3} << 20U, '1'),
            "line 2 has more than 1048576 bytes");
}

}  // namespace
}  // namespace run_log_tests
}  // namespace cambrian::distributed

#include "cambrian/distributed/worker/rank_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace rank_log_test {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(RankLog, ARefusedJobWritesIntoNoOtherRun) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    const EvolutionDirectory first(experiment.directory, 3);
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.ranks = 3})); },
                ThrowsMessage<ConfigError>(HasSubstr("is in use")));
    EXPECT_FALSE(fs::exists(experiment.directory / "logs"));
}

TEST(RankLog, LinesWaitForTheRunToBegin) {
    const TemporaryDirectory place;
    const fs::path path = place.path() / "logs" / "rank-3.log";
    RankLog log(place.path(), 3);
    log.line("early");
    EXPECT_FALSE(fs::exists(path));
    log.begin();
    log.line("late");
    EXPECT_THAT(text_of(path), testing::ContainsRegex("early\n.*late\n"));
    testing::internal::CaptureStderr();
    { RankLog(place.path(), 4).line("in vain"); }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "rank 4: in vain\n");
    EXPECT_FALSE(fs::exists(place.path() / "logs" / "rank-4.log"));
}

TEST(RankLog, MakesNoDirectoryAnewThatWasMovedAway) {
    const TemporaryDirectory place;
    RankLog log(place.path() / "run", 3);
    log.begin();
    fs::rename(place.path() / "run", place.path() / "moved");
    RankLog next(place.path() / "run", 3);
    testing::internal::CaptureStderr();
    log.line("late");
    next.go_on();
    next.line("later");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, testing::AllOf(HasSubstr("late"), testing::Not(HasSubstr("later"))));
    EXPECT_FALSE(fs::exists(place.path() / "run"));
    fs::rename(place.path() / "moved", place.path() / "run");
    next.line("found again");
    EXPECT_THAT(text_of(place.path() / "run/logs/rank-3.log"), HasSubstr("found again"));
}

TEST(RankLog, FollowsNoLink) {
    const TemporaryDirectory place;
    const fs::path victim = place.path() / "victim";
    std::ofstream(victim) << "precious";
    fs::create_directory(place.path() / "logs");
    fs::create_symlink(victim, place.path() / "logs" / "rank-3.log");
    testing::internal::CaptureStderr();
    {
        RankLog log(place.path(), 3);
        log.begin();
        log.line("text");
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("symbolic link"));
    EXPECT_EQ(text_of(victim), "precious");
}

}  // namespace rank_log_test
}  // namespace cambrian::distributed

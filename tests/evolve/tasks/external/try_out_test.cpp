#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/external/try_out.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string answers_hello =
    R"(read hello; echo '{"protocol": 1, "observations": 1, "actions": 1}'; )";

Blueprint tried_network() {
    return blueprint_from_json({{"layers", {{{"type", "dense"}}}}}, 1, 1);
}

/// What is tried of a program for the shell.
std::string tried(const std::string& script, nlohmann::json keys = nlohmann::json::object()) {
    keys.update({{"type", "external"}, {"command", {"sh", "-c", script}}});
    return standard_tasks().make(keys, {})->try_out(tried_network());
}

TEST(TryOut, PlaysAnEpisodeToItsEnd) {
    const std::string reset =
        R"(read reset; case $reset in '{"reset":[{"world":0,"network":0,"episode":0,"seed":'*',"individual":0}],"phase":"train","round":0}') ;; *) exit 8;; esac; echo '{"observations": [[1]]}'; )";
    const std::string step =
        R"(read step; [ "$step" = '{"step":[0],"actions":[[0.0]]}' ] || exit 7; echo '{"observations": [[5]], "rewards": [1], "done": [true]}')";
    EXPECT_EQ(tried(answers_hello + reset + step), "an episode of 1 step, with actions of 0");
}

TEST(TryOut, PlaysTheBeginOfALongEpisode) {
    const std::string script =
        answers_hello +
        R"(read reset; echo '{"observations": [[1]]}'; while read step; do echo '{"observations": [[5]], "rewards": [1], "done": [false]}'; done)";
    EXPECT_EQ(tried(script), "the first 20 steps of an episode, with actions of 0");
    EXPECT_EQ(tried(script, {{"steps", 3}}), "an episode of 3 steps, with actions of 0");
}

TEST(TryOut, AsksAboutANetwork) {
    const std::string script =
        R"(read hello; echo '{"protocol": 1, "level": "network", "observations": 1, "actions": 1}'
        read judge; case $judge in *'"seeds":['*','*'],'*) ;; *) exit 8;; esac; echo '{"fitness": [2]}')";
    EXPECT_EQ(tried(script, {{"level", "network"}, {"episodes", 2}}), "one network");
}

TEST(TryOut, TellsWhatFails) {
    EXPECT_THAT([] { static_cast<void>(tried(answers_hello + "read reset; exit 7")); },
                ThrowsMessage<ConfigError>(
                    AllOf(HasSubstr("task.command: when sh was tried once"), HasSubstr("code 7"))));
    EXPECT_THAT(
        [] {
            static_cast<void>(tried(answers_hello + "read reset; read end", {{"seconds", 0.1}}));
        },
        ThrowsMessage<ConfigError>(HasSubstr("no answer in time")));
}

TEST(TryOut, IsNotPatientForLong) {
    ProgramPool pool({.command = {"sh", "-c", answers_hello + "read reset; read end"},
                      .directory = "",
                      .seconds = 60.0},
                     1, nullptr);
    const TryOut asked{.episodes = {.seeds = {1}, .steps = 5, .phase = "train"}, .seconds = 0.1};
    EXPECT_EQ(try_out(pool, asked, tried_network()),
              "nothing to its end: no answer came within 0.1 s (task.seconds is 60)");
}

TEST(TryOut, AllMessagesShareItsTime) {
    const std::string slow =
        answers_hello +
        R"(read reset; echo '{"observations": [[1]]}'; while read step; do sleep 0.4; echo '{"observations": [[5]], "rewards": [1], "done": [false]}'; done)";
    ProgramPool pool({.command = {"sh", "-c", slow}, .directory = "", .seconds = 60.0}, 1, nullptr);
    const TryOut asked{.episodes = {.seeds = {1}, .steps = 1000, .phase = "train"}, .seconds = 1.0};
    EXPECT_THAT(try_out(pool, asked, tried_network()),
                HasSubstr("of an episode, with actions of 0: no further answer came within "
                          "1 s (task.seconds is 60)"));
}

/// Networks that answer 0.
class ZeroNetworks final : public Population {
  public:
    [[nodiscard]] std::size_t size() const override { return 64; }
    [[nodiscard]] std::vector<float> outputs(std::span<const float>, std::int64_t batch) override {
        return step({}, batch);
    }
    [[nodiscard]] std::vector<float> step(std::span<const float>, std::int64_t batch) override {
        return std::vector<float>(size() * static_cast<std::size_t>(batch), 0.0F);
    }
    void reset() override {}
    void reset(std::span<const std::uint8_t>) override {}
};

TEST(ProgramPool, AMistakeIsToldAFewTimes) {
    std::vector<std::string> warnings;
    ::testing::internal::CaptureStderr();
    const auto task = standard_tasks().make(
        {{"type", "external"},
         {"command", {"sh", "-c", answers_hello + "read reset; echo boom >&2; exit 7"}}},
        {.base_directory = "", .warn = [&](const std::string& text) { warnings.push_back(text); }});
    ZeroNetworks networks;
    EXPECT_THROW(static_cast<void>(task->evaluate(networks, Phase::train, 1, 0)), InputError);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "boom\nboom\nboom\nboom\n");
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("its standard error is hidden until it works"),
                                      HasSubstr("a network gets the worst fitness")));
}

TEST(ProgramPool, AMistakeIsToldOnceThoughItsLastWordsDiffer) {
    const testing::TemporaryFolder place;
    const std::string script = answers_hello + "read reset; echo start >> '" + place.path() +
                               "/starts'; echo \"at $(grep -c start '" + place.path() +
                               "/starts')\" >&2; exit 7";
    std::vector<std::string> warnings;
    const auto task = standard_tasks().make(
        {{"type", "external"}, {"command", {"sh", "-c", script}}},
        {.base_directory = "", .warn = [&](const std::string& text) { warnings.push_back(text); }});
    ZeroNetworks networks;
    ::testing::internal::CaptureStderr();
    EXPECT_THAT(testing::message_of<InputError>(
                    [&] { static_cast<void>(task->evaluate(networks, Phase::train, 1, 0)); }),
                AllOf(HasSubstr("it failed 40 times"), HasSubstr("\"at 40\"")));
    static_cast<void>(::testing::internal::GetCapturedStderr());
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("its standard error is hidden until it works"),
                                      AllOf(HasSubstr("a network gets"), HasSubstr("\"at 8\""))));
}

/// More than a pipe holds, while nobody looks.
TEST(ProgramPool, AHiddenProgramMayWriteMuch) {
    const std::string script =
        "head -c 300000 /dev/zero >&2; " + answers_hello + "head -c 300000 /dev/zero >&2; exit 5";
    ExternalProgram program({.command = {"sh", "-c", script}, .directory = ""},
                            ErrorOutput::hidden);
    program.send_reset({}, "train", 0);
    EXPECT_THAT(
        testing::message_of<ChildFailure>([&] { static_cast<void>(program.receive_reset(1)); }),
        HasSubstr("exit code 5"));
}

TEST(ProgramPool, DoesNotTellWithoutEnd) {
    std::vector<std::string> warnings;
    ProgramPool pool({.command = {"sh", "-c", answers_hello + "read end"}, .directory = ""}, 1,
                     [&](const std::string& text) { warnings.push_back(text); });
    for (int i = 0; i < 1000; ++i) pool.warn("seed " + std::to_string(i / 2));
    ASSERT_EQ(warnings.size(), 101U);
    EXPECT_EQ(warnings[99], "seed 99");
    EXPECT_EQ(warnings[100], "100 different warnings were told: further ones are not");
}

TEST(ProgramPool, AProgramThatWorksIsHeardAgain) {
    ProgramPool pool({.command = {"sh", "-c", answers_hello + "read end"}, .directory = ""}, 1,
                     nullptr);
    for (int i = 0; i < 4; ++i) pool.note_failure();
    std::unique_ptr<ExternalProgram> hidden = pool.start();
    EXPECT_EQ(hidden->errors(), ErrorOutput::hidden);
    pool.give_back(std::move(hidden));
    EXPECT_EQ(pool.start()->errors(), ErrorOutput::shown);
}

}  // namespace
}  // namespace cambrian::evolve

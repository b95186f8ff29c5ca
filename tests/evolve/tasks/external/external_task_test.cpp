#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/external/child_process.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Not;

/// Networks that answer with their own number, whatever they see.
class NumberedNetworks final : public Population {
  public:
    explicit NumberedNetworks(std::vector<float> numbers) : numbers_(std::move(numbers)) {}
    [[nodiscard]] std::size_t size() const override { return numbers_.size(); }
    [[nodiscard]] std::vector<float> outputs(std::span<const float>, std::int64_t batch) override {
        return step({}, batch);
    }
    [[nodiscard]] std::vector<float> step(std::span<const float> observations,
                                          std::int64_t batch) override {
        seen_.emplace_back(observations.begin(), observations.end());
        std::vector<float> outputs;
        for (const float number : numbers_)
            outputs.insert(outputs.end(), static_cast<std::size_t>(batch), number);
        return outputs;
    }
    void reset() override { seen_.clear(); }
    void reset(std::span<const std::uint8_t>) override {}
    [[nodiscard]] const std::vector<std::vector<float>>& seen() const { return seen_; }

  private:
    std::vector<float> numbers_;
    std::vector<std::vector<float>> seen_;
};

const std::string folder = CAMBRIAN_SOURCE_DIR "/tests/evolve/tasks/external";

struct Made {
    std::vector<std::string> warnings;
    std::unique_ptr<Task> task;
};

nlohmann::json settings(std::vector<std::string> command) {
    return {{"type", "external"}, {"command", std::move(command)}, {"episodes", 2}};
}

std::unique_ptr<Made> make(const nlohmann::json& json) {
    auto made = std::make_unique<Made>();
    made->task = standard_tasks().make(
        json, {.base_directory = folder,
               .warn = [&](const std::string& text) { made->warnings.push_back(text); }});
    return made;
}

/// Seconds that no program needs.
constexpr double patience = 60.0;

std::vector<std::string> simulator(const std::string& mode) {
    return {"python3", "-I", "-S", "misbehaving.py", mode};
}

std::unique_ptr<Made> misbehaving(const std::string& mode, double seconds = patience) {
    nlohmann::json json = settings(simulator(mode));
    json["seconds"] = seconds;
    return make(json);
}

std::vector<double> evaluate(const Task& task, Population& population) {
    return task.evaluate(population, Phase::train, 1, 0);
}

TEST(ExternalTask, IsWhatTheProgramSays) {
    const auto made = misbehaving("well");
    const TaskSignature signature = made->task->signature();
    EXPECT_EQ(signature.observations, 1);
    EXPECT_EQ(signature.outputs, 1);
    EXPECT_TRUE(signature.host);
    EXPECT_TRUE(signature.time);
    EXPECT_THAT(made->task->notes()[0], HasSubstr("sees x as observations and takes a as actions"));
}

TEST(ExternalTask, FitnessIsTheMeanOfTheSumsOfRewards) {
    const auto made = misbehaving("well");
    NumberedNetworks networks({1, 2.5, -3});
    EXPECT_THAT(evaluate(*made->task, networks), ElementsAre(1, 2.5, -3));
    EXPECT_THAT(networks.seen(), ElementsAre(std::vector<float>(6, 0.0F)));
}

/// A program written for the shell, so that the messages themselves are held to the protocol.
TEST(ExternalTask, SpeaksTheProtocol) {
    const std::string script = R"(
read hello; echo "$hello" >&2
case $hello in *'"settings": {"gravity":9.8}'*) ;; *) exit 9;; esac
echo '{"protocol": 1, "observations": 2, "actions": ["push"]}'
read reset
case $reset in '{"reset": [{"world": 0, "network": 0, "episode": 0, "seed": '*'}, {"world": 1, '*'"phase": "train", "round": 7}') ;; *) exit 8;; esac
echo '{"observations": [[1, 2], [3, 4]]}'
read step; [ "$step" = '{"step": [0, 1], "actions": [[0.5], [0.5]]}' ] || exit 7
echo '{"observations": [[5, 6], [7, 8]], "rewards": [1, 2], "done": [true, false]}'
read step; [ "$step" = '{"step": [1], "actions": [[0.5]]}' ] || exit 6
echo '{"observations": [[9, 9]], "rewards": [4], "done": [true]}'
)";
    nlohmann::json json = settings({"sh", "-c", script});
    json["settings"] = {{"gravity", 9.8}};
    const auto made = make(json);
    NumberedNetworks networks({0.5F});
    EXPECT_THAT(made->task->evaluate(networks, Phase::train, 1, 7), ElementsAre(3.5));
    EXPECT_THAT(networks.seen(), ElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(5, 6, 7, 8)));
}

TEST(ExternalTask, SeveralProgramsGiveTheSame) {
    nlohmann::json json = settings(simulator("well"));
    json["processes"] = 3;
    const auto made = make(json);
    NumberedNetworks networks({1, 2, 3, 4, 5});
    EXPECT_THAT(evaluate(*made->task, networks), ElementsAre(1, 2, 3, 4, 5));
    NumberedNetworks few({7, 8});
    EXPECT_THAT(evaluate(*made->task, few), ElementsAre(7, 8));
}

TEST(ExternalTask, ActionsThatAreNoNumbersAreAskedOfNobody) {
    const auto made = misbehaving("well");
    NumberedNetworks networks({1, std::nanf(""), 3});
    const std::vector<double> fitness = evaluate(*made->task, networks);
    EXPECT_EQ(fitness[0], 1);
    EXPECT_TRUE(std::isnan(fitness[1]));
    EXPECT_EQ(fitness[2], 3);
    EXPECT_TRUE(made->warnings.empty());
}

TEST(ExternalTask, EpisodesEndWithTheirSteps) {
    const std::string script = R"(
read hello; echo '{"protocol": 1, "observations": 1, "actions": 1}'
read reset; echo '{"observations": [[0], [0]]}'
while read step; do echo '{"observations": [[0], [0]], "rewards": [1, 1], "done": [false, false]}'; done
)";
    nlohmann::json json = settings({"sh", "-c", script});
    json["steps"] = 4;
    NumberedNetworks networks({0});
    EXPECT_THAT(evaluate(*make(json)->task, networks), ElementsAre(4));
}

/// What a program does wrong at its start is a mistake of the config: nothing was evolved yet.
std::string refusal_at_the_start(const char* mode, double seconds) {
    nlohmann::json json = settings(simulator(mode));
    json["command"].push_back("hello");
    json["seconds"] = seconds;
    try {
        static_cast<void>(make(json));
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "nothing was refused";
}

TEST(ExternalTask, MistakesAtTheStartAreTold) {
    const std::vector<std::pair<const char*, const char*>> ways{
        {"exit", "exit code 3"},
        {"signal", "signal 9"},
        {"garbage", "Traceback"},
        {"empty", "is not understood"},
        {"list", "no JSON object"},
        {"protocol", "protocol 99"},
        {"names", "neither a count nor different names"},
        {"nothing", "neither a count"},
        {"error", "out of coffee"},
        {"binary", "is not understood"},
        {"nested", "is not understood"},
        {"null", "neither a count"},
        {"endless", "above 64 MiB"}};
    for (const auto& [mode, told] : ways)
        EXPECT_THAT(refusal_at_the_start(mode, patience), HasSubstr(told)) << mode;
    for (const char* mode : {"hang", "half", "close"})
        EXPECT_THAT(refusal_at_the_start(mode, 0.5), HasSubstr("no answer in time")) << mode;
}

/// One network breaks the program: the others have the fitness that they have without it.
class WithOneNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(WithOneNetwork, OnlyThatOneGetsTheWorst) {
    const auto made = misbehaving(std::string(GetParam()) + ":2", patience);
    NumberedNetworks networks({1, 2, 3});
    const std::vector<double> fitness = evaluate(*made->task, networks);
    EXPECT_EQ(fitness[0], 1);
    EXPECT_TRUE(std::isnan(fitness[1]));
    EXPECT_EQ(fitness[2], 3);
    EXPECT_THAT(made->warnings, ElementsAre(HasSubstr("a network gets the worst fitness")));
    EXPECT_THAT(made->warnings, Each(Not(HasSubstr("in time"))));
}
INSTANTIATE_TEST_SUITE_P(Ways, WithOneNetwork,
                         ::testing::Values("exit", "signal", "garbage", "empty", "list", "nan",
                                           "huge", "infinite", "binary", "nested", "few", "many",
                                           "wide", "text", "null", "twice", "error"));

class Silent : public ::testing::TestWithParam<const char*> {};

TEST_P(Silent, ProgramsAreEndedInTime) {
    const auto made = misbehaving(GetParam(), 1.0);
    NumberedNetworks network({1});
    EXPECT_THAT(evaluate(*made->task, network), ElementsAre(IsNan()));
    EXPECT_THAT(made->warnings, ElementsAre(HasSubstr("no answer in time")));
}
INSTANTIATE_TEST_SUITE_P(Ways, Silent, ::testing::Values("hang", "half", "stop", "close"));

TEST(ExternalTask, AProgramThatAlwaysFailsEndsTheShard) {
    const auto made = misbehaving("exit");
    NumberedNetworks networks(std::vector<float>(64, 1.0F));
    EXPECT_THROW(static_cast<void>(evaluate(*made->task, networks)), ChildFailure);
}

TEST(ExternalTask, SettingsAreChecked) {
    const auto refused = [](nlohmann::json json, const char* why) {
        try {
            static_cast<void>(make(json));
            ADD_FAILURE() << json;
        } catch (const ConfigError& error) {
            EXPECT_THAT(error.what(), HasSubstr(why));
        }
    };
    refused(settings({}), "there is no program to start");
    refused(settings({"no-such-program-anywhere"}), "could not be started");
    nlohmann::json json = settings(simulator("well"));
    json["settings"] = 3;
    refused(json, "put its settings into braces");
    json = settings(simulator("well"));
    json["seconds"] = 0;
    refused(json, "task.seconds");
}

}  // namespace
}  // namespace cambrian::evolve

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/external/child_process.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/tests/evolve/support/external_support.hpp"
#include "cambrian/tests/support/all_cases.hpp"

namespace cambrian::evolve::external_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Not;

TEST(ExternalTask, IsWhatTheProgramSays) {
    const auto made = misbehaving("well");
    const TaskSignature signature = made->task->signature();
    EXPECT_EQ(signature.observations, 1);
    EXPECT_EQ(signature.outputs, 1);
    EXPECT_TRUE(signature.host);
    EXPECT_TRUE(signature.time);
    EXPECT_THAT(made->task->notes()[0],
                HasSubstr("steps worlds with x as observations and a as actions"));
}

/// Processes that this one has started and that have not ended.
std::ptrdiff_t children() {
    std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
    return std::distance(std::istream_iterator<int>(list), {});
}

TEST(ExternalTask, KeepsNoMoreProgramsThanWorkAtATime) {
    const std::ptrdiff_t before = children();
    {
        const auto made = misbehaving("exit:2");
        NumberedNetworks networks({1, 3, 4, 2, 5, 6, 7, 8});
        for (int i = 0; i < 3; ++i) {
            const std::vector<double> fitness = evaluate(*made->task, networks);
            EXPECT_TRUE(std::isnan(fitness[3]));
            EXPECT_EQ(fitness[7], 8);
            EXPECT_EQ(children(), before + 1);
        }
    }
    EXPECT_EQ(children(), before);
}

/// JSON has no words for them, so no program is asked in any frames.
TEST(ExternalTask, NetworksOfNumbersThatAreNotFiniteGetTheWorstFitness) {
    for (const char* frames : {"json", "msgpack"}) {
        const auto made = misbehaving(Speech{"network", frames}, "well");
        NumberedNetworks networks({1, std::numeric_limits<float>::infinity(), 3, NAN});
        EXPECT_THAT(evaluate(*made->task, networks), ElementsAre(1, IsNan(), 3, IsNan()));
        EXPECT_THAT(made->warnings, ElementsAre());
    }
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
case $hello in '{"cambrian":{"protocol":1,"version":'*',"level":"policy","frames":"json"},"settings":{"gravity":9.8}}') ;; *) exit 9;; esac
echo '{"protocol": 1, "observations": 2, "actions": ["push"]}'
read reset
case $reset in '{"reset":[{"world":0,"network":0,"episode":0,"seed":'*',"individual":100},{"world":1,'*'"phase":"train","round":7}') ;; *) exit 8;; esac
echo '{"observations": [[1, 2], [3, 4]]}'
read step; [ "$step" = '{"step":[0,1],"actions":[[0.10000000149011612],[0.10000000149011612]]}' ] || exit 7
echo '{"observations": [[5, 6], [7, 8]], "rewards": [1, 2], "done": [true, false]}'
read step; [ "$step" = '{"step":[1],"actions":[[0.10000000149011612]]}' ] || exit 6
echo '{"observations": [[9, 9]], "rewards": [4], "done": [true]}'
)";
    nlohmann::json json = settings({"sh", "-c", script});
    json["settings"] = {{"gravity", 9.8}};
    const auto made = make(json);
    NumberedNetworks networks({0.1F});
    EXPECT_THAT(made->task->evaluate(networks, Phase::train, 1, 7), ElementsAre(3.5));
    EXPECT_THAT(networks.seen(), ElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(5, 6, 7, 8)));
}

TEST(ExternalTask, GivesMessagesIdsWhereAnswersRepeatThem) {
    const std::string script = R"(
read hello; echo '{"protocol": 1, "ids": true, "observations": 1, "actions": 1}'
read reset
case $reset in '{"reset":['*'],"phase":"train","round":7,"id":1}') ;; *) exit 8;; esac
echo '{"id": 1, "observations": [[1], [3]]}'
read step; [ "$step" = '{"step":[0,1],"actions":[[0.5],[0.5]],"id":2}' ] || exit 7
echo '{"observations": [[5], [7]], "rewards": [1, 2], "done": [true, true], "id": 2}'
)";
    const auto made = make(settings({"sh", "-c", script}));
    NumberedNetworks networks({0.5F});
    EXPECT_THAT(made->task->evaluate(networks, Phase::train, 1, 7), ElementsAre(1.5));
    EXPECT_THAT(made->warnings, ElementsAre());
}

TEST(ExternalTask, SpeaksOfNetworks) {
    const std::string script = R"(
read hello
case $hello in *'"level":"network"'*) ;; *) exit 9;; esac
echo '{"protocol": 1, "level": "network", "observations": 1, "actions": 1}'
read judge; echo "$judge" >&2
case $judge in '{"judge":[{"network":0,"individual":100,"structure":{"input_features":1,"output_features":1,'*'"head":{"type":"dense",'*'},"tensors":[{"name":"head.weight","shape":[1,1],"values":[0.25]},{"name":"head.bias","shape":[1],"values":[0.5]}]}],"seeds":['*','*'],"phase":"validation","round":7}') ;; *) exit 8;; esac
echo '{"fitness": [-2.5]}'
)";
    nlohmann::json json = settings({"sh", "-c", script});
    json["level"] = "network";
    json["validation"] = {{"episodes", 2}};
    const auto made = make(json);
    EXPECT_THAT(made->task->notes()[0],
                HasSubstr("judges networks with 1 observations and 1 actions"));
    NumberedNetworks networks({0.5F});
    EXPECT_THAT(made->task->evaluate(networks, Phase::validation, 1, 7), ElementsAre(-2.5));
}

/// However many are asked about at once, and by whom.
TEST(ExternalTask, NetworksAreJudgedInBatches) {
    for (const auto& [batch, processes] : {std::pair(1, 1), std::pair(2, 2), std::pair(100, 1)}) {
        nlohmann::json json = settings(simulator("well"));
        json["level"] = "network";
        json["frames"] = "msgpack";
        json["batch"] = batch;
        json["processes"] = processes;
        const auto made = make(json);
        NumberedNetworks networks({1, 2.5, -3, 4, 0.1F});
        EXPECT_THAT(evaluate(*made->task, networks), ElementsAre(1, 2.5, -3, 4, 0.1F));
    }
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
    EXPECT_EQ(networks.steps(), 2U * 4U);
}

/// What a program does wrong at its start is a mistake of the config: nothing was evolved yet.
std::string refusal_at_the_start(const char* mode, double seconds,
                                 const Speech& speech = {"policy", "json"}) {
    nlohmann::json json = settings(simulator(mode));
    json["command"].push_back("hello");
    json["seconds"] = seconds;
    json["level"] = speech.level;
    json["frames"] = speech.frames;
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
        {"level", "has level dance (task.level is policy)"},
        {"frames", "has frames smoke (task.frames is json)"},
        {"ids", "has 3 in \"ids\" (neither true nor false)"},
        {"endless", "above 64 MiB"}};
    for (const auto& [mode, told] : ways)
        EXPECT_THAT(refusal_at_the_start(mode, patience), HasSubstr(told)) << mode;
    for (const char* mode : {"hang", "half", "close"})
        EXPECT_THAT(refusal_at_the_start(mode, 0.5), HasSubstr("no answer in time")) << mode;
}

/// One that knows nothing of levels and frames steps worlds, and speaks JSON.
TEST(ExternalTask, WhatAProgramCannotIsToldAtTheStart) {
    const std::string script =
        R"(read hello; echo '{"protocol": 1, "observations": 1, "actions": 1}'; read end)";
    const auto refusal = [&](const char* key, const char* value) -> std::string {
        nlohmann::json json = settings({"sh", "-c", script});
        json[key] = value;
        try {
            static_cast<void>(make(json));
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "nothing was refused";
    };
    EXPECT_THAT(refusal("level", "network"), HasSubstr("level policy (task.level is network)"));
    EXPECT_THAT(refusal("frames", "msgpack"), HasSubstr("frames json (task.frames is msgpack)"));
    EXPECT_EQ(refusal("frames", "json"), "nothing was refused");
}

/// One network breaks the program: the other has the fitness that it has without it.
using Way = std::tuple<Speech, const char*>;
class WithOneNetwork : public ::testing::TestWithParam<Way> {};

TEST_P(WithOneNetwork, OnlyThatOneGetsTheWorst) {
    const auto& [speech, mode] = GetParam();
    const auto made = misbehaving(speech, std::string(mode) + ":2");
    NumberedNetworks networks({1, 2});
    const std::vector<double> fitness = evaluate(*made->task, networks);
    EXPECT_EQ(fitness[0], 1);
    EXPECT_TRUE(std::isnan(fitness[1]));
    EXPECT_THAT(made->warnings, ElementsAre(HasSubstr("a network gets the worst fitness")));
    EXPECT_THAT(made->warnings, Each(Not(HasSubstr("in time"))));
}

/// What a program may answer wrongly, in any frames, and what only MessagePack can have.
const std::vector<const char*> wrong_answers{
    "exit",   "signal", "garbage", "empty", "list", "nan",  "infinite", "binary",
    "nested", "few",    "many",    "wide",  "text", "null", "twice",    "error"};
const std::vector<const char*> wrong_frames{"short",      "truncated",   "oversize",  "line",
                                            "lying list", "lying bytes", "lying map", "extension",
                                            "uneven",     "number key"};

/// Each in one way to speak by day, in all at night: a program is started several times for it.
std::vector<Way> ways() {
    std::vector<Way> ways;
    const auto add = [&](Speech speech, const std::vector<const char*>& modes) {
        for (const char* mode : modes) ways.emplace_back(speech, mode);
    };
    add({"policy", "json"}, wrong_answers);
    add({"policy", "json"}, {"huge", "missing"});
    add({"policy", "msgpack"}, wrong_frames);
    add({"policy", "msgpack"}, {"huge", "maybe"});
    add({"network", "json"}, {"missing"});
    if (test::all_cases()) {
        add({"policy", "msgpack"}, wrong_answers);
        add({"network", "json"}, wrong_answers);
        add({"network", "msgpack"}, wrong_answers);
        add({"network", "msgpack"}, wrong_frames);
    } else {
        add({"policy", "msgpack"}, {"few"});
        add({"network", "json"}, {"few"});
        add({"network", "msgpack"}, {"text", "short"});
    }
    return ways;
}

std::string way_name(const ::testing::TestParamInfo<Way>& info) {
    const auto& [speech, mode] = info.param;
    std::string name = std::string(speech.level) + "_" + speech.frames + "_" + mode;
    std::ranges::replace(name, ' ', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Ways, WithOneNetwork, ::testing::ValuesIn(ways()), way_name);

/// All at once: each waits for its time to pass.
TEST(ExternalTask, SilentProgramsAreEndedInTime) {
    const std::vector<Way> ways{
        {{"policy", "json"}, "hang"},     {{"policy", "json"}, "half"},
        {{"policy", "json"}, "stop"},     {{"policy", "json"}, "close"},
        {{"policy", "msgpack"}, "half"},  {{"policy", "msgpack"}, "long"},
        {{"network", "json"}, "hang"},    {{"network", "json"}, "half"},
        {{"network", "msgpack"}, "half"}, {{"network", "msgpack"}, "long"},
        {{"network", "msgpack"}, "stop"}, {{"network", "msgpack"}, "close"}};
    std::vector<std::future<void>> waiting;
    for (const auto& [speech, mode] : ways)
        waiting.push_back(std::async(std::launch::async, [speech = speech, mode = mode] {
            const auto made = misbehaving(speech, mode, 2.0);
            NumberedNetworks network({1});
            EXPECT_THAT(evaluate(*made->task, network), ElementsAre(IsNan()));
            EXPECT_THAT(made->warnings, ElementsAre(HasSubstr("no answer in time")))
                << speech.level << ' ' << speech.frames << ' ' << mode;
        }));
    for (std::future<void>& one : waiting) one.get();
}

TEST(ExternalTask, AProgramThatAlwaysFailsEndsTheShard) {
    const auto made = misbehaving("exit");
    NumberedNetworks networks(std::vector<float>(64, 1.0F));
    EXPECT_THROW(static_cast<void>(evaluate(*made->task, networks)), ChildFailure);
}

TEST(ExternalTask, OneThatFailsWithOneNetworkAfterAnotherEndsTheShard) {
    const std::string script = R"(
read hello; echo '{"protocol": 1, "observations": 1, "actions": 1}'; read reset
)";
    const auto made = make(settings({"sh", "-c", script}));
    NumberedNetworks network({1});
    int judged = 0;
    try {
        for (; judged < 1000; ++judged)
            EXPECT_THAT(evaluate(*made->task, network), ElementsAre(IsNan()));
    } catch (const ChildFailure&) {
    }
    EXPECT_GT(judged, 10);
    EXPECT_LT(judged, 100);
}

TEST(ExternalTask, AFolderThatIsGoneIsNoMissingProgram) {
    for (const std::string gone : {"/nowhere", "misbehaving.py"}) try {
            static_cast<void>(standard_tasks().make(
                settings({"sh", "-c", "exit"}),
                {.base_directory = (std::filesystem::path(folder) / gone).string(), .warn = {}}));
            ADD_FAILURE() << gone;
        } catch (const ConfigError& error) {
            EXPECT_THAT(error.what(), HasSubstr("no program can start in"));
            EXPECT_THAT(error.what(), HasSubstr("set run.base_directory"));
        }
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
    json = settings(simulator("well"));
    json["batch"] = 4;
    refused(json, "task.batch is 4 (at level policy");
    json["level"] = "network";
    json["steps"] = 100;
    refused(json, "task.steps is 100 (at level network");
    json = settings(simulator("well"));
    json["frames"] = "smoke";
    refused(json, "task.frames");
}

}  // namespace
}  // namespace cambrian::evolve::external_test

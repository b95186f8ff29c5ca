#include <gtest/gtest.h>

#include "cambrian/tests/launch/remedies/remedies_support.hpp"

// Remedies of the task whose program is somebody else's.
namespace cambrian::launch {
namespace {

using test::RemedyRow;

const std::string config = "config.json";

std::string external_config(const std::string& keys) {
    return test::task_config(
        "external", R"("command": ["sh", "program.sh"])" + (keys.empty() ? "" : ", " + keys));
}

/// A program that answers the first message so.
std::map<std::string, std::string> program(const std::string& answer) {
    return {{"program.sh", "read hello\necho '" + answer + "'\nread end\n"}};
}

const std::string policy = R"({"protocol": 1, "observations": 2, "actions": ["push"]})";
const std::string network =
    R"({"protocol": 1, "level": "network", "observations": 2, "actions": ["push"]})";
const std::string packed =
    R"({"protocol": 1, "frames": "msgpack", "observations": 2, "actions": ["push"]})";

const std::vector<RemedyRow>& rows() {
    static const std::vector<RemedyRow> table{
        {"NoCommand",
         test::task_config("external", R"("command": [])"),
         "task.command is []",
         "see 'cambrian explain task.command'",
         {{config, "[]", R"(["sh", "program.sh"])"}},
         program(policy)},
        {"CommandInOneText",
         test::task_config("external", R"("command": ["sh program.sh"])"),
         "sh program.sh could not be started",
         "give the program and its arguments as a list",
         {{config, "sh program.sh", R"(sh", "program.sh)"}},
         program(policy)},
        {"NoFolder",
         R"({"run": {"base_directory": "/nowhere"}, )" + external_config("").substr(1),
         "no program can start in /nowhere",
         "set run.base_directory to the full path",
         {{config, "/nowhere", ""}},
         program(policy)},
        {"SettingsOfAnotherKind",
         test::task_config("external", R"("command": ["sh", "program.sh"], "settings": [1])"),
         "task.settings is [1]",
         "a section {...}",
         {{config, "[1]", R"({"gravity": 1})"}},
         program(policy)},
        {"StepsOfNetworks",
         external_config(R"("level": "network", "steps": 20)"),
         "task.steps is 20 (at level network",
         "leave it out",
         {{config, R"(, "steps": 20)", ""}},
         program(network)},
        {"BatchOfPolicies",
         external_config(R"("batch": 4)"),
         "task.batch is 4 (at level policy",
         "leave it out",
         {{config, R"(, "batch": 4)", ""}},
         program(policy)},
        {"LevelOfTheConfig",
         external_config(R"("level": "network")"),
         "has level policy (task.level is network)",
         "set task.level to what the program does",
         {{config, R"("network")", R"("policy")"}},
         program(policy)},
        {"LevelOfTheProgram",
         external_config(R"("level": "network")"),
         "has level policy (task.level is network)",
         "answer with the level that is asked for",
         {{"program.sh", "", program(network).at("program.sh")}},
         program(policy)},
        {"FramesOfTheConfig",
         external_config(R"("frames": "msgpack")"),
         "has frames json (task.frames is msgpack)",
         "set task.frames to what the program speaks",
         {{config, R"("msgpack")", R"("json")"}},
         program(policy)},
        {"FramesOfTheProgram",
         external_config(R"("frames": "msgpack")"),
         "has frames json (task.frames is msgpack)",
         "answer with the frames that are asked for",
         {{"program.sh", "", program(packed).at("program.sh")}},
         program(policy)},
        {"ProtocolOfTheProgram",
         external_config(""),
         "has protocol 7",
         "use the client that came with it",
         {{"program.sh", "7", "1"}},
         program(R"({"protocol": 7, "observations": 2, "actions": 1})")},
        {"NamesOfTheProgram",
         external_config(""),
         R"(["a","a"] in "observations")",
         "say how many there are, or list their names",
         {{"program.sh", R"(["a", "a"])", R"(["a", "b"])"}},
         program(R"({"protocol": 1, "observations": ["a", "a"], "actions": 1})")},
        {"ALateProgram",
         external_config(R"("seconds": 0.05)"),
         "no answer in time",
         "set task.seconds higher",
         {{config, "0.05", "60"}},
         {{"program.sh", "read hello\nsleep 0.5\necho '" + policy + "'\nread end\n"}}},
        {"AProgramThatPrints",
         external_config(""),
         "is not understood",
         "and nothing else, to standard output",
         {{"program.sh", "echo loading\n", ""}},
         {{"program.sh", "read hello\necho loading\necho '" + policy + "'\nread end\n"}}}};
    return table;
}

class ExternalRemedies : public testing::TestWithParam<RemedyRow> {};

TEST_P(ExternalRemedies, Work) {
    test::expect_remedy_works(GetParam());
}
const auto name_of = [](const auto& row) { return row.param.name; };
INSTANTIATE_TEST_SUITE_P(Task, ExternalRemedies, testing::ValuesIn(rows()), name_of);

}  // namespace
}  // namespace cambrian::launch

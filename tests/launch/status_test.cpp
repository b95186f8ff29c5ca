#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using test::write_xor;
using testing::AllOf;
using testing::HasSubstr;

/// A program of this build in a process of its own.
class Process {
  public:
    explicit Process(std::vector<std::string> arguments, const char* out = "/dev/null") {
        arguments.insert(arguments.begin(), CAMBRIAN_PROGRAM);
        std::vector<char*> words;
        for (std::string& argument : arguments) words.push_back(argument.data());
        words.push_back(nullptr);
        pid_ = fork();
        if (pid_ == 0) {
            dup2(open(out, O_WRONLY), STDOUT_FILENO);
            dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
            execv(words[0], words.data());
            _exit(127);
        }
    }
    ~Process() {
        if (pid_ > 0) end(SIGKILL);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Its exit code; of one that a signal ended the negative signal.
    int wait() {
        int status = 0;
        waitpid(std::exchange(pid_, 0), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    int end(int signal) {
        kill(pid_, signal);
        return wait();
    }
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = 0;
};

bool soon(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

nlohmann::json json_status(const std::string& directory) {
    return nlohmann::json::parse(run({"status", directory, "--json"}).out);
}

TEST(StatusCommand, TellsADoneRunByItsExitCode) {
    const TemporaryDirectory directory;
    const std::string config = write_xor(directory);
    const std::string place = directory.file("run-xor");
    ASSERT_EQ(run({"evolve", config, "-q"}).code, 0);
    const Result done = run({"status", place});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, AllOf(HasSubstr(place + ": done (generations), exit code 0\n"),
                                HasSubstr("  3 generations, best fitness")));
    EXPECT_THAT(done.out, testing::Not(HasSubstr("go on")));
    const auto json = json_status(place);
    EXPECT_EQ(json["state"], "done");
    EXPECT_EQ(json["command"], "evolve");
    EXPECT_EQ(json["generation"], 3);
    EXPECT_TRUE(json["next"].is_null());
    const Result none = run({"status", directory.file("elsewhere")});
    EXPECT_EQ(none.code, 3);
    EXPECT_THAT(none.err, HasSubstr("there is no run in"));
}

TEST(StatusCommand, SeesThatAKilledRunIsNoMore) {
    const TemporaryDirectory directory;
    const std::string place = directory.file("run-xor");
    Process process({"evolve", write_xor(directory), "-q", "--set",
                     "run.stop.generations=1000000000", "--set", "checkpoint.seconds=0.05", "--set",
                     "engine.threads=1"});
    ASSERT_TRUE(soon([&] { return std::filesystem::exists(place + "/checkpoint.cmb"); }));
    const Result running = run({"status", place});
    EXPECT_EQ(running.code, 0) << running.err;
    EXPECT_THAT(running.out, HasSubstr("running (process " + std::to_string(process.pid())));
    EXPECT_EQ(json_status(place)["state"], "running");
    EXPECT_EQ(process.end(SIGKILL), -SIGKILL);
    const Result killed = run({"status", place});
    EXPECT_EQ(killed.code, 1);
    EXPECT_THAT(killed.out, AllOf(HasSubstr("ended without a word"),
                                  HasSubstr("go on:  cambrian resume " + place + "\n")));
    const auto json = json_status(place);
    EXPECT_EQ(json["state"], "lost");
    EXPECT_TRUE(json["exit_code"].is_null());
    EXPECT_TRUE(json["holder"].is_null());
    const auto generations = json["generation"].get<std::uint64_t>();
    const Result resumed = run({"resume", place, "--set", "run.stop.generations=1"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.out,
                AllOf(HasSubstr("ended without a word"),
                      HasSubstr("after " + std::to_string(generations) + " generations")));
    EXPECT_EQ(json_status(place)["state"], "done");
}

TEST(StatusCommand, CountsTheSteadyStateInBlocks) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", write_xor(directory), "-q", "--set", "steady_state.window=12", "--set",
                   "steady_state.block=6"})
                  .code,
              0);
    EXPECT_THAT(
        run({"status", directory.file("run-xor")}).out,
        testing::ContainsRegex("\n  3 blocks, best .*\n  writes .* a block to the journal"));
}

TEST(StatusCommand, CountsGenerationsThatNoStatusTellsOf) {
    const TemporaryDirectory directory;
    const std::string place = directory.file("run-xor");
    ASSERT_EQ(run({"evolve", write_xor(directory), "-q"}).code, 0);
    auto status = nlohmann::json::parse(test::content(place + "/status.json"));
    // As one that was killed within a second.
    status["state"] = "running";
    status["generation"] = 0;
    directory.write("run-xor/status.json", status.dump());
    EXPECT_THAT(run({"status", place}).out, HasSubstr("\n  3 generations"));
    EXPECT_EQ(json_status(place)["generation"], 3);
    EXPECT_THAT(run({"resume", place}).out, HasSubstr("after 3 generations"));
}

TEST(StatusCommand, SeesThatAKilledTrainingIsNoMore) {
    const TemporaryDirectory directory;
    const std::string place = directory.file("run");
    const std::string config = std::string(CAMBRIAN_SOURCE_DIR) + "/configs/train_xor.json";
    Process process({"train", config, "-q", "--set", "run.directory=" + place, "--set",
                     "training.epochs=1000000000", "--set", "engine.threads=1"});
    // The second status, too: a training says how far it is.
    ASSERT_TRUE(soon([&] {
        return std::filesystem::exists(place + "/status.json") &&
               json_status(place)["generation"] > 1;
    }));
    EXPECT_EQ(process.end(SIGKILL), -SIGKILL);
    const Result killed = run({"status", place});
    EXPECT_EQ(killed.code, 1);
    EXPECT_THAT(killed.out, AllOf(HasSubstr("ended without a word"), HasSubstr(" epochs, best"),
                                  HasSubstr("cambrian resume " + place)));
    const Result taken = run({"train", config, "-q", "--set", "run.directory=" + place});
    EXPECT_EQ(taken.code, 2);
    EXPECT_THAT(taken.out, HasSubstr("ended without a word"));
}

TEST(StatusCommand, TellsASolvedRunFromOneThatIsNot) {
    const TemporaryDirectory directory;
    const std::string config = write_xor(directory);
    const auto evolve = [&](const std::string& place, std::vector<std::string> more) {
        more.insert(more.begin(),
                    {"evolve", config, "--set", "run.directory=" + directory.file(place)});
        return run(more);
    };
    const Result none = evolve("none", {});
    EXPECT_EQ(none.code, 0);
    EXPECT_THAT(none.out, testing::Not(HasSubstr("solved")));
    EXPECT_TRUE(json_status(directory.file("none"))["solved"].is_null());
    const Result unsolved = evolve("unsolved", {"--set", "run.stop.fitness=99"});
    EXPECT_EQ(unsolved.code, 0) << unsolved.err;
    EXPECT_THAT(
        unsolved.out,
        testing::ContainsRegex("\nnot solved: fitness 99 was asked for, [-0-9.e]+ was reached\n$"));
    EXPECT_EQ(json_status(directory.file("unsolved"))["solved"], false);
    const Result required =
        evolve("required", {"--set", "run.stop.fitness=99", "--require-solved", "-q"});
    EXPECT_EQ(required.code, 6);
    EXPECT_THAT(required.err, HasSubstr("not solved: fitness 99 was asked for"));
    EXPECT_EQ(run({"status", directory.file("required")}).code, 6);
    EXPECT_EQ(json_status(directory.file("required"))["exit_code"], 6);
    const Result resumed = run({"resume", directory.file("required"), "--set",
                                "run.stop.fitness=-99", "--require-solved"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.out, testing::Not(HasSubstr("not solved")));
    EXPECT_EQ(json_status(directory.file("required"))["solved"], true);
    const Result nothing = evolve("nothing", {"--require-solved"});
    EXPECT_EQ(nothing.code, 2);
    EXPECT_THAT(nothing.err, HasSubstr("run.stop.fitness is not set"));
}

TEST(StatusCommand, TellsOfTestsThatChampionsPass) {
    const TemporaryDirectory directory;
    const std::string config = write_xor(directory);
    const auto evolve = [&](const std::string& place, std::vector<std::string> more) {
        more.insert(more.begin(),
                    {"evolve", config, "--set", "run.directory=" + directory.file(place), "--set",
                     "run.stop.solved=true", "--require-solved"});
        return run(more);
    };
    const Result unsolved = evolve("unsolved", {"--set", "run.stop.generations=1"});
    EXPECT_EQ(unsolved.code, 6) << unsolved.err;
    EXPECT_THAT(unsolved.out, HasSubstr("not solved: no champion was fit enough for the test"));
    EXPECT_EQ(json_status(directory.file("unsolved"))["champion_tests"], 0);
    const Result solved =
        evolve("solved", {"--set", "run.stop.generations=500", "--set", "population.size=50",
                          "--set", "mutation.weight_power=0.5"});
    EXPECT_EQ(solved.code, 0) << solved.err;
    EXPECT_THAT(solved.out,
                testing::ContainsRegex(
                    "the task is solved after [0-9]+ generations and [0-9]+ evaluations, [0-9]+ "
                    "tests of champions apart"));
    const auto status = json_status(directory.file("solved"));
    EXPECT_EQ(status["reason"], "solved");
    EXPECT_GT(status["champion_tests"], 0);
    EXPECT_THAT(run({"status", directory.file("solved")}).out,
                testing::ContainsRegex("solved, [0-9]+ tests of champions"));
    EXPECT_THAT(run({"evaluate", directory.file("solved/best.cmb"), "--phase", "champion"}).out,
                HasSubstr("champion: fitness 1\n"));
    // A resume that does not ask for tests tells of none.
    const std::uint64_t more = status["generation"].get<std::uint64_t>() + 1;
    const Result unasked = run({"resume", directory.file("solved"), "--set", "run.stop.solved=null",
                                "--set", "run.stop.generations=" + std::to_string(more)});
    EXPECT_EQ(unasked.code, 0) << unasked.err;
    EXPECT_THAT(unasked.out, testing::Not(HasSubstr("tests of champions")));
    EXPECT_TRUE(json_status(directory.file("solved"))["champion_tests"].is_null());
    const Result dry = run({"evolve", config, "--set", "run.stop.solved=true", "--dry-run"});
    EXPECT_THAT(dry.out, HasSubstr("3 generations, or the test of the task is passed"));
    const Result refused = run({"evolve", config, "--set", "run.stop.fitness_of=mean"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("run.stop.fitness is not, so nothing is compared"));
}

TEST(StandardOutput, OfAFullDeviceIsNoSuccess) {
    const TemporaryDirectory directory;
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"explain"}, {"--help"}, {"evolve", write_xor(directory)}}) {
        EXPECT_EQ(Process(arguments, "/dev/full").wait(), 3) << arguments[0];
        EXPECT_EQ(Process({"ops"}).wait(), 0);
    }
}

/// Files that the user may not write, also where the tests run as root.
class Nobody {
  public:
    Nobody() : root_(geteuid() == 0 && seteuid(65534) == 0) {}
    ~Nobody() {
        if (root_ && seteuid(0) != 0) std::abort();
    }
    Nobody(const Nobody&) = delete;
    Nobody& operator=(const Nobody&) = delete;

  private:
    bool root_;
};

TEST(RunDirectory, ThatCannotBeUsedIsAnError) {
    const TemporaryDirectory directory;
    const std::string config = write_xor(directory);
    const std::string place = directory.file("run-xor");
    std::filesystem::create_directories(place);
    std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
    if (geteuid() == 0) {
        ASSERT_EQ(chown(place.c_str(), 65534, 65534), 0);
    }
    for (const auto& [mode, command] :
         std::vector<std::pair<mode_t, std::string>>{{0300, "evolve"},
                                                     {0500, "evolve"},
                                                     {0000, "evolve"},
                                                     {0000, "resume"},
                                                     {0000, "status"},
                                                     {0200, "status"}}) {
        ASSERT_EQ(chmod(place.c_str(), mode), 0);
        Result result;
        {
            const Nobody nobody;
            result = run({command, command == "evolve" ? config : place});
        }
        EXPECT_EQ(result.code, 3) << mode << ' ' << command;
        EXPECT_THAT(result.err,
                    testing::ContainsRegex("^cambrian: error: .*\\(Permission denied\\) [a-z]"))
            << mode << ' ' << command;
        EXPECT_THAT(result.err, testing::Not(HasSubstr("filesystem error")));
    }
    ASSERT_EQ(chmod(place.c_str(), 0700), 0);
    std::filesystem::remove_all(place);
    directory.write("run-xor/logs", "");
    const Result file = run({"evolve", config});
    EXPECT_EQ(file.code, 3);
    EXPECT_THAT(file.err, HasSubstr("logs cannot be made (a file or link has its name) remove it"));
    std::filesystem::remove(place + "/logs");
    EXPECT_EQ(run({"evolve", config, "-q"}).code, 0);
}

}  // namespace
}  // namespace cambrian::launch

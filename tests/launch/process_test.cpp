#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cambrian/tests/launch/child_process.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// What the program does as a process: signals, closed descriptors, a system that refuses threads.
namespace cambrian::launch {
namespace {

using test::ChildProcess;
using test::ChildSettings;
using test::TemporaryDirectory;
using testing::HasSubstr;

bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 6000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

void pause(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

class ProcessTest : public testing::Test {
  protected:
    /// A run that goes on until it is told to end: over so many episodes for each individual.
    std::string endless(std::int64_t episodes) const {
        return directory_.write("endless.json", fmt::format(R"({{
            "run": {{"name": "endless", "directory": "{}", "stop": {{"generations": 1000000000}}}},
            "population": {{"size": 16}},
            "engine": {{"backend": "cpu", "threads": 1}},
            "task": {{"type": "cart_pole", "episodes": {}}},
            "network": {{"layers": [{{"type": "dense", "out": 64, "activation": "tanh"}},
                                    {{"type": "dense", "out": 64, "activation": "tanh"}},
                                    {{"type": "dense"}}]}}}})",
                                                            directory_.file("run"), episodes));
    }
    ChildSettings settings() const { return {.output = output_}; }
    bool has_begun() const {
        return comes_true([&] {
            const std::string log = test::content(directory_.file("run/generations.csv"));
            return std::count(log.begin(), log.end(), '\n') > 2;
        });
    }
    std::string status() const { return test::content(directory_.file("run/status.json")); }

    TemporaryDirectory directory_;
    const std::string output_ = directory_.file("output");
};

TEST_F(ProcessTest, SignalsThatAskForTheEndLeaveACheckpoint) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
        std::filesystem::remove_all(directory_.file("run"));
        ChildProcess program({"evolve", endless(1), "--quiet"}, settings());
        ASSERT_TRUE(has_begun()) << test::content(output_);
        program.tell(signal);
        EXPECT_EQ(program.end_within(20), 5) << signal;
        EXPECT_THAT(status(), HasSubstr("\"interrupted\""));
        EXPECT_TRUE(std::filesystem::exists(directory_.file("run/checkpoint.cmb")));
    }
}

TEST_F(ProcessTest, OneRequestToldTwiceIsNoSecondOne) {
    ChildProcess program({"evolve", endless(1), "--quiet"}, settings());
    ASSERT_TRUE(has_begun()) << test::content(output_);
    for (const int signal : {SIGTERM, SIGHUP, SIGTERM}) {
        program.tell(signal);
        pause(0.001);
    }
    EXPECT_EQ(program.end_within(20), 5);
    EXPECT_THAT(status(), HasSubstr("\"interrupted\""));
}

TEST_F(ProcessTest, SecondRequestEndsAnythingAtOnce) {
    // The first individuals take long, and cannot be interrupted.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        std::filesystem::remove_all(directory_.file("run"));
        ChildProcess program({"evolve", endless(200'000), "--quiet"}, settings());
        ASSERT_TRUE(comes_true([&] { return !status().empty(); })) << test::content(output_);
        // Its status stands before it evaluates; that it computes shows that it does.
        const double begun = program.processor_seconds();
        ASSERT_TRUE(comes_true([&] { return program.processor_seconds() > begun + 0.3; }));
        program.tell(SIGTERM);
        EXPECT_EQ(program.end_within(0.6), std::nullopt);
        program.tell(SIGUSR1);
        EXPECT_EQ(program.end_within(0.2), std::nullopt) << "mpirun may repeat SIGUSR1";
        program.tell(signal);
        EXPECT_EQ(program.end_within(5), -signal);
    }
}

TEST_F(ProcessTest, UnderNohupAClosedTerminalIsNoRequest) {
    ChildSettings ignoring = settings();
    ignoring.ignored = {SIGHUP};
    ChildProcess program({"evolve", endless(1), "--quiet"}, ignoring);
    ASSERT_TRUE(has_begun()) << test::content(output_);
    program.tell(SIGHUP);
    EXPECT_EQ(program.end_within(1), std::nullopt);
    program.tell(SIGTERM);
    EXPECT_EQ(program.end_within(20), 5);
}

TEST_F(ProcessTest, ClosedDescriptorsHarmNoFile) {
    const std::string config = test::write_xor(directory_);
    const std::string whole = directory_.file("run-xor");
    ASSERT_EQ(test::run({"evolve", config}).code, 0);
    const std::string closed = directory_.file("closed");
    ChildSettings without = settings();
    without.closed = true;
    ChildProcess program({"evolve", config, "--set", "run.directory=" + closed}, without);
    EXPECT_EQ(program.end_within(60), 0);
    for (const char* name : {"generations.csv", "individuals.cmb", "best.cmb"})
        EXPECT_EQ(test::content(closed + "/" + name), test::content(whole + "/" + name)) << name;
    const std::string lock = test::content(closed + "/lock");
    EXPECT_EQ(std::count(lock.begin(), lock.end(), '\n'), 1) << lock;
    EXPECT_THAT(lock, testing::Not(HasSubstr("generation")));
    EXPECT_THAT(test::content(closed + "/status.json"), HasSubstr("\"done\""));
    // An error has nowhere to go but the exit code.
    ChildProcess again({"evolve", config, "--set", "run.directory=" + closed}, without);
    EXPECT_EQ(again.end_within(60), 2);
    EXPECT_EQ(test::content(closed + "/generations.csv"),
              test::content(whole + "/generations.csv"));
}

/// Ends, with an error that can be followed, wherever the threads run out.
TEST_F(ProcessTest, AReaderThatLeavesEndsNoRun) {
    const std::string config = test::write_xor(directory_);
    const std::string run = directory_.file("piped");
    const std::string command = fmt::format(
        "{} evolve {} --set run.directory={} --set run.stop.generations=30 --set log.interval=0 | "
        "true",
        CAMBRIAN_PROGRAM, config, run);
    EXPECT_EQ(std::system(command.c_str()), 0);
    const std::string status = test::content(run + "/status.json");
    EXPECT_THAT(status, HasSubstr("\"state\": \"done\""));
}

TEST_F(ProcessTest, TheBatchScriptSaysThatCambrianNamesAFolder) {
    const std::string said = directory_.file("said");
    const std::string command =
        fmt::format("CAMBRIAN={} bash {}/launch/slurm.sbatch config.json 2> {}",
                    directory_.file("."), CAMBRIAN_SOURCE_DIR, said);
    EXPECT_NE(std::system(command.c_str()), 0);
    EXPECT_THAT(test::content(said), HasSubstr("(which is no program)"));
}

class FewThreadsTest : public ProcessTest {
  protected:
    void SetUp() override {
        config_ = test::write_xor(directory_);
        ASSERT_EQ(test::run({"evolve", config_, "--quiet"}).code, 0);
        network_ = directory_.file("run-xor/best.cmb");
    }
    std::optional<int> run_with(int threads, std::vector<std::string> arguments) {
        std::filesystem::remove(output_);
        std::filesystem::remove_all(directory_.file("few"));
        ChildSettings refusing = settings();
        refusing.environment = test::with_fault("CAMBRIAN_FAULT_THREADS", std::to_string(threads));
        return ChildProcess(arguments, refusing).end_within(60);
    }
    /// Refuses each thread in turn that a command starts.
    void expect_errors(const std::vector<std::string>& arguments, int least) {
        int refused = 0;
        for (int threads = 0; threads < 100; ++threads) {
            const std::optional<int> code = run_with(threads, arguments);
            const std::string said = test::content(output_);
            ASSERT_TRUE(code) << "hangs where thread " << threads << " is refused\n" << said;
            if (code == 0) {
                EXPECT_GE(refused, least) << said;
                return;
            }
            ++refused;
            EXPECT_EQ(code, 4) << said;
            EXPECT_THAT(said, HasSubstr("cambrian: error: one more thread cannot be "));
            EXPECT_EQ(said.find("error:"), said.rfind("error:")) << said;
            EXPECT_THAT(said, HasSubstr("lower engine.threads"));
        }
        ADD_FAILURE() << "there is always one thread more";
    }

    std::string config_;
    std::string network_;
};

TEST_F(FewThreadsTest, EvolutionSaysSo) {
    expect_errors({"evolve", config_, "--quiet", "--set", "engine.threads=4", "--set",
                   "engine.backend=cpu", "--set", "run.directory=" + directory_.file("few")},
                  4);
}

TEST_F(FewThreadsTest, TrainingSaysSo) {
    expect_errors({"train", CAMBRIAN_SOURCE_DIR "/configs/train_xor.json", "--quiet", "--set",
                   "training.epochs=2", "--set", "engine.threads=4", "--set", "engine.backend=cpu",
                   "--set", "run.directory=" + directory_.file("few")},
                  3);
}

TEST_F(FewThreadsTest, RemedyHelps) {
    const std::vector<std::string> arguments{"evolve",
                                             config_,
                                             "--quiet",
                                             "--set",
                                             "engine.backend=cpu",
                                             "--set",
                                             "run.directory=" + directory_.file("few"),
                                             "--set"};
    std::vector<std::string> many = arguments;
    many.emplace_back("engine.threads=4");
    EXPECT_EQ(run_with(1, many), 4);
    std::vector<std::string> one = arguments;
    one.emplace_back("engine.threads=1");
    EXPECT_EQ(run_with(1, one), 0) << test::content(output_);
}

TEST_F(FewThreadsTest, FinishedNetworksSaySo) {
    expect_errors({"evaluate", network_, "--set", "engine.threads=4"}, 3);
    EXPECT_EQ(run_with(0, {"evaluate", network_, "--set", "engine.threads=1"}), 0);
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n");
    expect_errors({"infer", network_, "--input", rows, "--set", "engine.threads=4"}, 1);
}

}  // namespace
}  // namespace cambrian::launch

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <sstream>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/runs/training_run.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// Trainings by targets, from their config to their files.
namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

std::string file_content(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

/// A mesh of three hidden layers, shown each row for four steps.
constexpr const char* mesh_config = R"({
    "run": {"directory": "@"}, "engine": {"backend": "cpu"},
    "task": {"type": "dataset", "steps": 4, "source": {"type": "blobs", "rows": 60},
             "split": {"validation": 12}, "loss": {"type": "cross_entropy"}},
    "network": {"mode": "mesh", "layers": [
        {"type": "dense", "out": 6, "activation": "tanh"}, {"type": "dense", "out": 5, "activation": "tanh"},
        {"type": "dense", "out": 6, "activation": "tanh"}, {"type": "dense"}]},
    "training": {"method": "difference_target_propagation", "epochs": 6, "batch": 16,
                 "learning_rate": [0.01, 0.03]}})";

class TrainTargets : public testing::Test {
  protected:
    /// The config with its run in a directory of that name.
    std::string config(const std::string& name) const {
        std::string text = mesh_config;
        return directory_.write(name + ".json",
                                text.replace(text.find('@'), 1, directory_.file(name)));
    }

    TemporaryDirectory directory_;
};

/// Interrupts after each epoch.
class Interrupting final : public distributed::TrainingReporter {
  public:
    explicit Interrupting(std::atomic<int>& interrupt) : interrupt_(interrupt) {}
    void warning(const std::string& /*text*/) override {}
    void note(const std::string& /*text*/) override {}
    void started(Part /*part*/, const Score& /*score*/) override {}
    void epoch_done(const EpochReport& /*report*/, std::int64_t /*best*/, double /*seconds*/,
                    bool /*last*/) override {
        interrupt_ = 1;
    }

  private:
    std::atomic<int>& interrupt_;
};

TEST_F(TrainTargets, AResumedTrainingEndsAsIfItHadNeverStopped) {
    const Result whole = run({"train", config("whole")});
    ASSERT_EQ(whole.code, 0) << whole.err;
    EXPECT_THAT(whole.out, HasSubstr("of difference_target_propagation"));
    const Schema schema;
    const distributed::TrainingJob job =
        make_training(resolve_training(read_config(config("parts"), {}), schema), schema,
                      evolve::standard_tasks());
    const auto backend = make_cpu_backend({});
    for (const bool resume : {false, true}) {
        std::atomic<int> interrupt = 0;
        Interrupting reporter(interrupt);
        EXPECT_TRUE(
            distributed::run_training(job, *backend, reporter, interrupt, resume).interrupted);
    }
    ASSERT_EQ(run({"resume", directory_.file("parts"), "-q"}).code, 0);
    for (const std::string file : {"epochs.csv", "best.cmb", "last.cmb"})
        EXPECT_EQ(file_content(directory_.file("whole/" + file)),
                  file_content(directory_.file("parts/" + file)))
            << file;
}

TEST_F(TrainTargets, TablesTellHowNearSlotsComeToTheirTargets) {
    ASSERT_EQ(run({"train", config("run"), "-q"}).code, 0);
    std::istringstream lines(file_content(directory_.file("run/epochs.csv")));
    std::string header;
    std::getline(lines, header);
    EXPECT_THAT(header,
                testing::EndsWith("skipped,best,stopped,slot.0.budget,slot.0.gap,slot.1.budget,"
                                  "slot.1.gap,slot.2.budget,slot.2.gap"));
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) {
        EXPECT_EQ(std::count(line.begin(), line.end(), ','),
                  std::count(header.begin(), header.end(), ','));
        EXPECT_GT(std::stod(line.substr(line.rfind(',') + 1)), 0.0) << line;
    }
    EXPECT_EQ(rows, 12);
}

TEST_F(TrainTargets, RowsShownForStepsAreAnsweredByEveryCommand) {
    ASSERT_EQ(run({"train", config("run"), "-q"}).code, 0);
    const std::string best = directory_.file("run/best.cmb");
    const double validated = *distributed::read_network(best).validated;
    const Result evaluated = run({"evaluate", best, "--phase", "validation"});
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    const std::string word = "fitness ";
    EXPECT_NEAR(std::stod(evaluated.out.substr(evaluated.out.find(word) + word.size())), validated,
                1e-5);
    const auto answers = [&](const std::string& rows, const std::vector<std::string>& more = {}) {
        std::vector<std::string> command{"infer", best, "--input",
                                         directory_.write("rows.csv", rows)};
        command.insert(command.end(), more.begin(), more.end());
        return run(command);
    };
    const Result both = answers("x,y\n0.5,0.5\n-1,0\n");
    ASSERT_EQ(both.code, 0) << both.err;
    EXPECT_THAT(both.err, HasSubstr("every row is shown for 4 steps"));
    // A row alone is answered as among others, and as one that is there four times.
    const Result alone = answers("x,y\n-1,0\n");
    const std::string last = both.out.substr(both.out.rfind('\n', both.out.size() - 2) + 1);
    EXPECT_THAT(alone.out, testing::EndsWith(last));
    const Result repeated = answers("x,y\n-1,0\n-1,0\n-1,0\n-1,0\n", {"--raw"});
    ASSERT_EQ(repeated.code, 0) << repeated.err;
    // Scores, of which probabilities are made.
    std::istringstream scores(
        repeated.out.substr(repeated.out.rfind('\n', repeated.out.size() - 2) + 1));
    double sum = 0.0;
    double part = 0.0;
    for (std::string score; std::getline(scores, score, ',');)
        sum += part = std::exp(std::stod(score));
    EXPECT_NEAR(part / sum, std::stod(last.substr(last.rfind(',') + 1)), 1e-5);
    EXPECT_EQ(answers("x,y\n-1,0\n", {"--observe"}).code, 2);
}

TEST_F(TrainTargets, ATrainingByGradientWritesWhatItAlwaysWrote) {
    const std::string sample = std::string(CAMBRIAN_SOURCE_DIR) + "/configs/train_xor.json";
    ASSERT_EQ(run({"train", sample, "--set", "run.directory=" + directory_.file("run"), "--set",
                   "training.epochs=4", "--set", "training.learning_rate=0.05", "--set",
                   "engine.math=strict", "--set", "engine.backend=cpu", "-q"})
                  .code,
              0);
    const std::string resolved = file_content(directory_.file("run/config.json"));
    for (const char* key : {"\"method\"", "\"targets\"", "\"frozen\"", "\"steps\""})
        EXPECT_THAT(resolved, testing::Not(HasSubstr(key)));
    // As before there were other methods.
    EXPECT_EQ(file_content(directory_.file("run/epochs.csv")),
              "epoch,individual,learning_rate,train_loss,train_accuracy,validation_loss,validation_"
              "accuracy,skipped,best,stopped\n"
              "1,0,0.05,0.7068275213241577,0.75,,,0,1,0\n"
              "2,0,0.05,0.6846176385879517,0.5,,,0,1,0\n"
              "3,0,0.05,0.6736047267913818,0.5,,,0,1,0\n"
              "4,0,0.05,0.6576541066169739,0.75,,,0,1,0\n");
}

}  // namespace
}  // namespace cambrian::launch

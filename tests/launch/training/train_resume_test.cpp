#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/config/schema_validator.hpp"
#include "cambrian/tests/launch/training/train_support.hpp"

// Trainings that are ended, and go on.
namespace cambrian::launch::train_test {
namespace {

class TrainResume : public Train {};

/// A console that asks for the end when it is told of an epoch.
class Interrupting : public std::stringbuf {
  public:
    std::atomic<int> interrupt{0};

  protected:
    int sync() override {
        interrupt = SIGINT;
        return 0;
    }
};

TEST_F(TrainResume, AnInterruptEndsItWithWhatIsDone) {
    const Schema schema;
    const std::vector<std::string> overrides{"run.directory=" + directory_.file("run")};
    const TrainingJob job =
        make_training(resolve_training(read_config(sample("train_xor.json"), overrides), schema),
                      schema, evolve::standard_tasks());
    const auto backend = make_cpu_backend({});
    Interrupting console;
    std::ostream out(&console);
    const TrainingResult result = train_aloud(job, *backend, out, console.interrupt);
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(result.epochs, 1);
    const std::string epochs = content(directory_.file("run/epochs.csv"));
    EXPECT_EQ(std::count(epochs.begin(), epochs.end(), '\n'), 1 + 5);
    EXPECT_EQ(distributed::read_network(directory_.file("run/best.cmb")).generation, 1U);
    EXPECT_EQ(distributed::read_network(directory_.file("run/last.cmb")).genome.weights.size(),
              33U);
    const auto status = nlohmann::json::parse(content(directory_.file("run/status.json")));
    EXPECT_EQ(status["state"], "interrupted");
    EXPECT_EQ(status["exit_code"], 5);
}

/// Noise, statistics, moments, two kinds of early end: all that a training goes on from.
constexpr const char* eventful = R"({
    "run": {"directory": "@"}, "engine": {"backend": "cpu"},
    "task": {"type": "dataset", "source": {"type": "delay", "rows": 60, "steps": 4, "delay": 1},
             "split": {"validation": 0.25}},
    "network": {"layers": [{"type": "dense", "out": 6}, {"type": "dropout", "rate": 0.3},
                           {"type": "gru", "hidden": 5}, {"type": "dense"}]},
    "training": {"epochs": 9, "batch": 16, "learning_rate": [0.01, 0.2, 0.0], "clip_norm": 1.0,
                 "schedule": {"type": "plateau", "patience": 0, "factor": 0.5, "threshold": 0.9},
                 "early_stop": {"patience": 4}}})";

TEST_F(TrainResume, AResumedTrainingEndsAsIfItHadNeverStopped) {
    const auto config = [&](const std::string& run) {
        std::string text = eventful;
        return directory_.write(run + ".json",
                                text.replace(text.find('@'), 1, directory_.file(run)));
    };
    ASSERT_EQ(run({"train", config("whole"), "-q"}).code, 0);

    const Schema schema;
    const TrainingJob job =
        make_training(resolve_training(read_config(config("parts"), {}), schema), schema,
                      evolve::standard_tasks());
    const auto backend = make_cpu_backend({});
    Interrupting console;
    std::ostream out(&console);
    EXPECT_EQ(train_aloud(job, *backend, out, console.interrupt).epochs, 1);
    EXPECT_TRUE(std::filesystem::exists(directory_.file("parts/training.cmb")));
    console.interrupt = 0;  // What is printed at once after the next epoch ends it again.
    const TrainingResult second = train_aloud(job, *backend, out, console.interrupt, true);
    EXPECT_TRUE(second.interrupted);
    EXPECT_EQ(second.epochs, 2);
    // What was written after the checkpoint, by a training that was killed, goes.
    std::ofstream(directory_.file("parts/epochs.csv"), std::ios::app) << "3,0,0.1,";
    const Result resumed = run({"resume", directory_.file("parts")});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.out, HasSubstr("epochs: lowest loss"));
    for (const char* file : {"epochs.csv", "best.cmb", "last.cmb"})
        EXPECT_TRUE(content(directory_.file(std::string("whole/") + file)) ==
                    content(directory_.file(std::string("parts/") + file)))
            << file;
    const std::string epochs = content(directory_.file("parts/epochs.csv"));
    EXPECT_EQ(run({"resume", directory_.file("parts"), "-q"}).code, 0) << "there is nothing to do";
    EXPECT_EQ(content(directory_.file("parts/epochs.csv")), epochs);
}

TEST_F(TrainResume, WhatATrainingCannotGoOnFromIsAnError) {
    ASSERT_EQ(train("train_xor.json", "run", {"--set", "training.epochs=2", "-q"}).code, 0);
    const std::string directory = directory_.file("run");
    const std::string epochs = content(directory_.file("run/epochs.csv"));
    const Result changed = run({"resume", directory, "--set", "training.epochs=3"});
    EXPECT_EQ(changed.code, 2);
    EXPECT_THAT(changed.err, HasSubstr("training.epochs"));
    const std::string checkpoint = directory_.file("run/training.cmb");
    const std::string whole = content(checkpoint);
    const auto holds = [&](const std::string& bytes) {
        std::ofstream(checkpoint, std::ios::binary) << bytes;
        return run({"resume", directory});
    };
    std::string damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    EXPECT_EQ(holds(damaged).code, 3);
    EXPECT_EQ(holds(whole.substr(0, whole.size() - 5)).code, 3);
    const Result other = holds(content(directory_.file("run/best.cmb")));
    EXPECT_EQ(other.code, 3);
    EXPECT_THAT(other.err, HasSubstr("holds no training"));
    ASSERT_EQ(train("train_xor.json", "other", {"--set", "run.seed=2", "-q"}).code, 0);
    EXPECT_THAT(holds(content(directory_.file("other/training.cmb"))).err,
                HasSubstr("is of another training"));
    std::filesystem::remove(checkpoint);
    EXPECT_EQ(run({"resume", directory}).code, 3);
    std::ofstream(checkpoint, std::ios::binary) << whole;
    const Result key = run({"resume", directory, "--set", "run.stop.generations=5"});
    EXPECT_EQ(key.code, 2);
    EXPECT_THAT(key.err, HasSubstr("run.stop is a key of evolution"));
    const std::vector<std::string> reference{"--set", "engine.backend=reference"};
    const Result arithmetic = run({"resume", directory, reference[0], reference[1]});
    EXPECT_EQ(arithmetic.code, 2);
    EXPECT_THAT(arithmetic.err, HasSubstr("was computed with other arithmetic"));
    EXPECT_EQ(
        run({"resume", directory, reference[0], reference[1], "--set", "engine.mixed=true"}).code,
        0);
    std::filesystem::remove(directory_.file("run/timings.csv"));
    EXPECT_EQ(run({"resume", directory, "--set", "engine.mixed=true"}).code, 0);
    EXPECT_EQ(content(directory_.file("run/epochs.csv")), epochs);
    std::filesystem::resize_file(directory_.file("run/epochs.csv"), 100);
    EXPECT_THAT(run({"resume", directory, "--set", "engine.mixed=true"}).err,
                HasSubstr("epochs.csv is shorter than"));
}

TEST_F(TrainResume, AnInterruptInAnEpochLosesNoStep) {
    const Schema schema;
    std::string text = eventful;
    const std::string config =
        directory_.write("parts.json", text.replace(text.find('@'), 1, directory_.file("parts")));
    const TrainingJob job = make_training(resolve_training(read_config(config, {}), schema), schema,
                                          evolve::standard_tasks());
    const auto backend = make_cpu_backend({});
    const DataSet& data = job.task->learning()->data;
    const Network network(job.blueprint);
    // Two steps at a time, each time by another trainer.
    std::vector<std::byte> state = Trainer(*backend, network, data, job.settings).state();
    std::vector<EpochReport> reports;
    for (bool finished = false; !finished;) {
        Trainer trainer(*backend, network, data, job.settings);
        trainer.restore(state, "state");
        int steps = 0;
        while (!finished) {
            const auto report = trainer.run_epoch([&] { return steps++ < 2; });
            if (!report) break;
            reports.push_back(*report);
            finished = trainer.finished();
        }
        (void)trainer.evaluate(Part::train);  // Changes nothing.
        state = trainer.state();
    }
    Trainer whole(*backend, network, data, job.settings);
    std::size_t epoch = 0;
    whole.run([&](const EpochReport& report) {
        for (std::size_t i = 0; i < report.individuals.size(); ++i) {
            const EpochScore& part = reports.at(epoch).individuals[i];
            EXPECT_EQ(part.train.loss, report.individuals[i].train.loss);
            EXPECT_EQ(part.watched, report.individuals[i].watched);
        }
        ++epoch;
    });
    EXPECT_EQ(reports.size(), epoch);
    EXPECT_TRUE(whole.state() == state);
}

}  // namespace
}  // namespace cambrian::launch::train_test

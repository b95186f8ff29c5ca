#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/train/loss.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/engine/train/schedule.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/config/schema_validator.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/show/console_reporter.hpp"
#include "cambrian/tests/launch/launch_support.hpp"
#include "cambrian/tests/support/line_listener.hpp"

namespace cambrian::launch::train_test {
namespace {

using distributed::TrainingJob;
using distributed::TrainingResult;

/// Trains, telling of every epoch.
TrainingResult train_aloud(const TrainingJob& job, Backend& backend, std::ostream& out,
                           const std::atomic<int>& interrupt, bool resume = false) {
    ConsoleTrainingReporter reporter(out, false, 0.0, job);
    return distributed::run_training(job, backend, reporter, interrupt, resume);
}

using test::content;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

std::string sample(const std::string& name) {
    return std::string(CAMBRIAN_SOURCE_DIR) + "/configs/" + name;
}

class Train : public testing::Test {
  protected:
    /// Runs a config of configs/ in a directory of its own.
    Result train(const std::string& name, const std::string& directory,
                 std::vector<std::string> arguments = {}) const {
        arguments.insert(arguments.begin(), {"train", sample(name), "--set",
                                             "run.directory=" + directory_.file(directory)});
        return run(arguments);
    }

    TemporaryDirectory directory_;
};

TEST_F(Train, AFileGetsTheFirstEpochTheLastAndALineInAnInterval) {
    if (isatty(STDOUT_FILENO) == 1) GTEST_SKIP() << "a terminal gets more lines";
    const auto lines = [&](const std::string& directory, const std::string& interval) {
        const Result result =
            train("train_xor.json", directory, {"--set", "training.epochs=40", "--set", interval});
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.out, HasSubstr("\nepoch     1 "));
        EXPECT_THAT(result.out, HasSubstr("\nepoch    40 "));
        std::size_t count = 0;
        for (std::size_t at = 0; (at = result.out.find("\nepoch ", at)) != std::string::npos; ++at)
            ++count;
        return count;
    };
    EXPECT_EQ(lines("few", "log.interval=1e6"), 2U);
    EXPECT_EQ(lines("all", "log.interval=0"), 40U);
}

TEST_F(Train, LearnsAndLeavesARunDirectory) {
    const Result result = train("train_spirals.json", "run");
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("240 rows to train, 80 to validate, 80 to test"));
    EXPECT_THAT(result.out, HasSubstr("epoch   200"));
    EXPECT_THAT(result.out, HasSubstr("done after 200 epochs"));
    const std::string epochs = content(directory_.file("run/epochs.csv"));
    EXPECT_EQ(std::count(epochs.begin(), epochs.end(), '\n'), 201);
    EXPECT_THAT(epochs, testing::StartsWith("epoch,individual,learning_rate,train_loss"));
    const auto status = nlohmann::json::parse(content(directory_.file("run/status.json")));
    EXPECT_EQ(status["state"], "done");
    EXPECT_GT(status["tested"].get<double>(), -0.1);
    const auto best = distributed::read_network(directory_.file("run/best.cmb"));
    EXPECT_EQ(best.fitness, status["best"].get<double>());
    EXPECT_NE(best.genome.weights,
              distributed::read_network(directory_.file("run/last.cmb")).genome.weights);
}

TEST_F(Train, ItsNetworksAreNetworks) {
    ASSERT_EQ(train("train_spirals.json", "run", {"--set", "training.epochs=5", "-q"}).code, 0);
    const std::string best = directory_.file("run/best.cmb");
    const double validated = *distributed::read_network(best).validated;
    EXPECT_THAT(run({"inspect", best}).out,
                HasSubstr("task dataset, seed 1, epoch 5, individual 0"));
    const Result evaluated = run({"evaluate", best, "--phase", "validation"});
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    const std::string word = "fitness ";
    EXPECT_NEAR(std::stod(evaluated.out.substr(evaluated.out.find(word) + word.size())), validated,
                1e-5);
    const std::string rows = directory_.write("rows.csv", "x,y\n0.5,0.5\n-1,0\n");
    EXPECT_THAT(run({"infer", best, "--input", rows}).out,
                testing::StartsWith("class,probability,p(0),p(1)\n"));
}

TEST_F(Train, GivesTheSameBytesForAnyNumberOfThreads) {
    const std::vector<std::string> quick{"--set", "training.epochs=20", "-q", "--set"};
    auto one = quick;
    one.push_back("engine.threads=1");
    auto three = quick;
    three.push_back("engine.threads=3");
    ASSERT_EQ(train("train_xor.json", "one", one).code, 0);
    ASSERT_EQ(train("train_xor.json", "three", three).code, 0);
    EXPECT_EQ(content(directory_.file("one/epochs.csv")),
              content(directory_.file("three/epochs.csv")));
    EXPECT_EQ(content(directory_.file("one/best.cmb")), content(directory_.file("three/best.cmb")));
    EXPECT_EQ(content(directory_.file("one/last.cmb")), content(directory_.file("three/last.cmb")));
}

TEST_F(Train, ItsConfigIsAConfig) {
    const Result printed = run({"train", sample("train_sine.json"), "--print-config"});
    ASSERT_EQ(printed.code, 0) << printed.err;
    const Json config = Json::parse(printed.out);
    EXPECT_FALSE(config.contains("mutation"));
    EXPECT_EQ(config["training"]["optimizer"]["beta2"], 0.999);
    const std::string path = directory_.write("again.json", printed.out);
    EXPECT_EQ(run({"train", path, "--print-config"}).out, printed.out);
    EXPECT_EQ(run({"validate", path}).code, 0);
    const Result dry = run({"train", path, "--dry-run"});
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.out, HasSubstr("MiB for a step"));
    EXPECT_FALSE(std::filesystem::exists(directory_.file("runs")));
}

TEST_F(Train, RefusesWhatItDoesNotKnow) {
    const auto refused = [&](const std::string& set, const std::string& why) {
        const Result result = train("train_xor.json", "run", {"--set", set});
        EXPECT_EQ(result.code, 2) << set;
        EXPECT_THAT(result.err, HasSubstr(why)) << set;
    };
    refused("training.epoch=3", "did you mean training.epochs?");
    refused("log.individuals=none", "log.individuals is a key of evolution");
    refused("training.epochs=0", "training.epochs is 0");
    refused("training.batch=1.5", "training.batch is 1.5");
    refused("training.learning_rate=[]", "training.learning_rate is []");
    refused("training.individuals=3", "training.individuals is 3");
    refused("training.individuals=1", "training.individuals is 1");
    refused("training.optimizer={\"type\": \"sgd\", \"nesterov\": true}", "looks ahead along");
    refused("training.optimizer.type=adm", "did you mean \"adam\"?");
    refused("training.optimizer={\"type\": \"adam\", \"beta1\": 1}",
            "training.optimizer.beta1 is 1");
    refused("training.schedule.type=cosin", "did you mean \"cosine\"?");
    refused("training.schedule={\"type\": \"linear\", \"warm_up\": 300}",
            "schedule.warm_up is 300");
    refused("training.clip_norm=-1", "training.clip_norm is -1");
    refused("task.loss.type=cross_entropie", "did you mean \"cross_entropy\"?");
    refused("task.source.type=sin", "did you mean \"sine\"?");
    refused("task.source.rows=3", "task.source.rows");
    refused("task.split={\"test\": 4}", "the split takes 0 rows to train");
    refused("task={\"type\": \"cart_pole\"}", "task cart_pole cannot be trained by gradient");
    refused("mutation.weight_rate=0.1", "mutation is a key of evolution");
    refused("run.stop.generations=5", "run.stop is a key of evolution");
    refused("network.layers=[{\"type\": \"rnn\", \"hidden\": 2}, {\"type\": \"dense\"}]",
            "keeps state");
    EXPECT_THAT(run({"evolve", sample("train_xor.json"), "--set", "training.epochs=3"}).err,
                HasSubstr("training is a section of 'cambrian train'"));
    const Result missing = run({"train", sample("train_digits.json"), "--set",
                                "task.source.files=[\"" + directory_.file("none.csv") + "\"]"});
    EXPECT_EQ(missing.code, 3);
    EXPECT_THAT(missing.err, HasSubstr("none.csv"));
}

TEST_F(Train, TheFitnessOfItsNetworkIsThatOfItsWeights) {
    const Result result =
        train("train_xor.json", "run",
              {"--set", "training.individuals=1", "--set", R"(training.optimizer={"type": "sgd"})",
               "--set", "training.learning_rate=30", "--set", "training.epochs=1", "-q"});
    ASSERT_EQ(result.code, 0) << result.err;
    const std::string best = directory_.file("run/best.cmb");
    const Result evaluated = run({"evaluate", best});
    const std::string word = "fitness ";
    EXPECT_NEAR(std::stod(evaluated.out.substr(evaluated.out.find(word) + word.size())),
                distributed::read_network(best).fitness, 1e-5);
}

TEST_F(Train, ItsFitnessIsWhatTheTaskSaysOfIt) {
    const Result result =
        train("train_spirals.json", "accuracy",
              {"--set", "task.fitness=accuracy", "--set", "training.epochs=5", "-q"});
    ASSERT_EQ(result.code, 0) << result.err;
    const double fitness = distributed::read_network(directory_.file("accuracy/best.cmb")).fitness;
    const Result evaluated =
        run({"evaluate", directory_.file("accuracy/best.cmb"), "--phase", "validation", "--json"});
    EXPECT_EQ(nlohmann::json::parse(evaluated.out)["networks"][0]["fitness"], fitness);
    const auto status =
        nlohmann::json::parse(std::ifstream(directory_.file("accuracy/status.json")));
    EXPECT_EQ(status["best"], fitness);
}

TEST_F(Train, SaysThatItHasDiverged) {
    const Result result =
        train("train_xor.json", "run",
              {"--set", "training.individuals=1", "--set", R"(training.optimizer={"type": "sgd"})",
               "--set", "training.learning_rate=1e39", "--set", "training.epochs=3"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("has diverged"));
    EXPECT_FALSE(std::filesystem::exists(directory_.file("run/best.cmb")));
    EXPECT_EQ(nlohmann::json::parse(content(directory_.file("run/status.json")))["state"],
              "failed");
}

TEST_F(Train, ALossThatIsNoNumberIsADivergedTraining) {
    const Result result = train(
        "train_sine.json", "run",
        {"--set", "training.learning_rate=1e20", "--set", R"(training.optimizer={"type": "sgd"})",
         "--set", R"(training.schedule={"type": "constant"})", "--set", "training.epochs=3",
         "--set", R"(task.loss={"type": "mse"})"});
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr("has diverged"));
}

TEST_F(Train, DoesNotOverwriteARun) {
    const std::vector<std::string> quick{"--set", "training.epochs=1", "-q"};
    ASSERT_EQ(train("train_xor.json", "run", quick).code, 0);
    const Result again = train("train_xor.json", "run", quick);
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.err, HasSubstr("already holds a run"));
}

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

TEST_F(Train, AnInterruptEndsItWithWhatIsDone) {
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

TEST_F(Train, AResumedTrainingEndsAsIfItHadNeverStopped) {
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

TEST_F(Train, WhatATrainingCannotGoOnFromIsAnError) {
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

TEST_F(Train, AnInterruptInAnEpochLosesNoStep) {
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

TEST_F(Train, EvolutionTakesTheSameDataSets) {
    const std::string config = directory_.write(
        "evolve.json", R"({"run": {"directory": ")" + directory_.file("evolved") + R"(",
        "stop": {"generations": 2}}, "population": {"size": 8}, "task": {"type": "dataset",
        "source": {"type": "blobs"}, "split": {"validation": 30}, "loss": {"type": "cross_entropy"}}})");
    const Result result = run({"evolve", config});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("validated"));
}

TEST_F(Train, IsWatchedWithoutLearningAnythingElse) {
    const std::vector<std::string> few{"--set", "training.epochs=4", "-q"};
    ASSERT_EQ(train("train_spirals.json", "plain", few).code, 0);
    std::vector<std::string> watched = few;
    watched.insert(watched.end(),
                   {"--set", "training.observe.every=5", "--set", "training.observe.to=file",
                    "--set", "training.observe.window=2"});
    const Result result = train("train_spirals.json", "watched", watched);
    ASSERT_EQ(result.code, 0) << result.err;
    for (const std::string file : {"last.cmb", "best.cmb"})
        EXPECT_EQ(distributed::read_network(directory_.file("watched/" + file)).genome.weights,
                  distributed::read_network(directory_.file("plain/" + file)).genome.weights);
    EXPECT_EQ(content(directory_.file("watched/epochs.csv")),
              content(directory_.file("plain/epochs.csv")));

    std::istringstream lines(content(directory_.file("watched/observations.jsonl")));
    std::set<std::string> places;
    std::set<std::string> directions;
    int last = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto json = nlohmann::json::parse(line);
        places.insert(json["place"]);
        directions.insert(json["direction"]);
        EXPECT_LE(json["steps"].get<int>(), 2);
        EXPECT_LE(json["min"].get<double>(), json["mean"].get<double>());
        EXPECT_LE(json["mean"].get<double>(), json["max"].get<double>());
        last = json["step"].get<int>();
    }
    EXPECT_TRUE(places.contains("head"));
    EXPECT_EQ(directions, (std::set<std::string>{"forward", "gradient"}));
    EXPECT_GT(last, 0);
    EXPECT_EQ(last % 5, 0);
}

TEST_F(Train, IsWatchedByWhoeverListens) {
    cambrian::test::LineListener listener(200);
    const std::string to = "http://127.0.0.1:" + std::to_string(listener.port()) + "/lines";
    const Result result = train("train_spirals.json", "posted",
                                {"--set", "training.epochs=4", "-q", "--set",
                                 "training.observe.every=5", "--set", "training.observe.to=" + to});
    ASSERT_EQ(result.code, 0) << result.err;
    // Lines may be lost where nobody takes them in time, but not all of them here.
    std::istringstream lines(listener.received());
    std::set<std::string> places;
    for (std::string line; std::getline(lines, line);)
        places.insert(nlohmann::json::parse(line)["place"]);
    EXPECT_TRUE(places.contains("head"));
}

TEST_F(Train, LearnsInANumberFormatWithScalesOfItsOwn) {
    const auto trained = [&](const std::string& name, const std::string& threads) {
        const Result result =
            train("train_spirals.json", name,
                  {"--set", "network.dtype=int4", "--set", "network.dtype_scales=channel", "--set",
                   "training.epochs=40", "--set", "engine.threads=" + threads, "-q"});
        EXPECT_EQ(result.code, 0) << result.err;
        return distributed::read_network(directory_.file(name + "/best.cmb"));
    };
    const distributed::NetworkFile network = trained("one", "1");
    EXPECT_EQ(network.genome.blueprint.head_formats,
              (LayerFormats{.weights = Dtype::int4, .scales = Scales::channel}));
    EXPECT_EQ(trained("two", "2"), network);
    EXPECT_EQ(content(directory_.file("two/epochs.csv")),
              content(directory_.file("one/epochs.csv")));
    // The loss of the first epoch is that of chance; what was learnt holds in the format.
    const Result evaluated = run({"evaluate", directory_.file("one/best.cmb")});
    const std::string word = "accuracy ";
    ASSERT_THAT(evaluated.out, HasSubstr(word));
    EXPECT_GT(std::stod(evaluated.out.substr(evaluated.out.find(word) + word.size())), 60.0);
}

TEST_F(Train, ShowsOnTheConsoleWhatLayersGive) {
    const Result result =
        train("train_xor.json", "run",
              {"--set", "training.epochs=2", "--set", "training.observe.every=1"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("step      1  slot 0 [0 0 0 0]"));
    EXPECT_THAT(result.out, HasSubstr("gradient"));
    EXPECT_FALSE(std::filesystem::exists(directory_.file("run/observations.jsonl")));
}

/// The kinds of losses, optimizers, schedules, sources and builders: the schema and the engine
/// agree.
TEST(TrainingSchema, KnowsEveryFieldOfEveryKind) {
    const Schema schema;
    const auto compare = [&](const char* name, std::span<const std::string_view> types,
                             const auto& defaults) {
        const Json& node = schema.root()["$defs"][name];
        EXPECT_EQ(node["x-variants"].size(), types.size()) << name;
        for (const std::string_view type : types) {
            const nlohmann::json expected(defaults(nlohmann::json{{"type", type}}));
            const Schema::Keys keys = schema.keys(node, Json{{"type", type}});
            EXPECT_TRUE(keys.chosen) << name << ' ' << type;
            EXPECT_EQ(keys.properties.size(), expected.size()) << name << ' ' << type;
            for (const auto& [key, property] : keys.properties)
                if (property->contains("default")) {
                    EXPECT_EQ(nlohmann::json((*property)["default"]), expected.at(key))
                        << name << ' ' << type << ' ' << key;
                } else if (key != "type") {
                    EXPECT_TRUE(expected.at(key).empty() || expected.at(key) == "")
                        << name << ' ' << type << ' ' << key;
                }
        }
    };
    compare("loss", loss_types(), [](const auto& json) { return to_json(loss_from_json(json)); });
    compare("optimizer", optimizer_types(),
            [](const auto& json) { return to_json(optimizer_from_json(json)); });
    compare("schedule", schedule_types(),
            [](const auto& json) { return to_json(schedule_from_json(json)); });
    compare("builder", builder_types(),
            [](const auto& json) { return to_json(builder_from_json(json, "builder")); });
    compare("source", source_types(), [](const auto& json) {
        return source_defaults(json.at("type").template get<std::string>());
    });
}

}  // namespace
}  // namespace cambrian::launch::train_test

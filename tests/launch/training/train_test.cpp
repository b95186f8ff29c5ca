#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/train/loss.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/engine/train/schedule.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/config/schema_validator.hpp"
#include "cambrian/tests/launch/training/train_support.hpp"
#include "cambrian/tests/support/line_listener.hpp"

namespace cambrian::launch::train_test {
namespace {

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
            "training.schedule.warm_up is 300");
    refused("training.clip_norm=-1", "training.clip_norm is -1");
    refused("training.clip_norm=1e-46", "training.clip_norm is 1e-46");
    refused("training.learning_rate=1e39", "training.learning_rate is 1e+39");
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
               "--set", "training.learning_rate=1e30", "--set", R"(task.loss={"type": "mse"})",
               "--set", "training.epochs=3"});
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
            std::size_t later = 0;
            for (const auto& [key, property] : keys.properties)
                if (!expected.contains(key)) {
                    ++later;  // Written only where it is not the default.
                    EXPECT_EQ((*property)["default"], 0) << name << ' ' << type << ' ' << key;
                } else if (property->contains("default")) {
                    EXPECT_EQ(nlohmann::json((*property)["default"]), expected.at(key))
                        << name << ' ' << type << ' ' << key;
                } else if (key != "type") {
                    EXPECT_TRUE(expected.at(key).empty() || expected.at(key) == "")
                        << name << ' ' << type << ' ' << key;
                }
            EXPECT_EQ(keys.properties.size(), expected.size() + later) << name << ' ' << type;
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

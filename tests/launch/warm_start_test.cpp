#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/distributed/protocol/initial_networks.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// Runs that start from a network: what evolve and train keep of it, and what they refuse.
namespace cambrian::launch::warm_start_test {
namespace {

using distributed::read_network;
using test::content;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;
using testing::Not;

class WarmStart : public testing::Test {
  protected:
    /// A command of both on the config; its run directory has a name of its own.
    [[nodiscard]] std::vector<std::string> arguments(const std::string& command,
                                                     const std::string& directory,
                                                     const std::vector<std::string>& sets) const {
        std::vector<std::string> words{command, config_, "--set",
                                       "run.directory=" + directory_.file(directory)};
        for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
        return words;
    }
    [[nodiscard]] Result attempt(const std::string& command, const std::string& directory,
                                 const std::vector<std::string>& sets = {}) const {
        return run(arguments(command, directory, sets));
    }
    /// → the path of its best network.
    std::string best_of(const std::string& command, const std::string& directory,
                        const std::vector<std::string>& sets = {}) const {
        const Result result = attempt(command, directory, sets);
        EXPECT_EQ(result.code, 0) << result.err;
        return directory_.file(directory + "/best.cmb");
    }
    static std::string from(const std::string& network) { return "network.initial=" + network; }

    /// The loss that `cambrian evaluate` tells.
    static double loss(const std::string& network, const std::string& phase = "train") {
        const Result result = run({"evaluate", network, "--phase", phase});
        EXPECT_EQ(result.code, 0) << result.err;
        const std::string word = "loss ";
        const std::size_t at = result.out.find(word);
        EXPECT_NE(at, std::string::npos) << result.out;
        return std::stod(result.out.substr(at + word.size()));
    }

    TemporaryDirectory directory_;
    /// One config for both commands.
    std::string config_ = directory_.write("both.json", R"({
        "run": {"name": "warm", "seed": 4, "stop": {"generations": 6}},
        "task": {"type": "dataset", "source": {"type": "spirals", "rows": 120, "noise": 0.01},
                 "loss": {"type": "cross_entropy"}},
        "network": {"layers": [{"type": "dense", "out": 8, "activation": "tanh"},
                               {"type": "dense"}]},
        "population": {"size": 12},
        "mutation": {"weight_power": 0.02, "layer_insert_rate": 0, "link_add_rate": 0},
        "training": {"epochs": 40, "batch": 30, "learning_rate": 0.05}})");
};

TEST_F(WarmStart, TrainEvolveTrainNeverGetsWorse) {
    const std::string first = best_of("train", "first");
    const std::string second = best_of("evolve", "second", {from(first)});
    const std::string third = best_of("train", "third", {from(second)});
    const std::string fourth = best_of("evolve", "fourth", {from(third)});
    EXPECT_LE(loss(second), loss(first));
    EXPECT_LE(loss(third), loss(second));
    EXPECT_LE(loss(fourth), loss(third));
    EXPECT_LT(loss(fourth), 0.98 * loss(first));
    // What is learnt is carried on: no founder with weights of its own comes as low.
    EXPECT_LT(loss(third), loss(best_of("evolve", "cold")));
    const auto genes = read_network(first).genome.slot_genes;
    EXPECT_EQ(read_network(fourth).genome.slot_genes[0].id, genes[0].id);
}

// Children that are fitter on the samples of training may be worse on those of validation.
TEST_F(WarmStart, EvolutionNeverEndsWorseThanItBeganOnValidationSamples) {
    const std::string split = R"(task.split={"validation": 0.25})";
    for (const char* every : {"1", "2", "5"}) {
        const std::string name = every;
        const std::string first = best_of("train", "first-" + name, {split});
        const std::string second = best_of("evolve", "second-" + name,
                                           {split, from(first), "task.validation.every=" + name});
        EXPECT_LE(loss(second, "validation"), loss(first, "validation") + 1e-6) << every;
    }
}

TEST_F(WarmStart, EvolutionBeginsWithTheNetworkItself) {
    const std::string first = best_of("train", "first");
    // Without a child there are only founders.
    const std::vector<std::string> only_founders{from(first), "run.stop.generations=1"};
    const Result result = attempt("evolve", "founders", only_founders);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("starts from " + first));
    EXPECT_THAT(result.out, HasSubstr("structure, genes and weights are kept"));
    const auto still = best_of("evolve", "still",
                               {from(first), "run.stop.generations=1", "mutation.weight_power=0"});
    EXPECT_EQ(read_network(still).genome.weights, read_network(first).genome.weights);
    EXPECT_EQ(read_network(still).birth, 0U);
}

TEST_F(WarmStart, ATrainingThatOnlyGetsWorseEndsWhereItBegan) {
    const std::string first = best_of("train", "first");
    for (const char* split : {"{}", R"({"validation": 0.25})"}) {
        const std::string task = std::string("task.split=") + split;
        const std::string name = split[1] == '}' ? "worse" : "worse-validated";
        const Result result =
            attempt("train", name,
                    {from(first), task, "training.learning_rate=30",
                     "training.optimizer={\"type\": \"sgd\"}", "training.clip_norm=1000"});
        ASSERT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.out, HasSubstr("no epoch was better than the start"));
        const auto kept = read_network(directory_.file(name + "/best.cmb"));
        EXPECT_EQ(kept.genome.weights, read_network(first).genome.weights) << split;
        EXPECT_EQ(kept.genome.slot_genes, read_network(first).genome.slot_genes);
        EXPECT_EQ(kept.generation, 0U) << "of no epoch";
        EXPECT_GT(read_network(directory_.file(name + "/last.cmb")).generation, 0U);
        EXPECT_NEAR(
            -kept.fitness,
            loss(directory_.file(name + "/best.cmb"), split[1] == '}' ? "train" : "validation"),
            1e-5);
    }
}

TEST_F(WarmStart, EveryIndividualOfATrainingStartsFromTheNetwork) {
    const std::string first = best_of("train", "first");
    const std::string second = best_of(
        "train", "second", {from(first), "training.learning_rate=[0.0, 0.0]", "training.epochs=1"});
    EXPECT_EQ(read_network(second).genome.weights, read_network(first).genome.weights);
}

TEST_F(WarmStart, FreshKeepsStructureAndGenesOnly) {
    const std::string first = best_of("train", "first");
    for (const std::string command : {"train", "evolve"}) {
        const Result result = attempt(command, "fresh-" + command,
                                      {from(first), "network.initial_weights=fresh",
                                       "training.epochs=1", "run.stop.generations=1"});
        // Each command is told what it reads.
        EXPECT_EQ(result.code, 2);
        const Result alone =
            attempt(command, "fresh-" + command,
                    {from(first), "network.initial_weights=fresh",
                     command == "train" ? "training.epochs=1" : "run.stop.generations=1"});
        ASSERT_EQ(alone.code, 0) << alone.err;
        EXPECT_THAT(alone.out, HasSubstr("weights are drawn afresh"));
        const auto fresh = read_network(directory_.file("fresh-" + command + "/best.cmb"));
        EXPECT_GT(loss(directory_.file("fresh-" + command + "/best.cmb")), loss(first));
        EXPECT_EQ(fresh.genome.slot_genes[0].id, read_network(first).genome.slot_genes[0].id);
    }
}

TEST_F(WarmStart, AStructureHasNoWeightsToKeepAndSaysSo) {
    const std::string first = best_of("train", "first");
    const std::string structure = directory_.file("structure.json");
    ASSERT_EQ(run({"convert", first, structure}).code, 0);
    for (const std::string command : {"train", "evolve"}) {
        const Result result = attempt(
            command, "structure-" + command,
            {from(structure), command == "train" ? "training.epochs=1" : "run.stop.generations=1"});
        ASSERT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.out, HasSubstr("(a structure; weights are drawn afresh)"));
        EXPECT_EQ(
            read_network(directory_.file("structure-" + command + "/best.cmb")).genome.blueprint,
            read_network(first).genome.blueprint);
    }
    EXPECT_THAT(attempt("train", "kept", {from(structure), "network.initial_weights=fresh"}).out,
                HasSubstr("drawn afresh"));
    // The config of a run is a structure, too.
    const std::string config = directory_.file("first/config.json");
    EXPECT_EQ(attempt("evolve", "of-config", {from(config)}).code, 0);
    const Result other = attempt("train", "other", {from(directory_.write("none.json", "{}"))});
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("network.initial is " + directory_.file("none.json") +
                                     ": it has no section network"));
}

TEST_F(WarmStart, SafetensorsKeepTheirWeightsToo) {
    const std::string first = best_of("train", "first");
    const std::string tensors = directory_.file("first.safetensors");
    ASSERT_EQ(run({"convert", first, tensors}).code, 0);
    const std::string a = best_of("evolve", "a", {from(first)});
    const std::string b = best_of("evolve", "b", {from(tensors)});
    EXPECT_EQ(content(directory_.file("a/generations.csv")),
              content(directory_.file("b/generations.csv")));
    EXPECT_EQ(read_network(a).genome, read_network(b).genome);
}

TEST_F(WarmStart, RefusesANetworkOfAnotherTask) {
    const std::string first = best_of("train", "first");
    for (const std::string command : {"train", "evolve"}) {
        const Result result =
            attempt(command, "other",
                    {from(first), "task.source={\"type\": \"sine\"}", "task.loss.type=mse"});
        EXPECT_EQ(result.code, 2) << result.err;
        EXPECT_THAT(result.err, HasSubstr("network.initial is " + first +
                                          ": the network reads 2 and writes 2 values"));
        EXPECT_THAT(result.err, HasSubstr("gives 1 and reads 1"));
        EXPECT_FALSE(std::filesystem::exists(directory_.file("other")));
        const Result absent = attempt(command, "absent", {from(directory_.file("absent.cmb"))});
        EXPECT_EQ(absent.code, 3);
        EXPECT_THAT(absent.err, HasSubstr("network.initial is " + directory_.file("absent.cmb")));
        const Result none = attempt(command, "none", {"network.initial_weights=keep"});
        EXPECT_EQ(none.code, 2);
        EXPECT_THAT(none.err, HasSubstr("network.initial_weights is given without"));
    }
}

TEST_F(WarmStart, NeitherAResumeNorAnEvaluationNeedsTheFile) {
    const std::string first = best_of("train", "first");
    const std::string moved = directory_.file("start.cmb");
    std::filesystem::copy_file(first, moved);
    const std::string whole = best_of("evolve", "whole", {from(moved)});
    best_of("evolve", "run", {from(moved), "run.stop.generations=3"});
    best_of("train", "trained", {from(moved)});
    std::filesystem::remove(moved);
    const Result resumed =
        run({"resume", directory_.file("run"), "--set", "run.stop.generations=6"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(content(directory_.file("run/generations.csv")),
              content(directory_.file("whole/generations.csv")));
    EXPECT_EQ(content(directory_.file("run/best.cmb")), content(whole));
    EXPECT_EQ(run({"resume", directory_.file("trained")}).code, 0);
    for (const std::string name : {"run", "trained"}) {
        EXPECT_EQ(run({"evaluate", directory_.file(name + "/best.cmb")}).code, 0);
        EXPECT_EQ(run({"inspect", directory_.file(name + "/best.cmb")}).code, 0);
    }
}

TEST_F(WarmStart, AnotherContentOfTheFileIsAnotherRun) {
    const std::string start = directory_.file("start.cmb");
    std::filesystem::copy_file(best_of("train", "first"), start);
    best_of("evolve", "run", {from(start), "run.stop.generations=3"});
    best_of("train", "trained", {from(start)});
    std::filesystem::copy_file(best_of("train", "second", {"run.seed=5"}), start,
                               std::filesystem::copy_options::overwrite_existing);
    std::vector<std::string> words = arguments("evolve", "run", {from(start)});
    words.emplace_back("--continue");
    const Result result = run(words);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("content.initial"));
    // The copy in the directory is checked, too.
    for (const std::string name : {"run", "trained"}) {
        std::filesystem::copy_file(start, distributed::initial_copy(directory_.file(name)),
                                   std::filesystem::copy_options::overwrite_existing);
        const Result copied = run({"resume", directory_.file(name)});
        EXPECT_NE(copied.code, 0) << name;
        EXPECT_THAT(copied.err, testing::AnyOf(HasSubstr("content.initial"),
                                               HasSubstr("is of another training")));
    }
}

TEST_F(WarmStart, APopulationComesOfWholeCheckpointsFoldersAndLists) {
    best_of("evolve", "old", {"run.stop.generations=4"});
    const std::string old = directory_.file("old");
    ASSERT_EQ(run({"extract", old, "--elite", "2"}).code, 0);
    const distributed::NetworkFile best = read_network(old + "/best.cmb");
    // The best of the old run is there before anybody has a child.
    const std::vector<std::string> one{"run.stop.generations=1", "population.reevaluate=never"};
    for (const std::string& initial : {old, old + "/checkpoint.cmb", old + "/elites",
                                       "[\"" + old + "/best.cmb\", \"" + old + "/elites\"]"}) {
        std::vector<std::string> sets = one;
        sets.push_back(from(initial));
        std::filesystem::remove_all(directory_.file("next"));
        const distributed::NetworkFile next = read_network(best_of("evolve", "next", sets));
        EXPECT_GE(next.fitness, best.fitness) << initial;
        EXPECT_TRUE(std::filesystem::exists(directory_.file("next/initial/2.cmb"))) << initial;
    }
    // The copies serve a resume.
    std::filesystem::remove_all(old);
    EXPECT_EQ(run({"resume", directory_.file("next"), "--set", "run.stop.generations=3"}).code, 0);
    // One that is lost is another run.
    std::filesystem::remove(directory_.file("next/initial/2.cmb"));
    const Result without = run({"resume", directory_.file("next")});
    EXPECT_EQ(without.code, 2);
    EXPECT_THAT(without.err, HasSubstr("content.initial"));
}

TEST_F(WarmStart, RefusesWhatIsNoPopulation) {
    std::filesystem::create_directories(directory_.file("empty"));
    const Result empty = attempt("evolve", "run", {from(directory_.file("empty"))});
    EXPECT_NE(empty.code, 0);
    EXPECT_THAT(empty.err, HasSubstr("holds neither a checkpoint nor networks"));
    best_of("evolve", "old", {"run.stop.generations=2"});
    const Result trained = attempt("train", "trained", {from(directory_.file("old"))});
    EXPECT_EQ(trained.code, 2);
    EXPECT_THAT(trained.err, HasSubstr("cambrian train starts from one"));
    const Result few = attempt("evolve", "few",
                               {from(directory_.file("old")), "population.size=2",
                                "population.elite_fraction=0.5", "run.stop.generations=1"});
    EXPECT_THAT(few.out + few.err, HasSubstr("of which the first 2 are founders"));
}

TEST_F(WarmStart, AResumedTrainingEndsAsIfItHadNeverStopped) {
    const std::vector<std::string> sets{
        from(best_of("train", "first")), "run.directory=" + directory_.file("parts"),
        "training.learning_rate=[0.05, 3.0]", "training.early_stop.patience=3"};
    const Schema schema;
    const distributed::TrainingJob job = make_training(
        resolve_training(read_config(config_, sets), schema), schema, evolve::standard_tasks());
    ASSERT_TRUE(job.keeps_weights());
    const auto backend = make_cpu_backend({});
    const DataSet& data = job.task->learning()->data;
    const Network network(job.blueprint);
    // A step at a time, each by another trainer, from before the first one.
    std::vector<std::byte> state = Trainer(*backend, network, data, job.settings).state();
    std::int64_t epochs = 0;
    for (bool finished = false; !finished;) {
        Trainer trainer(*backend, network, data, job.settings);
        trainer.restore(state, "state");
        int steps = 0;
        if (trainer.run_epoch([&] { return steps++ < 1; })) ++epochs;
        finished = trainer.finished();
        state = trainer.state();
    }
    Trainer whole(*backend, network, data, job.settings);
    whole.run();
    EXPECT_EQ(whole.epochs_done(), epochs);
    EXPECT_TRUE(whole.state() == state);
    EXPECT_LE(whole.best_loss(1), loss(directory_.file("first/best.cmb")) + 1e-6);
}

TEST_F(WarmStart, OneConfigServesBothCommandsAndSaysWhatEachIgnores) {
    const Result evolved = attempt("evolve", "evolved");
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    EXPECT_THAT(evolved.out, HasSubstr("ignored: training (of 'cambrian train')\n"));
    const Result trained = attempt("train", "trained");
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_THAT(trained.out,
                HasSubstr("ignored: population, mutation, run.stop (of 'cambrian evolve')\n"));

    // The other's section is no part of what a run is.
    for (const std::string name : {"evolved", "trained"}) {
        const auto kept = nlohmann::json::parse(content(directory_.file(name + "/config.json")));
        EXPECT_EQ(kept.contains("training"), name == "trained");
        EXPECT_EQ(kept.contains("population"), name == "evolved");
        const auto identity =
            nlohmann::json::parse(read_network(directory_.file(name + "/best.cmb")).identity_json);
        EXPECT_EQ(identity.contains("training"), name == "trained");
        EXPECT_EQ(identity.contains("mutation"), name == "evolved");
        EXPECT_EQ(run({"resume", directory_.file(name)}).code, 0);
        EXPECT_EQ(run({"evaluate", directory_.file(name + "/best.cmb")}).code, 0);
    }
    nlohmann::json alone = nlohmann::json::parse(content(config_));
    alone["training"]["epochs"] = 41;
    directory_.write("both.json", alone.dump());
    std::vector<std::string> words = arguments("evolve", "evolved", {});
    words.emplace_back("--continue");
    EXPECT_EQ(run(words).code, 0);
    alone.erase("training");
    directory_.write("both.json", alone.dump());
    best_of("evolve", "alone");
    EXPECT_EQ(content(directory_.file("alone/best.cmb")),
              content(directory_.file("evolved/best.cmb")));
    EXPECT_EQ(run(words).code, 0);
}

TEST_F(WarmStart, AConfigOfBothIsValidForBothAndCheckedForBoth) {
    const Result valid = run({"validate", config_});
    ASSERT_EQ(valid.code, 0) << valid.err;
    EXPECT_THAT(valid.out, HasSubstr("valid for training: "));
    EXPECT_THAT(valid.out, HasSubstr("valid for evolution: "));
    // A slip in the section of the other command is no secret.
    for (const std::string command : {"train", "evolve", "validate"})
        for (const char* key : {"population.sise=3", "training.epoch=3"})
            EXPECT_EQ(run({command, config_, "--set", key}).code, 2) << command << ' ' << key;
    EXPECT_THAT(run({"evolve", config_, "--set", "training.epochs=2"}).err,
                HasSubstr("training is a section of 'cambrian train'"));
    EXPECT_THAT(run({"train", config_, "--set", "population.size=20"}).err,
                HasSubstr("population is a key of evolution"));
    EXPECT_THAT(run({"evolve", config_, "--dry-run"}).out, HasSubstr("ignored: training"));
    EXPECT_THAT(run({"train", config_, "--print-config"}).out, Not(HasSubstr("ignored")));
}

}  // namespace
}  // namespace cambrian::launch::warm_start_test

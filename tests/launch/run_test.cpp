#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/variation/birth.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using test::write_xor;
using testing::HasSubstr;

/// One small run that the tests of finished networks share.
class FinishedRun : public testing::Test {
  protected:
    void SetUp() override {
        const Result result = run({"evolve", write_xor(directory_)});
        ASSERT_EQ(result.code, 0) << result.err;
        console_ = result.out;
        best_ = directory_.file("run-xor/best.cmb");
    }

    TemporaryDirectory directory_;
    std::string console_;
    std::string best_;
};

TEST_F(FinishedRun, SaysWhatItReachedAndWhereToLook) {
    EXPECT_THAT(console_, testing::StartsWith("small: task xor, population 12"));
    EXPECT_THAT(console_, HasSubstr("generation     0"));
    EXPECT_THAT(console_, HasSubstr("generation     2"));
    EXPECT_THAT(console_, HasSubstr("all generations are done after 3 generations"));
    EXPECT_THAT(console_, HasSubstr("cambrian inspect " + best_));
}

TEST_F(FinishedRun, CanBeInspected) {
    const Result text = run({"inspect", best_});
    EXPECT_EQ(text.code, 0) << text.err;
    for (const char* part :
         {"2 inputs, 1 outputs", "task xor, seed 1", "head", "gene slot 0", "total"})
        EXPECT_THAT(text.out, HasSubstr(part));
    const nlohmann::json json = nlohmann::json::parse(run({"inspect", best_, "--json"}).out);
    EXPECT_EQ(json["identity"]["task"]["type"], "xor");
    EXPECT_FALSE(json["identity"]["run"].contains("directory"));
    EXPECT_EQ(json["telemetry"]["layers"].back()["place"], "head");
    EXPECT_EQ(json["telemetry"]["total"]["parameters"], json["weights"]);
    EXPECT_THAT(run({"inspect", best_, "--dot"}).out, HasSubstr("input -> slot0"));
    EXPECT_EQ(run({"inspect", best_, "--dot", "--json"}).code, 2);
}

TEST_F(FinishedRun, EvaluatesToTheFitnessItRecorded) {
    const Result result = run({"evaluate", best_});
    EXPECT_EQ(result.code, 0) << result.err;
    const double fitness = distributed::read_network(best_).fitness;
    char expected[64];
    std::snprintf(expected, sizeof expected, "fitness %.6g\n", fitness);
    EXPECT_THAT(result.out, HasSubstr(expected));
    EXPECT_EQ(run({"evaluate", best_, "--episodes", "3"}).code, 2);
    EXPECT_EQ(run({"evaluate", best_, "--phase", "test"}).code, 2);
}

TEST_F(FinishedRun, InfersRows) {
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n1,1\n");
    const Result result = run({"infer", best_, "--input", rows});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, testing::StartsWith("output_0\n"));
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3);
    const std::string answers = directory_.file("answers.csv");
    EXPECT_EQ(run({"infer", best_, "--input", rows, "-o", answers}).code, 0);
    const Result observed = run({"infer", best_, "--input", rows, "--observe"});
    EXPECT_EQ(observed.out, result.out);
    EXPECT_THAT(observed.err, HasSubstr("head"));
    EXPECT_THAT(observed.err, HasSubstr("active"));
    std::stringstream written;
    written << std::ifstream(answers).rdbuf();
    EXPECT_EQ(written.str(), result.out);
    EXPECT_EQ(run({"infer", best_, "--input", directory_.write("wide.csv", "a,b,c\n0,1,2\n")}).code,
              3);
    EXPECT_EQ(run({"infer", best_, "--input", directory_.write("bare.csv", "0,1\n1,1\n")}).code, 3);
}

TEST_F(FinishedRun, RefusesEveryKindOfBadNetworkFile) {
    std::stringstream file;
    file << std::ifstream(best_, std::ios::binary).rdbuf();
    const std::string good = file.str();
    std::string damaged = good;
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    std::string noise(good.size(), '\0');
    for (std::size_t i = 0; i < noise.size(); ++i)
        noise[i] = static_cast<char>(i * i * 2654435761U);
    const std::vector<std::array<std::string, 3>> cases{
        {"damaged.cmb", damaged, "section \"structure\" is damaged"},
        {"truncated.cmb", good.substr(0, good.size() / 2), "its length is not the one it states"},
        {"longer.cmb", good + "x", "its length is not the one it states"},
        {"random.cmb", noise, "it is not a Cambrian file"},
        {"empty.cmb", "", "it ends too early"}};
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n");
    for (const auto& [name, content, reason] : cases) {
        const std::string path = directory_.write(name, content);
        for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
                 {"inspect", path},
                 {"evaluate", path},
                 {"infer", path, "--input", rows},
                 {"compare", best_, path},
                 {"splice", path, best_, "-o", directory_.file("child.cmb")}}) {
            const Result result = run(arguments);
            EXPECT_EQ(result.code, 3) << arguments[0] << ' ' << name;
            EXPECT_EQ(result.err, "cambrian: error: " + path + " cannot be read (" + reason +
                                      ") restore it from a good copy\n");
            EXPECT_EQ(result.out, "");
        }
    }
    const std::string checkpoint = directory_.file("run-xor/checkpoint.cmb");
    EXPECT_EQ(run({"inspect", checkpoint}).code, 3);
    EXPECT_THAT(run({"inspect", checkpoint}).err, HasSubstr("(it is a checkpoint file)"));
    EXPECT_THAT(run({"inspect", directory_.file("absent.cmb")}).err,
                HasSubstr("cannot be read (No such file or directory)"));
}

TEST_F(FinishedRun, ItsConfigIsAConfigOfTheSameExperiment) {
    const std::string config = directory_.file("run-xor/config.json");
    const std::string again = directory_.file("again");
    const Result result = run({"evolve", config, "--quiet", "--set", "run.directory=" + again});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(distributed::read_network(again + "/best.cmb").identity_json,
              distributed::read_network(best_).identity_json);
}

TEST_F(FinishedRun, IsComparedAndSpliced) {
    EXPECT_THAT(run({"compare", best_, best_}).out, testing::StartsWith("overall 1.0000"));
    const std::string child = directory_.file("child.cmb");
    const Result result = run({"splice", best_, best_, "-o", child, "--report"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("similarity"));
    EXPECT_THAT(result.out, HasSubstr("child, other"));
    EXPECT_EQ(run({"splice", best_, best_, "-o", directory_.file("aligned.cmb"), "--mode", "neuron",
                   "--align", "permutation"})
                  .code,
              0);
    EXPECT_EQ(distributed::read_network(child).genome.weights,
              distributed::read_network(best_).genome.weights);
    EXPECT_THAT(run({"splice", best_, best_, "-o", child, "--mode", "neat"}).err,
                HasSubstr("has no neurons with a history"));
    // A child of two networks belongs to no run: its task must be named.
    EXPECT_EQ(run({"evaluate", child}).code, 2);
    EXPECT_EQ(run({"evaluate", child, "--config", directory_.file("xor.json")}).code, 0);
}

TEST_F(FinishedRun, IsComparedByEveryMeasure) {
    EXPECT_THAT(run({"compare", best_, best_, "--measure", "permutation"}).out,
                testing::StartsWith("overall 1.0000"));
    const Result given = run({"compare", best_, best_, "--measure", "activation"});
    EXPECT_THAT(given.out, testing::StartsWith("overall 1.0000 by what layers give for 256 rows"));
    EXPECT_THAT(given.out, HasSubstr("head       alignment 1.0000"));
    EXPECT_EQ(run({"compare", best_}).code, 2);
    EXPECT_EQ(run({"compare", best_, best_, "--measure", "by eye"}).code, 2);
}

TEST_F(FinishedRun, ItsPopulationIsComparedPairByPair) {
    for (const char* measure : {"strict", "permutation", "activation"}) {
        const Result result =
            run({"compare", directory_.file("run-xor"), "--measure", measure, "--csv", "-"});
        ASSERT_EQ(result.code, 0) << result.err;
        std::istringstream lines(result.out);
        std::string header;
        std::getline(lines, header);
        EXPECT_THAT(header, testing::StartsWith("network,birth "));
        const auto columns = std::count(header.begin(), header.end(), ',');
        EXPECT_GE(columns, 2);
        std::int64_t rows = 0;
        for (std::string line; std::getline(lines, line); ++rows)
            EXPECT_EQ(std::count(line.begin(), line.end(), ','), columns);
        EXPECT_EQ(rows, columns);
    }
    const std::string file = directory_.file("alike.csv");
    const Result told =
        run({"compare", best_, directory_.file("run-xor/checkpoint.cmb"), "--csv", file});
    EXPECT_THAT(told.out, HasSubstr("networks, mean similarity of pairs"));
    std::ifstream written(file);
    std::string header;
    std::getline(written, header);
    EXPECT_THAT(header,
                testing::StartsWith("network," + best_ + "," +
                                    directory_.file("run-xor/checkpoint.cmb") + ": birth "));
    EXPECT_EQ(run({"compare", best_, best_, "--csv", best_}).code, 2);
}

TEST(SpliceCommand, CrossesSingleNeuronsByTheirHistory) {
    const TemporaryDirectory directory;
    const auto path = [&](const char* name) { return directory.file(name); };
    const auto evolved = [&](const char* seed) {
        const std::string place = path(seed);
        const Result result =
            run({"evolve", CAMBRIAN_SOURCE_DIR "/configs/xor_neat.json", "-q", "--set",
                 "run.directory=" + place, "--set", std::string("run.seed=") + seed, "--set",
                 "run.stop.generations=12", "--set", "run.stop.solved=false"});
        EXPECT_EQ(result.code, 0) << result.err;
        return place + "/best.cmb";
    };
    const std::string a = evolved("1");
    const std::string b = evolved("2");
    const std::string child = path("child.cmb");
    const Result result =
        run({"splice", a, b, "-o", child, "--mode", "neat", "--report", "--fitness", "2", "1"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(" genes match, "));
    EXPECT_THAT(result.out, HasSubstr("is the fitter parent"));
    const auto genes = [](const std::string& file) {
        const evolve::Genome genome = distributed::read_network(file).genome;
        return std::pair(genome.neuron_genes, genome.weights);
    };
    // What the fitter one has, some of it with weights of the other.
    EXPECT_EQ(genes(child).first, genes(a).first);
    EXPECT_NE(genes(child).second, genes(a).second);
    EXPECT_EQ(run({"splice", a, a, "-o", path("same.cmb"), "--mode", "neat"}).code, 0);
    EXPECT_EQ(genes(path("same.cmb")), genes(a));
    EXPECT_THAT(run({"splice", a, b, "-o", child, "--mode", "neat", "--align", "permutation"}).err,
                HasSubstr("--align is given (--mode neat matches neurons by their history)"));
}

TEST(SpliceCommand, UnknownFitnessCountsAsEqual) {
    const TemporaryDirectory directory;
    const auto path = [&](const char* name) { return directory.file(name); };
    distributed::NetworkFile a;
    RandomStream rng(random_key(3, "test"), 0);
    a.genome = evolve::sample_genome(
        blueprint_from_json(nlohmann::json::parse(
                                R"({"layers": [{"type": "dense", "out": 8}, {"type": "dense"}]})"),
                            4, 2),
        rng, 7);
    a.fitness = 3.0;
    distributed::NetworkFile b = a;
    for (float& weight : b.genome.weights) weight += 0.01F * static_cast<float>(rng.normal());
    b.fitness = evolve::worst_fitness;  // A network made by hand.
    write_network(path("a.cmb"), a);
    write_network(path("b.cmb"), b);
    const auto spliced = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"splice", path("a.cmb"), path("b.cmb"), "-o",
                                           path("child.cmb")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        return result.out;
    };
    const std::string unknown = spliced({"--report"});
    EXPECT_THAT(unknown, HasSubstr("they count as equal"));
    EXPECT_THAT(unknown, HasSubstr("gives the structure"));
    EXPECT_THAT(unknown, testing::Not(HasSubstr("almost a copy")));
    const auto child = [&] { return distributed::read_network(path("child.cmb")).genome.weights; };
    const std::vector<float> mixed = child();
    EXPECT_NE(mixed, a.genome.weights);
    // The same said by hand.
    EXPECT_THAT(spliced({"--fitness", "-2", "-2"}), testing::Not(HasSubstr("count as equal")));
    EXPECT_EQ(child(), mixed);
    EXPECT_THAT(spliced({"--fitness", "-5", "1e3"}),
                HasSubstr(path("b.cmb") + " is the fitter parent"));
    EXPECT_THAT(spliced({"--fitness", "1", "1", "--alpha", "0.005", "--report"}),
                HasSubstr("% of the weights are the other parent's: the child is almost a copy"));
    EXPECT_EQ(
        run({"splice", path("a.cmb"), path("b.cmb"), "-o", path("c.cmb"), "--fitness", "nan", "1"})
            .code,
        2);
}

TEST_F(FinishedRun, ResumeChangesOnlyWhatDoesNotDecideTheResult) {
    const std::string place = directory_.file("run-xor");
    const Result refused = run({"resume", place, "--set", "population.size=13"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("population.size cannot change from 12 to 13"));
    EXPECT_THAT(run({"resume", place, "--set", "task.type=cart_pole"}).err,
                HasSubstr("task.type cannot change from \"xor\" to \"cart_pole\""));
    EXPECT_EQ(run({"resume", place, "--set", "run.directory=elsewhere"}).code, 2);
    const Result longer = run({"resume", place, "--set", "run.stop.generations=5"});
    EXPECT_EQ(longer.code, 0) << longer.err;
    EXPECT_THAT(longer.out, HasSubstr("changed: run.stop.generations from 3 to 5"));
    EXPECT_THAT(longer.out, HasSubstr("continued at generation 3"));
}

TEST_F(FinishedRun, ContinueNamesTheKeyThatDiffers) {
    const std::string config = directory_.file("xor.json");
    EXPECT_EQ(run({"evolve", config, "--quiet"}).code, 2);
    const Result refused = run({"evolve", config, "--continue", "--set", "splice.alpha=0.25"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("splice.alpha cannot change from 0.5 to 0.25"));
    EXPECT_EQ(run({"evolve", config, "--continue", "--quiet"}).code, 0);
}

TEST_F(FinishedRun, ADirectoryThatIsNotUtf8IsNamedOrRead) {
    const std::string place = directory_.file("jos\xe9");
    std::filesystem::rename(directory_.path() / "run-xor", place);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"resume", place}, {"extract", place}, {"compare", place}}) {
        const Result refused = run(command);
        EXPECT_EQ(refused.code, 2) << command.front();
        EXPECT_THAT(refused.err, HasSubstr("the run lies in")) << command.front();
        EXPECT_THAT(refused.err, HasSubstr("jos? (not UTF-8")) << command.front();
    }
    const Result report = run({"report", place});
    EXPECT_EQ(report.code, 0) << report.err;
    const Result trials =
        run({"trials", directory_.file("xor.json"), "--runs", "1", "--directory", place + "s"});
    EXPECT_EQ(trials.code, 2);
    EXPECT_THAT(trials.err, HasSubstr("--directory is"));
}

TEST(Run, ANetworkAboveTheMemoryLimitIsADeviceErrorAtOnce) {
    const TemporaryDirectory directory;
    const Result result =
        run({"evolve", write_xor(directory), "--set", "engine.memory_limit=1000", "--set",
             R"(network.layers=[{"type":"dense","out":1000},{"type":"dense"}])"});
    EXPECT_EQ(result.code, 4);
    EXPECT_THAT(result.err, HasSubstr("one network of 4001 weights needs 16004 bytes "
                                      "(engine.memory_limit gives 1000) use a smaller network"));
}

TEST(Run, StatusRepeatsWhatWasReached) {
    const TemporaryDirectory directory;
    std::string rows = "x,y\n";
    for (int i = 0; i < 20; ++i) rows += fmt::format("{},{}\n", i % 7, 2 * (i % 7));
    directory.write("rows.csv", rows);
    const std::string config = directory.write(
        "table.json", R"({"run": {"directory": ")" + directory.file("run") +
                          R"(", "stop": {"generations": 2}}, "population": {"size": 4},
                             "task": {"type": "table", "train": ["rows.csv"], "test": ["rows.csv"],
                                      "targets": ["y"], "inputs": ["x"],
                                      "validation": {"tail_fraction": 0.25}}})");
    ASSERT_EQ(run({"evolve", config, "--quiet"}).code, 0);
    std::ifstream file(directory.file("run/status.json"));
    const nlohmann::json status = nlohmann::json::parse(file);
    EXPECT_EQ(status["exit_code"], 0);
    EXPECT_EQ(status["reason"], "generations");
    const auto best = distributed::read_network(directory.file("run/best.cmb"));
    EXPECT_EQ(status["best"], best.fitness);
    EXPECT_EQ(status["validated"], best.validated.value());
    const Result tested = run({"evaluate", directory.file("run/best.cmb"), "--phase", "test"});
    EXPECT_EQ(tested.code, 0) << tested.err;
    EXPECT_THAT(tested.out,
                HasSubstr(fmt::format("fitness {:.6g}\n", status["tested"].get<double>())));
}

TEST(Run, TasksOfOnesOwnTakeTheirOwnKeys) {
    const TemporaryDirectory directory;
    evolve::TaskRegistry tasks = evolve::standard_tasks();
    tasks.add(
        "mine",
        [](const nlohmann::json& settings, const evolve::TaskContext&) {
            const double target = settings.at("target").get<double>();
            return evolve::make_callback_task(1, 1, [target](evolve::Population& networks) {
                const std::vector<float> input{1.0F};
                std::vector<double> fitness;
                for (const float output : networks.outputs(input, 1))
                    fitness.push_back(-(double{output} - target) * (double{output} - target));
                return fitness;
            });
        },
        std::vector<std::string>{"target"});
    const std::string config = directory.write(
        "mine.json", R"({"run": {"directory": ")" + directory.file("run") +
                         R"(", "stop": {"generations": 3}}, "population": {"size": 8},
                            "task": {"type": "mine", "target": 2.5}})");
    EXPECT_EQ(run({"evolve", config, "--quiet"}, tasks).code, 0);
    EXPECT_EQ(run({"evaluate", directory.file("run/best.cmb")}, tasks).code, 0);
    EXPECT_EQ(run({"evaluate", directory.file("run/best.cmb")}).code, 2);
    const Result misspelt = run({"evolve", config, "--set", "task.targett=1"}, tasks);
    EXPECT_EQ(misspelt.code, 2);
    EXPECT_THAT(misspelt.err, HasSubstr("task.targett is not a key of task \"mine\""));
    EXPECT_THAT(misspelt.err, HasSubstr("did you mean \"target\"?"));
}

TEST(Run, SaysThatNobodyHasAValidFitness) {
    const TemporaryDirectory directory;
    directory.write("rows.csv", "x,y\n1e30,1\n-1e30,2\n1e30,3\n");
    const std::string config = directory.write(
        "huge.json",
        R"({"run": {"directory": ")" + directory.file("run") +
            R"(", "stop": {"generations": 2, "fitness": -1}}, "population": {"size": 4},
                            "network": {"layers": [{"type": "dense"}]},
                            "task": {"type": "table", "train": ["rows.csv"], "targets": ["y"],
                                     "normalise": "none"}})");
    const Result result = run({"evolve", config});
    EXPECT_THAT(result.out, HasSubstr("no individual had a valid fitness"));
    EXPECT_THAT(result.out, HasSubstr("none was reached"));
    EXPECT_THAT(result.out, testing::Not(HasSubstr("best fitness 0")));
}

TEST(Run, TellsHowATableIsMeasured) {
    const TemporaryDirectory directory;
    std::string rows = "x,y\n";
    for (int i = 0; i < 20; ++i) rows += fmt::format("{},{}\n", i % 7, 200 * (i % 7));
    directory.write("rows.csv", rows);
    const std::string config = directory.write(
        "table.json", R"({"run": {"directory": ")" + directory.file("run") +
                          R"(", "stop": {"generations": 2}}, "population": {"size": 4},
                             "task": {"type": "table", "train": ["rows.csv"], "targets": ["y"]}})");
    const Result result = run({"evolve", config});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("least_squares"));
    EXPECT_THAT(result.out, HasSubstr("network, scaled"));
    EXPECT_THAT(result.out, HasSubstr("(mse in the units of the file; scaled: of the network's"));
}

TEST(Run, SaysThatThreadsOutnumberProcessors) {
    const TemporaryDirectory directory;
    const std::string config = directory.write(
        "xor.json", R"({"run": {"directory": ")" + directory.file("run") +
                        R"(", "stop": {"generations": 1}}, "population": {"size": 4},
                           "task": {"type": "xor"}, "engine": {"backend": "cpu"}})");
    const int threads = available_processors() + 1;
    const Result result =
        run({"evolve", config, "--set", fmt::format("engine.threads={}", threads)});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out,
                HasSubstr(fmt::format("warning: engine.threads is {} (there are", threads)));
}

TEST(Threads, AreTheShareOfARankAndNoMoreThanItIsBoundTo) {
    EXPECT_EQ(own_threads(16, 16, 1), 16);
    EXPECT_EQ(own_threads(16, 16, 4), 4);    // Nobody is bound.
    EXPECT_EQ(own_threads(8, 16, 2), 8);     // Each to a socket of its own.
    EXPECT_EQ(own_threads(8, 16, 4), 4);     // Two to each socket.
    EXPECT_EQ(own_threads(1, 16, 2), 1);     // Each to a core.
    EXPECT_EQ(own_threads(16, 128, 2), 16);  // A part of the host, as batch systems give it.
    EXPECT_EQ(own_threads(2, 2, 8), 1);      // More ranks than processors.
    EXPECT_EQ(own_threads(4, 0, 1), 4);      // The launcher could not be asked.
}

TEST(Threads, AreCountedOverTheRanksOfAHost) {
    EXPECT_EQ(threads_note(2, 1, 2), "");
    EXPECT_EQ(threads_note(1, 8, 2), "");
    EXPECT_THAT(threads_note(1000, 1, 2), HasSubstr("(there are 2 processors"));
    EXPECT_THAT(threads_note(2, 4, 4), HasSubstr("2 by 4 ranks of this host each"));
    EXPECT_THAT(threads_note(2, 4, 4), HasSubstr("set it to 1"));
}

TEST(EvaluateEpisodes, AMeanOfVeryManyEpisodesIsTheirs) {
    // Every episode lasts all of its 500 steps; one chain in 32 bits came to a mean of 498.7.
    const TemporaryDirectory directory;
    const std::string config = directory.write(
        "poles.json", R"({"run": {"seed": 1, "directory": ")" + directory.file("run") +
                          R"(", "stop": {"generations": 8}}, "population": {"size": 64},
            "task": {"type": "cart_pole", "steps": 500}})");
    ASSERT_EQ(run({"evolve", config}).code, 0);
    const Result result = run({"evaluate", directory.file("run/best.cmb"), "--episodes", "200000"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("fitness 500\n")) << result.out;
    EXPECT_THAT(result.out, HasSubstr("200000 samples: mean 500, deviation 0"));
}

}  // namespace
}  // namespace cambrian::launch

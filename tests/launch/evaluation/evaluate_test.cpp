#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/evolve/analysis/statistics.hpp"
#include "cambrian/tests/launch/evaluation/evaluate_support.hpp"

namespace cambrian::launch::evaluate_tests {

/// What a command says of a network, which a number of rows drawn in each generation changes not.
std::string said_on_all_rows(const std::vector<std::string>& command) {
    std::vector<std::string> drawn = command;
    for (const char* word : {"--set", "task.rows_per_evaluation=4"}) drawn.emplace_back(word);
    const Result all = run(command);
    EXPECT_EQ(all.code, 0) << all.err;
    EXPECT_EQ(run(drawn).out, all.out);
    return all.out;
}

TEST_F(Evaluate, MetricsOfClassesAgreeWithTheTask) {
    const auto files = trained(classes(), 1);
    for (const char* phase : {"train", "validation", "test"}) {
        const Json json = json_of({files[0], "--phase", phase});
        const Json& network = json["networks"][0];
        EXPECT_NEAR(network["metrics"]["log_loss"].get<double>(), -network["fitness"].get<double>(),
                    1e-5);
        const Result text = run({"evaluate", files[0], "--phase", phase, "--metrics"});
        EXPECT_THAT(text.out,
                    HasSubstr(fmt::format("accuracy {:.2f}%",
                                          100.0 * network["metrics"]["accuracy"].get<double>())));
        for (const char* word : {"  balanced_accuracy", "  confusion: a line for each class",
                                 "  probability", "  log_loss"})
            EXPECT_THAT(text.out, HasSubstr(word));
        std::uint64_t sum = 0;
        for (const Json& line : network["confusion"])
            for (const Json& cell : line) sum += cell.get<std::uint64_t>();
        EXPECT_EQ(sum, json["answers"].get<std::uint64_t>());
        EXPECT_EQ(sum, std::string(phase) == "train" ? 36U : 27U);
        EXPECT_EQ(network["classes"][1]["class"], 20);
    }
}

TEST_F(Evaluate, ASingleScoreOfTwoClassesHasBoth) {
    std::string text = "p,label\n";
    for (int i = 0; i < 40; ++i)
        text += fmt::format("{},{}\n", std::sin(1.7 * i), i % 3 == 0 ? 1 : 0);
    directory_.write("two.csv", text);
    const auto files = trained(
        R"({"type": "dataset", "source": {"type": "csv", "files": ["two.csv"],
        "targets": ["label"], "classes": true}, "loss": {"type": "bce_with_logits"}})",
        1);
    const Json network = json_of({files[0], "--phase", "train"})["networks"][0];
    EXPECT_NEAR(network["metrics"]["log_loss"].get<double>(), -network["fitness"].get<double>(),
                1e-5);
    EXPECT_EQ(network["confusion"].size(), 2U);
}

TEST_F(Evaluate, MetricsOfATableAreInTheUnitsOfItsFile) {
    // Windows that overlap, of which the first steps do not count, and changes as answers.
    const std::string task = R"({"type": "table", "train": ["rows.csv"], "inputs": ["p", "q"],
        "targets": ["p", "q"], "time_offset": 1, "difference": true, "sequence_length": 7,
        "validation": {"tail_fraction": 0.3}})";
    const auto files = trained(task, 1);
    for (const char* phase : {"train", "validation"}) {
        const Json json = json_of({files[0], "--phase", phase, "--set", "task.warm_up=2"});
        const Json& network = json["networks"][0];
        EXPECT_NEAR(network["metrics"]["mse"].get<double>(), -network["fitness"].get<double>(),
                    1e-3);
        EXPECT_LT(network["metrics"]["r2"].get<double>(), 1.0);
        std::uint64_t counted = 0;
        for (const Json& bucket : network["deviations"]["buckets"])
            counted += bucket["count"].get<std::uint64_t>();
        EXPECT_EQ(counted, 2 * json["answers"].get<std::uint64_t>());
    }
    // The answers are those of infer: R2 of the values, not of their changes.
    const Json network =
        json_of({files[0], "--phase", "train", "--set", "task.sequence_length=0"})["networks"][0];
    const Result inferred = run({"infer", files[0], "--input", directory_.file("rows.csv")});
    ASSERT_EQ(inferred.code, 0) << inferred.err;
    EXPECT_THAT(run({"evaluate", files[0], "--phase", "train", "--metrics"}).out,
                HasSubstr("  deviation "));
    EXPECT_GT(network["metrics"]["mae"].get<double>(), 0.0);
}

TEST_F(Evaluate, AFinishedNetworkIsJudgedOnAllRows) {
    const std::string split =
        R"({"type": "dataset", "source": {"type": "csv", "files": ["rows.csv"],
        "targets": ["label"], "classes": true}, "loss": {"type": "cross_entropy"}})";
    const std::string table =
        R"({"type": "table", "train": ["rows.csv"], "inputs": ["p"], "targets": ["q"]})";
    for (const std::string& task : {split, table}) {
        const std::string file = trained(task, 1).front();
        EXPECT_THAT(said_on_all_rows({"evaluate", file, "--metrics"}), HasSubstr(", train: "));
        said_on_all_rows({"evaluate", file, "--json"});
        EXPECT_THAT(said_on_all_rows({"quantise", file, "--dtype", "int4", "--calibrate"}),
                    HasSubstr("calibrated: train fitness "));
    }
}

TEST_F(Evaluate, BitsAreClasses) {
    const std::string place = directory_.file("bits");
    const std::string config = directory_.write(
        "bits.json", R"({"run": {"directory": ")" + place +
                         R"(", "stop": {"generations": 3}}, "population": {"size": 16},
            "task": {"type": "multiplexer", "address_bits": 1},
            "network": {"layers": [{"type": "dense", "out": 4, "activation": "tanh"},
                                   {"type": "dense"}]}})");
    ASSERT_EQ(run({"evolve", config, "--quiet"}).code, 0);
    const Result text = run({"evaluate", place + "/best.cmb", "--metrics"});
    ASSERT_EQ(text.code, 0) << text.err;
    const Json json = json_of({place, "--elite", "4", "--pairs", "1", "--ensemble", "mean"});
    EXPECT_EQ(json["answers"], 8);
    // As the task itself counts them.
    EXPECT_THAT(text.out, HasSubstr(fmt::format(
                              "accuracy {:.2f}%",
                              100.0 * json["networks"][0]["metrics"]["accuracy"].get<double>())));
}

TEST_F(Evaluate, ManyNetworksAreTheColumnsOfOneTable) {
    const auto files = trained(classes());
    const Json all = json_of(files);
    ASSERT_EQ(all["networks"].size(), 3U);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(all["networks"][i], json_of({files[i]})["networks"][0]) << i;
    const Result table = run(with({"evaluate"}, files));
    ASSERT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("task dataset, test: 3 networks, 27 answers\n"));
    for (const std::string& word :
         {"  A   " + files[0], "  C   " + files[2], std::string("  brier"), std::string("*")})
        EXPECT_THAT(table.out, HasSubstr(word));
}

TEST_F(Evaluate, AnEnsembleIsMeasuredBesideItsMembers) {
    const auto files = trained(classes());
    const Json mean = json_of(with(files, {"--ensemble", "mean"}));
    const Json& metrics = mean["ensemble"]["metrics"];
    // The mean of probabilities is no worse than the members are on average, for both are convex.
    double members = 0.0;
    for (const Json& network : mean["networks"])
        members += network["metrics"]["brier"].get<double>() / 3.0;
    EXPECT_LE(metrics["brier"].get<double>(), members + 1e-12);
    // A weight of 1 beside zeros is that network alone.
    const Json alone = json_of(with(files, {"--ensemble", "weighted", "--weights", "0,1,0"}));
    EXPECT_EQ(alone["ensemble"]["metrics"]["accuracy"],
              alone["networks"][1]["metrics"]["accuracy"]);
    EXPECT_EQ(alone["ensemble"]["confusion"], alone["networks"][1]["confusion"]);
    // Without weights they are what the networks reach on the validation part.
    const Json measured = json_of(with(files, {"--ensemble", "weighted"}));
    const Json validated = json_of(with(files, {"--phase", "validation"}));
    EXPECT_EQ(measured["ensemble"]["name"], "weighted by accuracy of the validation rows");
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(measured["ensemble"]["weights"][i],
                  validated["networks"][i]["metrics"]["accuracy"]);
    EXPECT_THAT(run(with(with({"evaluate"}, files), {"--ensemble", "majority"})).out,
                HasSubstr("ensemble: majority"));
}

TEST_F(Evaluate, PairsCoverWhatOneOfTheTwoAnswersRight) {
    const auto files = trained(classes());
    const Json json = json_of(with(files, {"--pairs", "2"}));
    ASSERT_EQ(json["pairs"].size(), 2U);
    EXPECT_GE(json["pairs"][0]["coverage"], json["pairs"][1]["coverage"]);
    for (const Json& pair : json["pairs"]) {
        const Json& a = json["networks"][pair["first"].get<std::size_t>()]["metrics"]["accuracy"];
        const Json& b = json["networks"][pair["second"].get<std::size_t>()]["metrics"]["accuracy"];
        EXPECT_NEAR(pair["coverage"].get<double>() + pair["overlap"].get<double>(),
                    a.get<double>() + b.get<double>(), 1e-12);
    }
    EXPECT_EQ(json_of(with(files, {"--pairs", "9"}))["pairs"].size(), 3U);
    const double least = json["pairs"][1]["coverage"].get<double>();
    const Json above =
        json_of(with(files, {"--pairs", "9", "--coverage", fmt::format("{}", least)}));
    for (const Json& pair : above["pairs"]) EXPECT_GE(pair["coverage"].get<double>(), least);
}

TEST_F(Evaluate, AnEnsembleAnswersRows) {
    const auto files = trained(classes());
    const std::string rows_csv = directory_.file("rows.csv");
    const auto infer = [&](const std::vector<std::string>& more) {
        return run(with(with({"infer"}, files), with({"--input", rows_csv}, more)));
    };
    const Result mean = infer({"--ensemble", "mean"});
    ASSERT_EQ(mean.code, 0) << mean.err;
    EXPECT_THAT(mean.out, testing::StartsWith("class,probability,p(10),p(20),p(30)\n"));
    // A member that has all the weight answers as it does alone.
    const Result one = run({"infer", files[2], "--input", rows_csv});
    const Result weighted = infer({"--ensemble", "weighted", "--weights", "0,0,2"});
    std::istringstream a(one.out);
    std::istringstream b(weighted.out);
    int lines = 0;
    for (std::string x, y; std::getline(a, x) && std::getline(b, y); ++lines)
        EXPECT_EQ(x.substr(0, x.find(',')), y.substr(0, y.find(',')));
    EXPECT_EQ(lines, rows + 1);
    const Result refused = infer({});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("there are 3 networks"));
    const std::string raw = directory_.write("raw.csv", "p,q\n1,2\n");
    EXPECT_THAT(
        run({"infer", files[0], files[1], "--raw", "--ensemble", "majority", "--input", raw}).err,
        HasSubstr("have no votes"));
}

TEST_F(Evaluate, WrongRequestsSayWhy) {
    const auto files = trained(classes(), 2);
    const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
        const Result result = run(with(with({"evaluate"}, files), more));
        EXPECT_EQ(result.code, 2) << result.out;
        EXPECT_THAT(result.err, HasSubstr(why));
    };
    refused({"--ensemble", "weighted", "--weights", "1"}, "--weights has 1 (there are 2 networks)");
    refused({"--ensemble", "weighted", "--weights", "1,-1"}, "--weights has -1");
    refused({"--ensemble", "weighted", "--weights", "0,0"}, "add up to 0");
    refused({"--weights", "1,1"}, "they belong to --ensemble weighted");
    refused({"--ensemble", "loudest"}, "--ensemble");
    const std::string config = test::write_xor(directory_);
    ASSERT_EQ(run({"evolve", config, "--quiet"}).code, 0);
    const std::string xor_run = directory_.file("run-xor");
    const Result table = run({"evaluate", xor_run, "--elite", "2"});
    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("task xor, train: 2 networks\n"));
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--ensemble", "mean"}, {"--pairs", "1"}})
        EXPECT_THAT(run(with({"evaluate", xor_run}, more)).err,
                    HasSubstr("task xor has no rows with right answers"));
    EXPECT_THAT(run({"evaluate", xor_run + "/best.cmb", "--metrics"}).err,
                HasSubstr("--metrics is given"));
    refused({xor_run + "/best.cmb"}, xor_run + "/best.cmb: ");
}

TEST_F(Evaluate, ElitesOfARunAnswerTogether) {
    const std::string place = directory_.file("evolved");
    const std::string config = directory_.write(
        "evolve.json",
        R"({"run": {"directory": ")" + place +
            R"(", "stop": {"generations": 4}}, "population": {"size": 16}, "task": )" + classes() +
            R"(, "network": {"layers": [{"type": "dense", "out": 4,
            "activation": "tanh"}, {"type": "dense"}]}})");
    ASSERT_EQ(run({"evolve", config, "--quiet"}).code, 0);
    const Json json = json_of({place, "--elite", "3", "--ensemble", "majority", "--pairs", "1"});
    ASSERT_EQ(json["networks"].size(), 3U);
    ASSERT_EQ(run({"extract", place, "--elite", "1"}).code, 0);
    EXPECT_EQ(json["networks"][0]["metrics"],
              json_of({place + "/elites/elite-1.cmb"})["networks"][0]["metrics"]);
    EXPECT_EQ(json["pairs"].size(), 1U);
}

TEST_F(Evaluate, ANetworkIsJudgedOnTheTaskOfItsGeneration) {
    const std::string place = directory_.file("judged");
    const std::string config = directory_.write(
        "judged.json", R"({"run": {"directory": ")" + place +
                           R"(", "stop": {"generations": 4}}, "population": {"size": 12},
        "network": {"layers": [{"type": "dense"}]},
        "task": {"type": "cart_pole", "episodes": 2, "steps": 60, "episode_seeds": "fixed",
                 "changes": [{"at": 2, "task": {"force": -10}}]}})");
    const Result evolved = run({"evolve", config});
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    const std::string best = place + "/best.cmb";
    const Json own = json_of({best, "--phase", "train", "--set", "task.episodes=50"});
    const Json later =
        json_of({best, "--phase", "train", "--set", "task.episodes=50", "--set", "task.force=-10"});
    EXPECT_EQ(own["networks"][0]["fitness"], later["networks"][0]["fitness"]);
    const Json first =
        json_of({best, "--phase", "train", "--set", "task.episodes=50", "--set", "task.force=10"});
    EXPECT_NE(own["networks"][0]["fitness"], first["networks"][0]["fitness"]);
}

TEST_F(Evaluate, DeviationsAreThoseOfASample) {
    const std::string place = directory_.file("sampled");
    const std::string config = directory_.write(
        "sampled.json", R"({"run": {"directory": ")" + place +
                            R"(", "stop": {"generations": 1}}, "population": {"size": 6},
        "network": {"layers": [{"type": "dense"}]}, "task": {"type": "pendulum", "steps": 20}})");
    ASSERT_EQ(run({"evolve", config}).code, 0);
    const std::vector<std::string> command{"evaluate", place + "/best.cmb", "--episodes"};
    const Json json = Json::parse(run(with(command, {"3", "--json"})).out);
    const auto samples = json["networks"][0]["samples"].get<std::vector<double>>();
    ASSERT_EQ(samples.size(), 3U);
    EXPECT_THAT(run(with(command, {"3"})).out,
                HasSubstr(fmt::format(", deviation {:.6g}, from",
                                      *evolve::distribution_of(samples)->deviation)));
    const std::string one = run(with(command, {"1"})).out;
    EXPECT_THAT(one, HasSubstr("  1 samples: mean "));
    EXPECT_THAT(one, testing::Not(HasSubstr("deviation")));
}

TEST_F(Evaluate, GraftsAreNetworks) {
    const char* hidden = R"({"type": "dense", "out": 4, "activation": "tanh"}, )";
    const auto files = trained(classes(), 2, std::string(hidden) + hidden);
    const std::string child = directory_.file("child.cmb");
    const std::string config = directory_.file("train.json");
    const auto judged = [&](const std::vector<std::string>& more) {
        const Result made = run(with({"splice", files[0], files[1], "-o", child}, more));
        EXPECT_EQ(made.code, 0) << made.err;
        EXPECT_EQ(run({"infer", child, "--input", directory_.file("rows.csv")}).code, 0);
        return json_of({child, "--config", config})["networks"][0]["fitness"].get<double>();
    };
    const double stock = json_of({files[0]})["networks"][0]["fitness"].get<double>();
    EXPECT_NEAR(judged({"--mode", "residual_graft"}), stock, 1e-5);
    EXPECT_NEAR(judged({"--mode", "residual_graft", "--at", "0", "--from", "1"}), stock, 1e-5);
    EXPECT_NEAR(judged({"--mode", "graft", "--combine", "concat", "--at", "0"}), stock, 1e-5);
    EXPECT_GT(std::abs(judged({"--mode", "graft"}) - stock), 1e-6);
    const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
        const Result result = run(with({"splice", files[0], files[1], "-o", child}, more));
        EXPECT_EQ(result.code, 2);
        EXPECT_THAT(result.err, HasSubstr(why));
    };
    refused({"--at", "0"}, "only grafts read them");
    refused({"--mode", "point", "--alpha", "0.2"}, "only --mode blend reads it");
    refused({"--mode", "graft", "--split", "0.2"}, "only --mode point reads it");
    refused({"--mode", "neat", "--align", "permutation"}, "matches neurons by their history");
    refused({"--mode", "residual_graft", "--combine", "add"}, "a residual graft adds");
    refused({"--mode", "graft", "--gain", "1"}, "belongs to --mode residual_graft");
    refused({"--mode", "graft", "--report"}, "a graft mixes no weights");
    refused({"--mode", "graft", "--at", "3"}, "has no layer in slot 3");
}

}  // namespace cambrian::launch::evaluate_tests

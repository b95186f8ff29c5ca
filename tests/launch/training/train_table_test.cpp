#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

class TrainTable : public testing::Test {
  protected:
    TrainTable() {
        std::string rows = "a,b,y,k\n";
        for (int i = 0; i < 80; ++i) {
            const double a = std::sin(1.7 * i);
            const double b = std::cos(2.9 * i);
            rows += std::to_string(a) + "," + std::to_string(b) + "," +
                    std::to_string(2.0 * a - b + 0.5) + "," + (a > b ? "3" : "1") + "\n";
        }
        directory_.write("rows.csv", rows);
    }
    /// A config of training on the table.
    std::string config(const std::string& task, const std::string& network) const {
        return directory_.write(
            "train.json", R"({"run": {"directory": ")" + directory_.file("run") +
                              R"("}, "task": {"type": "table", "train": ["rows.csv"], )" + task +
                              R"(, "validation": {"tail_fraction": 0.25}},
            "network": {"layers": )" +
                              network + R"(},
            "training": {"epochs": 60, "batch": 8, "learning_rate": 0.03}})");
    }
    [[nodiscard]] std::string best() const { return directory_.file("run/best.cmb"); }

    TemporaryDirectory directory_;
};

TEST_F(TrainTable, LearnsNumbersAndIsEvaluatedOnTheSameSplit) {
    const Result result =
        run({"train", config(R"("inputs": ["a", "b"], "targets": ["y"], "normalise": "none")",
                             R"([{"type": "dense"}])")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("60 rows to train, 20 to validate, 0 to test"));
    const auto file = distributed::read_network(best());
    EXPECT_GT(*file.validated, -1e-3);
    const Result evaluated = run({"evaluate", best(), "--phase", "validation"});
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    const std::string word = "fitness ";
    EXPECT_NEAR(std::stod(evaluated.out.substr(evaluated.out.find(word) + word.size())),
                *file.validated, 1e-6);
    EXPECT_THAT(evaluated.out, testing::Not(HasSubstr("accuracy")));
}

TEST_F(TrainTable, DoesNotGoOnWithOtherData) {
    const std::string path =
        config(R"("inputs": ["a"], "targets": ["y"])", R"([{"type": "dense"}])");
    ASSERT_EQ(run({"train", path, "--set", "training.epochs=2", "-q"}).code, 0);
    const std::string rows = test::content(directory_.path() / "rows.csv");
    std::string scaled;  // In other units: the rows that the network sees are the same.
    std::string other;
    std::istringstream lines(rows);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t comma = line.find(',');
        const bool header = scaled.empty();
        scaled += (header ? line.substr(0, comma)
                          : std::to_string(2.0 * std::stod(line.substr(0, comma)))) +
                  line.substr(comma) + "\n";
        other +=
            (other.find('\n') == other.rfind('\n') && !header ? "0.5" + line.substr(comma) : line) +
            "\n";
    }
    for (const std::string& text : {scaled, other}) {
        directory_.write("rows.csv", text);
        const Result resumed = run({"resume", directory_.file("run")});
        EXPECT_EQ(resumed.code, 3);
        EXPECT_THAT(resumed.err, HasSubstr("its settings or data differ"));
    }
    directory_.write("rows.csv", rows);
    EXPECT_EQ(run({"resume", directory_.file("run"), "-q"}).code, 0);
}

TEST_F(TrainTable, TellsLossesInTheUnitsOfTheFileBesideTheScaledOnes) {
    const Result result =
        run({"train", config(R"("inputs": ["a"], "targets": ["y"])", R"([{"type": "dense"}])")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("loss mse of scaled outputs"));
    EXPECT_THAT(result.out, HasSubstr("(of scaled outputs)"));
    const std::string word = "mse in the units of the file: train ";
    ASSERT_THAT(result.out, HasSubstr(word));
    const Result evaluated = run({"evaluate", best(), "--phase", "validation"});
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    const std::string fitness = "fitness -";
    const std::size_t begin = evaluated.out.find(fitness) + fitness.size();
    const std::string loss = evaluated.out.substr(begin, evaluated.out.find('\n', begin) - begin);
    EXPECT_THAT(result.out, HasSubstr(" validation " + loss + "\n"));
    EXPECT_THAT(evaluated.out, HasSubstr("loss " + loss + " (mse in the units of the file), "));
    // What is compared between networks is in these units, too, whoever made them.
    EXPECT_NEAR(-*distributed::read_network(best()).validated, std::stod(loss),
                1e-5 * std::stod(loss));
    const std::string beside = "of the file), ";
    const std::string lowest = "lowest loss ";
    const double scaled = std::stod(result.out.substr(result.out.find(lowest) + lowest.size()));
    EXPECT_NEAR(std::stod(evaluated.out.substr(evaluated.out.find(beside) + beside.size())), scaled,
                1e-5 * scaled);
    EXPECT_GT(std::abs(scaled - std::stod(loss)), 0.1 * scaled);
}

TEST_F(TrainTable, MeasuresLossesOnAllRows) {
    const std::string job =
        config(R"("inputs": ["a"], "targets": ["y"])", R"([{"type": "dense"}])");
    const auto losses = [&](const std::string& name, const std::string& setting) {
        const Result result = run(
            {"train", job, "--set", "run.directory=" + directory_.file(name), "--set", setting});
        EXPECT_EQ(result.code, 0) << result.err;
        const std::size_t begin = result.out.find("mse in the units of the file: train ");
        EXPECT_NE(begin, std::string::npos);
        return result.out.substr(begin, result.out.find('\n', begin) - begin);
    };
    EXPECT_EQ(losses("drawn", "task.rows_per_evaluation=4"),
              losses("all", "task.rows_per_evaluation=0"));
}

TEST_F(TrainTable, MeasuresTargetsOfSeveralScalesInTheUnitsOfTheFile) {
    const Result result = run(
        {"train", config(R"("inputs": ["a"], "targets": ["y", "k"])", R"([{"type": "dense"}])")});
    ASSERT_EQ(result.code, 0) << result.err;
    const Result evaluated = run({"evaluate", best(), "--phase", "validation"});
    const std::string word = "fitness ";
    EXPECT_NEAR(std::stod(evaluated.out.substr(evaluated.out.find(word) + word.size())),
                *distributed::read_network(best()).validated, 1e-5);
}

TEST_F(TrainTable, OtherDataThanThoseThatWereLearntAreToldOrRefused) {
    ASSERT_EQ(run({"train",
                   config(R"("inputs": ["a", "b"], "targets": ["y"])", R"([{"type": "dense"}])")})
                  .code,
              0);
    EXPECT_THAT(run({"evaluate", best()}).out, testing::Not(HasSubstr("warning")));
    const Result scaled = run({"evaluate", best(), "--set", "task.normalise=min_max"});
    EXPECT_EQ(scaled.code, 0);
    EXPECT_THAT(scaled.out, HasSubstr("has learnt with other constants of scaling"));
    const Result swapped = run({"evaluate", best(), "--set", R"(task.inputs=["b","a"])"});
    EXPECT_EQ(swapped.code, 2);
    EXPECT_THAT(swapped.err, HasSubstr("is a network for other data"));
    const Result judged =
        run({"quantise", best(), "--dtype", "int8", "--set", "task.normalise=min_max"});
    EXPECT_EQ(judged.code, 0);
    EXPECT_THAT(judged.out, HasSubstr("has learnt with other constants of scaling"));
    const Result refused = run({"quantise", best(), "--dtype", "int8", "--calibrate", "--set",
                                R"(task.inputs=["b","a"])"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("is a network for other data"));
    const std::string next =
        config(R"("inputs": ["b", "a"], "targets": ["y"])", R"([{"type": "dense"}])");
    const Result started = run({"train", next, "--set", "run.directory=" + directory_.file("next"),
                                "--set", "network.initial=" + best()});
    EXPECT_EQ(started.code, 2);
    EXPECT_THAT(started.err, HasSubstr("is a network for other data"));
    const Result other = run({"train", next, "--set", "run.directory=" + directory_.file("next"),
                              "--set", "network.initial=" + best(), "--set",
                              R"(task.inputs=["a","b"])", "--set", "task.normalise=min_max"});
    EXPECT_EQ(other.code, 0) << other.err;
    EXPECT_THAT(other.out, HasSubstr("has learnt with other constants of scaling"));
}

TEST_F(TrainTable, ForecastsOfOtherRowsStayApart) {
    const std::string job =
        config(R"("inputs": ["a"], "targets": ["y"])", R"([{"type": "dense"}])");
    const auto trained = [&](const std::string& name, int offset) {
        const Result result = run({"train", job, "-q", "--set", "training.epochs=1", "--set",
                                   "run.directory=" + directory_.file(name), "--set",
                                   "task.time_offset=" + std::to_string(offset)});
        EXPECT_EQ(result.code, 0) << result.err;
        return directory_.file(name + "/best.cmb");
    };
    const std::string same = trained("same", 0);
    const std::string later = trained("later", 5);
    const std::string child = directory_.file("child.cmb");
    const std::string rows = directory_.file("rows.csv");
    const auto refused = [](const std::vector<std::string>& command) {
        const Result result = run(command);
        EXPECT_EQ(result.code, 2) << command[0];
        EXPECT_THAT(result.err, testing::ContainsRegex("t\\+[05] and the other for t\\+[05]"));
    };
    refused({"splice", same, later, "-o", child});
    refused({"infer", same, later, "--ensemble", "mean", "--input", rows});
    refused({"evaluate", same, "--set", "task.time_offset=5"});
    refused({"train", job, "--set", "network.initial=" + same, "--set", "task.time_offset=5",
             "--set", "run.directory=" + directory_.file("next")});
    // A file of the first format may be of any row, but t+0 and t+5 meet each other.
    distributed::NetworkFile file = distributed::read_network(same);
    EXPECT_EQ(file.preparation->ahead, 0);
    file.preparation->ahead.reset();
    // Beside its run, whose data it names.
    const std::string old = directory_.file("same/old.cmb");
    distributed::write_network(old, file);
    EXPECT_FALSE(distributed::read_network(old).preparation->ahead);
    const std::string silent =
        old + " does not say how many rows ahead it tells (an older version wrote it): ";
    const std::string taken = silent + "it is taken to answer for t+5";
    const Result evaluated = run({"evaluate", old, "--set", "task.time_offset=5"});
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out, HasSubstr("warning: " + taken));
    const Result together = run({"infer", old, later, "--ensemble", "mean", "--input", rows});
    EXPECT_EQ(together.code, 0) << together.err;
    EXPECT_THAT(together.err, HasSubstr(taken));
    // Alone it is what its run was: t+0.
    EXPECT_THAT(run({"infer", old, "--input", rows}).err, testing::Not(HasSubstr(silent)));
    distributed::NetworkFile late = distributed::read_network(later);
    late.preparation->ahead.reset();
    distributed::write_network(old, late);
    EXPECT_THAT(run({"infer", old, "--input", rows}).err,
                HasSubstr(silent + "its run had it forecast t+5"));
    late.identity_json.clear();
    distributed::write_network(old, late);
    EXPECT_THAT(run({"infer", old, "--input", rows}).err,
                HasSubstr(silent + "its answers may be of later rows"));
    distributed::write_network(old, file);
    EXPECT_THAT(together.out, testing::StartsWith("y(t+5)\n"));
    refused({"infer", old, same, later, "--ensemble", "mean", "--input", rows});
    const Result spliced = run({"splice", old, later, "-o", child});
    EXPECT_EQ(spliced.code, 0) << spliced.err;
    EXPECT_THAT(spliced.err, HasSubstr(old + " does not say how many rows ahead it tells"));
    EXPECT_EQ(distributed::read_network(child).preparation->ahead, 5);
}

TEST_F(TrainTable, PopulationsOfOtherDataAreRefused) {
    const std::string own =
        config(R"("inputs": ["a", "b"], "targets": ["y"])", R"([{"type": "dense"}])");
    const auto evolve = [&](const char* run_name, const std::string& setting) {
        return run({"evolve", own, "--set", "run.directory=" + directory_.file(run_name), "--set",
                    "run.stop.generations=1", "--set", "population.size=4", "--set", setting});
    };
    const Result first = evolve("first", "run.seed=3");
    ASSERT_EQ(first.code, 0) << first.err;
    const std::string initial = "network={\"initial\":\"" + directory_.file("first") + "\"}";
    const Result same = evolve("same", initial);
    EXPECT_EQ(same.code, 0) << same.err;
    const std::string swapped =
        config(R"("inputs": ["b", "a"], "targets": ["y"])", R"([{"type": "dense"}])");
    const Result refused =
        run({"evolve", swapped, "--set", "run.directory=" + directory_.file("next"), "--set",
             "run.stop.generations=1", "--set", initial});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("is a network for other data"));
}

TEST_F(TrainTable, LearnsClassesAndTellsTheirAccuracy) {
    const Result result = run({"train", config(R"("inputs": ["a", "b"], "targets": ["k"],
        "mode": "classification", "normalise": "mean_deviation")",
                                               R"([{"type": "dense"}])")});
    ASSERT_EQ(result.code, 0) << result.err;
    const Result evaluated = run({"evaluate", best(), "--phase", "train"});
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    const std::string word = "accuracy ";
    ASSERT_THAT(evaluated.out, HasSubstr(word));
    EXPECT_GT(std::stod(evaluated.out.substr(evaluated.out.find(word) + word.size())), 90.0);
}

TEST_F(TrainTable, LearnsSequences) {
    const Result result =
        run({"train", config(R"("inputs": ["a"], "targets": ["y"], "sequence_length": 5,
        "time_offset": 1)",
                             R"([{"type": "rnn", "hidden": 3}, {"type": "dense"}])")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("11 rows to train, 3 to validate"));
    EXPECT_EQ(run({"evaluate", best()}).code, 0);
    const Result warm = run(
        {"train", config(R"("inputs": ["a"], "targets": ["y"], "sequence_length": 5, "warm_up": 2)",
                         R"([{"type": "rnn", "hidden": 3}, {"type": "dense"}])")});
    EXPECT_EQ(warm.code, 2);
    EXPECT_THAT(warm.err, HasSubstr("task.warm_up is 2"));
}

TEST_F(TrainTable, APartWithoutAWholeSequenceIsRefused) {
    const Result result =
        run({"train", config(R"("inputs": ["a"], "targets": ["y"], "sequence_length": 32)",
                             R"([{"type": "rnn", "hidden": 3}, {"type": "dense"}])")});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("task.sequence_length is 32 (no series of the validation "
                                      "part is that long)"));
    EXPECT_FALSE(std::filesystem::exists(best()));
}

TEST_F(TrainTable, TasksWithoutSamplesNameThoseWithSome) {
    const Result result = run({"train", test::write_xor(directory_)});
    EXPECT_EQ(result.code, 2);
    const Result plain =
        run({"train", directory_.write("x.json", R"({"task": {"type": "xor"}, "training": {}})")});
    EXPECT_EQ(plain.code, 2);
    EXPECT_THAT(plain.err, HasSubstr("use task \"dataset\" or \"table\""));
}

}  // namespace
}  // namespace cambrian::launch

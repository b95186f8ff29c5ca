#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

using distributed::NetworkFile;
using distributed::read_network;
using test::cells;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

double number_after(const std::string& text, const std::string& word) {
    EXPECT_THAT(text, HasSubstr(word));
    return std::stod(text.substr(text.find(word) + word.size()));
}

/// Samples of three classes, labelled 10, 20 and 30, in columns p (from 0 to 16), label, q.
class Infer : public testing::Test {
  protected:
    static constexpr int rows = 90;

    Infer() {
        for (int i = 0; i < rows; ++i) {
            p_.push_back(std::round(8.0 + 8.0 * std::sin(1.7 * i)));
            q_.push_back(std::round(8.0 + 8.0 * std::cos(2.9 * i)));
            label_.push_back(p_.back() > 10.0 ? 30 : q_.back() > 8.0 ? 20 : 10);
        }
        write("rows.csv", {"p", "label", "q"});
    }
    /// Some of the columns in a file of this order.
    std::string write(const std::string& name, const std::vector<std::string>& columns) const {
        std::string text = fmt::format("{}\n", fmt::join(columns, ","));
        for (std::size_t i = 0; i < p_.size(); ++i) {
            std::vector<double> values;
            for (const std::string& column : columns)
                values.push_back(column == "p"       ? p_[i]
                                 : column == "q"     ? q_[i]
                                 : column == "label" ? label_[i]
                                                     : -1e6);
            text += fmt::format("{}\n", fmt::join(values, ","));
        }
        return directory_.write(name, text);
    }
    /// Trains and moves the network where there is nothing else.
    std::string trained(const std::string& task, const std::string& layers = "", int epochs = 40) {
        const std::string config = directory_.write(
            "train.json", R"({"run": {"directory": ")" + directory_.file("run") +
                              R"("}, "task": )" + task + R"(, "network": {"layers": [)" + layers +
                              R"({"type": "dense"}]}, "training":
                {"epochs": )" +
                              std::to_string(epochs) + R"(, "batch": 8, "learning_rate": 0.05}})");
        console_ = run({"train", config}).out;
        const Result evaluated =
            run({"evaluate", directory_.file("run/best.cmb"), "--phase", "train"});
        EXPECT_EQ(evaluated.code, 0) << evaluated.err;
        evaluated_ = evaluated.out;
        const fs::path alone = directory_.path() / "alone";
        fs::create_directory(alone);
        fs::rename(directory_.path() / "run" / "best.cmb", alone / "best.cmb");
        fs::remove_all(directory_.path() / "run");
        return alone / "best.cmb";
    }
    [[nodiscard]] std::string classifier(const std::string& more = "") const {
        return R"({"type": "dataset", "source": {"type": "csv", "files": ["rows.csv"],
            "targets": ["label"], "classes": true, "scale": 0.0625)" +
               more + R"(}, "loss": {"type": "cross_entropy"}})";
    }

    TemporaryDirectory directory_;
    std::vector<double> p_;
    std::vector<double> q_;
    std::vector<int> label_;
    std::string console_;
    std::string evaluated_;
};

TEST_F(Infer, AnswersTheRawDataAsTheyWereEvaluated) {
    const std::string best = trained(classifier());
    EXPECT_THAT(console_, HasSubstr("  note        classes 10, 20, 30 are outputs 0 to 2\n"));
    const Result result = run({"infer", best, "--input", directory_.file("rows.csv")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "columns ignored: label\n");
    const auto answers = cells(result.out);
    ASSERT_EQ(answers.size(), 1U + rows);
    EXPECT_EQ(answers[0],
              (std::vector<std::string>{"class", "probability", "p(10)", "p(20)", "p(30)"}));
    int right = 0;
    double lost = 0.0;
    for (std::size_t i = 0; i < rows; ++i) {
        const auto& row = answers[i + 1];
        right += std::stoi(row[0]) == label_[i] ? 1 : 0;
        EXPECT_EQ(row[1], row[static_cast<std::size_t>(std::stoi(row[0]) / 10 + 1)]);
        lost -= std::log(std::stod(row[static_cast<std::size_t>(label_[i] / 10 + 1)]));
    }
    EXPECT_GT(right, 70);
    EXPECT_NEAR(100.0 * right / rows, number_after(evaluated_, "accuracy "), 0.005);
    EXPECT_NEAR(lost / rows, number_after(evaluated_, "loss "), 1e-5);
}

TEST_F(Infer, FindsColumnsByName) {
    const std::string best = trained(classifier());
    const std::string expected =
        run({"infer", best, "--input", write("ordered.csv", {"p", "q"})}).out;
    EXPECT_THAT(expected, StartsWith("class,probability,p(10)"));
    const Result swapped = run({"infer", best, "--input", write("swapped.csv", {"q", "p"})});
    EXPECT_EQ(swapped.out, expected);
    EXPECT_EQ(swapped.err, "");
    const Result wide =
        run({"infer", best, "--input", write("wide.csv", {"time", "q", "label", "p", "site"})});
    EXPECT_EQ(wide.out, expected);
    EXPECT_EQ(wide.err, "columns ignored: time, label, site\n");

    const Result lacking = run({"infer", best, "--input", write("lacking.csv", {"q", "x"})});
    EXPECT_EQ(lacking.code, 3);
    EXPECT_THAT(lacking.err, HasSubstr("lacking.csv lacks a column that the network reads by "
                                       "name: p (it has: q, x) name it in its first line, or add "
                                       "--raw"));
    EXPECT_EQ(lacking.out, "");
    const Result none = run({"infer", best, "--input", write("none.csv", {"x", "y"})});
    EXPECT_EQ(none.code, 3);
    EXPECT_THAT(none.err, HasSubstr("lacks 2 columns that the network reads by name: p, q"));
    const Result bare = run({"infer", best, "--input", directory_.write("bare.csv", "0,1\n1,1\n")});
    EXPECT_EQ(bare.code, 3);
    EXPECT_THAT(bare.err, HasSubstr("bare.csv:1: only numbers (the first line holds the column "
                                    "names) add a header line"));

    // The remedy of a missing column.
    const Result raw = run({"infer", best, "--raw", "--input", directory_.file("none.csv")});
    EXPECT_EQ(raw.code, 0) << raw.err;
    EXPECT_THAT(raw.out, StartsWith("output_0,output_1,output_2\n"));
}

TEST_F(Infer, RawPassesNumbersAsTheyAre) {
    const std::string best = trained(classifier());
    const std::string expected =
        run({"infer", best, "--input", write("ordered.csv", {"p", "q"})}).out;
    std::string scaled = "first,second\n";
    for (std::size_t i = 0; i < rows; ++i)
        scaled += fmt::format("{},{}\n", p_[i] * 0.0625, q_[i] * 0.0625);
    const Result raw =
        run({"infer", best, "--raw", "--input", directory_.write("scaled.csv", scaled)});
    EXPECT_EQ(raw.code, 0) << raw.err;
    const auto a = cells(raw.out);
    const auto b = cells(expected);
    ASSERT_EQ(a.size(), b.size());
    // Scores, of which probabilities are made.
    for (std::size_t i = 1; i < a.size(); ++i) {
        double sum = 0.0;
        for (const std::string& score : a[i]) sum += std::exp(std::stod(score));
        for (std::size_t k = 0; k < 3; ++k)
            EXPECT_NEAR(std::exp(std::stod(a[i][k])) / sum, std::stod(b[i][k + 2]), 1e-6);
    }
    EXPECT_EQ(run({"infer", best, "--raw", "--input", directory_.file("rows.csv")}).code, 3);
    for (const std::string flag : {"--raw", "--observe"}) {
        const Result set = run({"infer", best, flag, "--input", directory_.file("ordered.csv"),
                                "--set", "task.seed=2"});
        EXPECT_EQ(set.code, 2) << flag;
        EXPECT_THAT(set.err, HasSubstr("--set"));
    }
}

TEST_F(Infer, ATableNeedsNothingButTheFile) {
    const std::string task = R"({"type": "table", "train": ["rows.csv"], "inputs": ["q", "p"],
        "targets": ["p", "q"], "time_offset": 1, "difference": true,
        "normalise": "mean_deviation"})";
    const std::string best = trained(task, "", 3);
    const std::string rows_csv = write("new.csv", {"p", "label", "q"});
    fs::remove(directory_.path() / "rows.csv");
    fs::remove(directory_.path() / "train.json");
    const Result result = run({"infer", best, "--input", rows_csv});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "columns ignored: label\n");
    const auto answers = cells(result.out);
    EXPECT_EQ(answers[0], (std::vector<std::string>{"p(t+1)", "q(t+1)"}));
    // The answers lose what evaluate says on the same rows: row t answers row t + 1.
    double lost = 0.0;
    for (std::size_t i = 0; i + 1 < rows; ++i)
        lost += std::pow(std::stod(answers[i + 1][0]) - p_[i + 1], 2) +
                std::pow(std::stod(answers[i + 1][1]) - q_[i + 1], 2);
    EXPECT_NEAR(lost / (2.0 * (rows - 1)), -number_after(evaluated_, "fitness "), 1e-3);
    EXPECT_EQ(run({"infer", best, "--input", write("b.csv", {"q", "p"})}).out, result.out);
    const Result lacking = run({"infer", best, "--input", write("c.csv", {"q", "label"})});
    EXPECT_EQ(lacking.code, 3);
    EXPECT_THAT(lacking.err, HasSubstr("by name: p (it has"));
}

TEST_F(Infer, ClassesOfATableAreTold) {
    const std::string best = trained(R"({"type": "table", "train": ["rows.csv"],
        "mode": "classification", "targets": ["label"], "normalise": "min_max"})");
    const Result result = run({"infer", best, "--input", directory_.file("rows.csv")});
    ASSERT_EQ(result.code, 0) << result.err;
    const auto answers = cells(result.out);
    EXPECT_EQ(answers[0].front(), "class");
    int right = 0;
    for (std::size_t i = 0; i < rows; ++i)
        right += std::stoi(answers[i + 1].front()) == label_[i] ? 1 : 0;
    EXPECT_NEAR(100.0 * right / rows, number_after(evaluated_, "accuracy "), 0.005);
}

TEST_F(Infer, LabelsAreTextsAndRowsAreJoined) {
    std::string text = "p;q;note;kind\n";
    for (std::size_t i = 0; i < p_.size(); ++i)
        text += fmt::format("{},5;{};\"x;, {}\";{}\n", p_[i], q_[i], i,
                            label_[i] == 30   ? "big, \"red\""
                            : label_[i] == 20 ? "small"
                                              : "none");
    std::string quoted = text;
    for (std::size_t at = 0; (at = quoted.find("big, \"red\"", at)) != std::string::npos; at += 16)
        quoted.replace(at, 10, "\"big, \"\"red\"\"\"");
    directory_.write("rows.csv", quoted);
    for (const std::string& task :
         {std::string(R"({"type": "table", "mode": "classification", "train": ["rows.csv"],
             "inputs": ["p", "q"], "targets": ["kind"], "validation": {"fraction": 0.2}})"),
          std::string(R"({"type": "dataset", "source": {"type": "csv", "files": ["rows.csv"],
             "inputs": ["p", "q"], "targets": ["kind"], "classes": true, "scale": 0.1},
             "loss": {"type": "cross_entropy"}, "split": {"validation": 0.2, "stratify": true}})")}) {
        const std::string best = trained(task);
        EXPECT_THAT(console_, HasSubstr("classes big, \"red\", none, small are outputs 0 to 2\n"));
        EXPECT_THAT(console_, HasSubstr("columns are separated by \";\", decimals by commas\n"));
        EXPECT_THAT(console_, HasSubstr("of each class alike (seed 1)\n"));
        const Result result =
            run({"infer", best, "--join", "--input", directory_.file("rows.csv")});
        ASSERT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.err, HasSubstr("columns ignored: note, kind\n"));
        EXPECT_THAT(result.out,
                    StartsWith("p,q,note,kind,class,probability,\"p(big, \"\"red\"\")\",p(none),"
                               "p(small)\n8.5,16,\"x;, 0\","));
        // Of the rows of every label most are right.
        const std::string file = directory_.write("answers.csv", result.out);
        const CsvFile answers(file);
        CsvRecords records = answers.rows();
        int right = 0;
        while (records.next()) right += records.cells()[3] == records.cells()[4] ? 1 : 0;
        EXPECT_GT(right, 70);
        EXPECT_THAT(run({"inspect", best}).out,
                    HasSubstr("  classes     big, \"red\", none, small\n"));
        EXPECT_THAT(run({"inspect", best, "--json"}).out, HasSubstr("\"big, \\\"red\\\"\""));
        EXPECT_EQ(run({"convert", best, directory_.file("a.safetensors")}).code, 0);
        EXPECT_EQ(run({"convert", directory_.file("a.safetensors"), directory_.file("b.cmb")}).code,
                  0);
        EXPECT_EQ(read_network(directory_.file("b.cmb")), read_network(best));
        fs::remove(directory_.file("a.safetensors"));
        fs::remove(directory_.file("b.cmb"));
    }
}

TEST_F(Infer, MissingValuesAreWhatTheNetworkLearntWith) {
    std::string text = "p,q,y\n";
    for (std::size_t i = 0; i < p_.size(); ++i)
        text += fmt::format("{},{},{}\n", i % 7 == 3 ? "NA" : fmt::format("{}", p_[i]),
                            i % 11 == 4 ? "" : fmt::format("{}", q_[i]), p_[i] + 2.0 * q_[i]);
    directory_.write("rows.csv", text);
    const std::string gaps = directory_.write("gaps.csv", "q,p\n1,?\n,2\n3,4\n");
    const auto answers = [&](const std::string& task) {
        const std::string best = trained(task, "", 5);
        const Result result = run({"infer", best, "--input", gaps});
        EXPECT_EQ(result.code, 0) << result.err;
        return std::pair(cells(result.out), result.err);
    };
    const auto table = [](const std::string& missing) {
        return R"({"type": "table", "train": ["rows.csv"], "targets": ["y"], "missing_values": ")" +
               missing + "\"}";
    };
    const auto dataset = [](const std::string& missing) {
        return R"({"type": "dataset", "source": {"type": "csv", "files": ["rows.csv"], "targets":
            ["y"], "scale": 0.1, "missing_values": ")" +
               missing + "\"}}";
    };
    const auto number = [](const std::string& cell) {
        return cell.empty() ? -1e9 : std::stod(cell);
    };
    for (const std::string missing : {"mean", "median"}) {
        // What stands for a gap is of the column's values in the file.
        std::vector<double> known;
        for (std::size_t i = 0; i < p_.size(); ++i)
            if (i % 7 != 3) known.push_back(p_[i]);
        std::sort(known.begin(), known.end());
        const double mean =
            std::accumulate(known.begin(), known.end(), 0.0) / static_cast<double>(known.size());
        const double middle = (known[(known.size() - 1) / 2] + known[known.size() / 2]) / 2.0;
        for (const std::string& task : {table(missing), dataset(missing)}) {
            const auto [found, notes] = answers(task);
            EXPECT_THAT(console_, HasSubstr(fmt::format("{} of the rows that train", missing)));
            EXPECT_THAT(notes, HasSubstr("2 missing values are filled as when the network learnt"));
            const std::string filled = directory_.write(
                "filled.csv", fmt::format("q,p\n1,{}\n3,4\n", missing == "mean" ? mean : middle));
            const auto expected =
                cells(run({"infer", directory_.file("alone/best.cmb"), "--input", filled}).out);
            EXPECT_NEAR(number(found[1][0]), number(expected[1][0]), 1e-4);
            EXPECT_EQ(found[3][0], expected[2][0]);
        }
    }
    const auto [dropped, notes] = answers(table("drop"));
    ASSERT_EQ(dropped.size(), 4U);
    EXPECT_TRUE(dropped[1].empty());
    EXPECT_TRUE(dropped[2].empty());
    EXPECT_EQ(dropped[3].size(), 1U);
    EXPECT_THAT(notes, HasSubstr("2 of 3 rows lack a value and are left out (line 2, ..)\nanswers "
                                 "to rows that are left out are empty\n"));
    const Result joined =
        run({"infer", directory_.file("alone/best.cmb"), "--join", "--input", gaps});
    EXPECT_THAT(joined.out, StartsWith("q,p,y\n1,?,\n,2,\n3,4,"));
    static_cast<void>(trained(table("previous"), "", 5));
    const Result first = run({"infer", directory_.file("alone/best.cmb"), "--input", gaps});
    EXPECT_EQ(first.code, 3);
    EXPECT_THAT(first.err,
                HasSubstr("gaps.csv:2: column p has no value, \"?\" (no row comes before "
                          "it) fill it in, or remove the row"));
}

TEST_F(Infer, AnEvolvedNetworkSaysItTooAndSoDoesItsCopy) {
    const std::string config = directory_.write(
        "evolve.json", R"({"run": {"directory": ")" + directory_.file("evolved") +
                           R"(", "stop": {"generations": 2}}, "population": {"size": 4},
                              "network": {"layers": [{"type": "dense"}]}, "task": )" +
                           classifier() + "}");
    const Result evolved = run({"evolve", config});
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    EXPECT_THAT(evolved.out, HasSubstr("classes 10, 20, 30 are outputs 0 to 2"));
    EXPECT_THAT(run({"validate", config}).out, HasSubstr("classes 10, 20, 30 are outputs 0 to 2"));
    EXPECT_THAT(run({"evolve", config, "--dry-run"}).out, HasSubstr("classes 10, 20, 30"));
    const std::string best = directory_.file("evolved/best.cmb");
    const NetworkFile file = read_network(best);
    ASSERT_TRUE(file.preparation);
    EXPECT_EQ(file.preparation->inputs[1].column, "q");
    const std::string expected = run({"infer", best, "--input", directory_.file("rows.csv")}).out;

    ASSERT_EQ(run({"convert", best, directory_.file("a.safetensors")}).code, 0);
    ASSERT_EQ(run({"convert", directory_.file("a.safetensors"), directory_.file("b.cmb")}).code, 0);
    EXPECT_EQ(read_network(directory_.file("b.cmb")), file);
    EXPECT_EQ(run({"infer", directory_.file("b.cmb"), "--input", directory_.file("rows.csv")}).out,
              expected);
    // A network that no run has made yet has the task of its config.
    ASSERT_EQ(run({"convert", config, directory_.file("fresh.cmb")}).code, 0);
    EXPECT_EQ(read_network(directory_.file("fresh.cmb")).preparation, file.preparation);

    const Result text = run({"inspect", best});
    EXPECT_THAT(text.out, HasSubstr("  columns     p to q (2)                 x * 0.0625\n"));
    EXPECT_THAT(text.out, HasSubstr("  outputs     label=10 to label=30 (3)   as it is\n"));
    EXPECT_THAT(text.out, HasSubstr("  classes     3 from 10 to 30\n"));
    const auto json = nlohmann::json::parse(run({"inspect", best, "--json"}).out);
    EXPECT_EQ(json["preparation"]["inputs"][1]["column"], "q");
    EXPECT_EQ(json["preparation"]["classes"][2], 30.0);
}

TEST_F(Infer, AChildOfTwoNetworksHasThePreparationOfBoth) {
    const std::string best = trained(classifier());
    const NetworkFile file = read_network(best);
    const std::string child = directory_.file("child.cmb");
    const auto with = [&](const std::optional<evolve::Preparation>& preparation) {
        NetworkFile other = file;
        other.preparation = preparation;
        other.fitness -= 1.0;
        const std::string path = directory_.file("other.cmb");
        write_network(path, other);
        return run({"splice", path, best, "-o", child});
    };
    const Result same = with(file.preparation);
    EXPECT_EQ(same.code, 0) << same.err;
    EXPECT_EQ(same.err, "");
    EXPECT_EQ(read_network(child).preparation, file.preparation);
    EXPECT_EQ(run({"infer", child, "--input", directory_.file("rows.csv")}).code, 0);

    evolve::Preparation changed = *file.preparation;
    changed.inputs[0].factor = 0.5;
    const Result constants = with(changed);
    EXPECT_EQ(constants.code, 0) << constants.err;
    EXPECT_THAT(constants.err, HasSubstr("scale their rows by other constants: the child's are "
                                         "those of " +
                                         best));
    EXPECT_EQ(read_network(child).preparation, file.preparation);
    const Result silent = with(std::nullopt);
    EXPECT_THAT(silent.err, HasSubstr("other.cmb does not say how its rows are prepared"));
    EXPECT_EQ(read_network(child).preparation, file.preparation);

    changed = *file.preparation;
    std::swap(changed.inputs[0], changed.inputs[1]);
    const Result columns = with(changed);
    EXPECT_EQ(columns.code, 2);
    EXPECT_THAT(columns.err,
                HasSubstr("input 0 is column \"p\" of the one and \"q\" of the other"));
    changed = *file.preparation;
    changed.classes = {1, 2, 3};
    EXPECT_THAT(with(changed).err, HasSubstr("their classes are others"));
}

TEST_F(Infer, SequencesAreThoseThatWereLearnt) {
    // The network remembers: an answer tells what came before it.
    const std::string best = trained(R"({"type": "dataset", "source": {"type": "csv", "steps": 9,
        "files": ["rows.csv"], "inputs": ["p"], "targets": ["q"], "scale": 0.1}})",
                                     R"({"type": "rnn", "hidden": 3}, )", 2);
    const Result result = run({"infer", best, "--input", directory_.file("rows.csv")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err,
                HasSubstr("sequences of 9 rows: the network starts afresh with each\n"));
    const auto answers = cells(result.out);
    double lost = 0.0;
    for (std::size_t i = 0; i < rows; ++i)
        lost += std::pow(std::stod(answers[i + 1][0]) - q_[i], 2);
    EXPECT_NEAR(lost / rows / -number_after(evaluated_, "fitness "), 1.0, 1e-4);

    std::string text = "p\n";
    for (std::size_t i = 0; i < 13; ++i) text += fmt::format("{}\n", p_[i]);
    const Result shorter = run({"infer", best, "--input", directory_.write("short.csv", text)});
    ASSERT_EQ(shorter.code, 0) << shorter.err;
    EXPECT_THAT(shorter.err,
                HasSubstr("afresh with each, one reaches back over 5 rows that others answer\n"));
    // A window that ends with the file answers what is left; the others as before.
    text = "p\n";
    for (std::size_t i = 4; i < 13; ++i) text += fmt::format("{}\n", p_[i]);
    const Result last = run({"infer", best, "--input", directory_.write("last.csv", text)});
    const auto of_shorter = cells(shorter.out);
    ASSERT_EQ(of_shorter.size(), 14U);
    for (std::size_t row = 1; row < of_shorter.size(); ++row)
        EXPECT_EQ(of_shorter[row], row <= 9 ? answers[row] : cells(last.out)[row - 4]) << row;
    // One that is shorter than a window is alone.
    text = "p\n";
    for (std::size_t i = 0; i < 4; ++i) text += fmt::format("{}\n", p_[i]);
    const Result few = run({"infer", best, "--input", directory_.write("few.csv", text)});
    EXPECT_THAT(few.err, HasSubstr("afresh with each, the last one has 4\n"));
    EXPECT_EQ(few.out, result.out.substr(0, few.out.size()));
    const Result observed =
        run({"infer", best, "--observe", "--input", directory_.file("short.csv")});
    EXPECT_EQ(observed.out, shorter.out);
}

TEST_F(Infer, AnIdThatIsNoneIsToldByItsPlace) {
    const std::string network = directory_.write("ids.json", R"({"network": {"input": [1],
        "layers": [{"type": "embedding", "vocabulary": 5, "features": 3},
                   {"type": "dense", "out": 2}]}})");
    const std::string file = directory_.file("ids.cmb");
    ASSERT_EQ(run({"convert", network, file}).code, 0);
    const Result result =
        run({"infer", file, "--raw", "--input", directory_.write("ids.csv", "id\n0\n4\n7\n-1\n")});
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, HasSubstr("ids.csv:4: column id holds 7, which is no id (the embedding "
                                      "has 5 rows) use ids from 0 to 4"));
}

/// Of a window that reaches back, too, and where the last rows of a file have no goals.
TEST_F(Infer, SequencesLieAsWhereANetworkIsEvaluated) {
    for (const int ahead : {0, 1, 3}) {
        const std::string best =
            trained(fmt::format(R"({{"type": "table", "train": ["{0}"], "test": ["{0}"],
                "inputs": ["p"], "targets": ["q"], "sequence_length": 8, "time_offset": {1}}})",
                                directory_.file("rows.csv"), ahead),
                    R"({"type": "rnn", "hidden": 3}, )", 2);
        const Result result = run({"infer", best, "--input", directory_.file("rows.csv")});
        ASSERT_EQ(result.code, 0) << result.err;
        const auto answers = cells(result.out);
        ASSERT_EQ(answers.size(), std::size_t{rows} + 1);
        double lost = 0.0;
        const auto with_goals = static_cast<std::size_t>(rows - ahead);
        for (std::size_t i = 0; i < with_goals; ++i)
            lost +=
                std::pow(std::stod(answers[i + 1][0]) - q_[i + static_cast<std::size_t>(ahead)], 2);
        const Result measured = run({"evaluate", best, "--phase", "test", "--metrics", "--json"});
        ASSERT_EQ(measured.code, 0) << measured.err;
        const auto json = nlohmann::json::parse(measured.out).at("networks").at(0);
        EXPECT_NEAR(
            lost / static_cast<double>(with_goals) / json.at("metrics").at("mse").get<double>(),
            1.0, 1e-5)
            << ahead;
    }
}

}  // namespace
}  // namespace cambrian::launch

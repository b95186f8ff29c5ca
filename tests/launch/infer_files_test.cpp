#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// Networks of earlier versions, and what files say of their preparation.
namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

using distributed::read_network;
using test::cells;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Files that the format's first version wrote, without a preparation.
class InferFirstVersion : public testing::Test {
  protected:
    static std::string golden(const std::string& name) {
        return fs::path(CAMBRIAN_SOURCE_DIR) / "tests/golden/files" / name;
    }
    TemporaryDirectory directory_;
    std::string table_ = golden("network_1_table.cmb");
    std::string dataset_ = golden("network_1_dataset.cmb");
    std::string rows_ =
        directory_.write("rows.csv", "a,b,y\n1,0,1\n2,1,3\n3,0,2\n4,1,6\n5,0,4\n7,1,5\n");
    std::string labels_ =
        directory_.write("labels.csv", "p,q,label\n0,4,0\n2,8,1\n4,16,2\n16,4,2\n8,2,1\n0,0,0\n");
};

TEST_F(InferFirstVersion, NeedsItsDataOrASayingThatItNeedsNone) {
    for (const std::string& path : {table_, dataset_}) {
        EXPECT_FALSE(read_network(path).preparation);
        EXPECT_EQ(run({"inspect", path}).code, 0);
        const Result result = run({"infer", path, "--input", path == table_ ? rows_ : labels_});
        EXPECT_EQ(result.code, 3);
        EXPECT_THAT(result.err,
                    testing::AllOf(HasSubstr("does not say how its rows are prepared (an older "
                                             "version wrote it, and its task cannot be made again"),
                                   HasSubstr("cannot read the data file"), HasSubstr("add --raw")));
    }
    const std::string two = directory_.write("two.csv", "x,y\n1,0\n2,1\n");
    EXPECT_EQ(run({"infer", table_, "--raw", "--input", two}).code, 0);
    EXPECT_EQ(run({"infer", dataset_, "--raw", "--input", two}).code, 0);
}

TEST_F(InferFirstVersion, IsPreparedAgainWithItsData) {
    const Result table =
        run({"infer", table_, "--input", rows_, "--set", R"(task.train=[")" + rows_ + R"("])"});
    ASSERT_EQ(table.code, 0) << table.err;
    // What the version that wrote it answered, on a processor that rounds a product and its sum
    // once.
    std::istringstream answers(table.out);
    std::string head;
    std::getline(answers, head);
    EXPECT_EQ(head, "y(t+1)");
    for (const double expected :
         {3.93238421, 1.75297926, 4.23379599, 4.05439092, 5.53520777, 2.00650859}) {
        double answer = 0.0;
        answers >> answer;
        EXPECT_NEAR(answer, expected, 1e-6);
    }
    const Result dataset = run({"infer", dataset_, "--input", labels_, "--set",
                                R"(task.source.files=[")" + labels_ + R"("])"});
    ASSERT_EQ(dataset.code, 0) << dataset.err;
    EXPECT_EQ(dataset.err, "columns ignored: label\n");
    // What it answered to rows that were scaled by hand.
    const auto rows = cells(dataset.out);
    EXPECT_EQ(rows[0], (std::vector<std::string>{"class", "probability", "p(0)", "p(1)", "p(2)"}));
    const std::vector<std::array<double, 3>> scores{{0.468682766, 0.0734361559, -0.747860193},
                                                    {-0.561204791, -0.115196019, -0.295358777},
                                                    {-2.32363653, -0.457019627, 0.492119789}};
    for (std::size_t i = 0; i < scores.size(); ++i) {
        EXPECT_EQ(rows[i + 1][0], std::to_string(i));
        double sum = 0.0;
        for (const double score : scores[i]) sum += std::exp(score);
        for (std::size_t k = 0; k < 3; ++k)
            EXPECT_NEAR(std::stod(rows[i + 1][k + 2]), std::exp(scores[i][k]) / sum, 1e-6);
    }
}

TEST(InspectedPreparation, OfManyColumnsIsCutAndListedAsJson) {
    const TemporaryDirectory directory;
    std::string header;
    std::string low;
    std::string high;
    for (int i = 0; i < 40; ++i) {
        header += fmt::format("c{},", i);
        low += "0,";
        high += fmt::format("{},", i + 2);
    }
    directory.write("rows.csv", header + "y\n" + low + "1\n" + high + "2\n" + low + "3\n");
    const std::string config =
        directory.write("train.json", R"({"run": {"directory": ")" + directory.file("run") +
                                          R"("}, "task": {"type": "table", "train": ["rows.csv"],
                          "targets": ["y"], "normalise": "min_max"}, "network": {"layers":
                          [{"type": "dense"}]}, "training": {"epochs": 1}})");
    ASSERT_EQ(run({"train", config, "-q"}).code, 0);
    const std::string best = directory.file("run/best.cmb");
    const std::string text = run({"inspect", best}).out;
    EXPECT_THAT(text, HasSubstr("c23                        x / 25\n"));
    EXPECT_THAT(text, HasSubstr("and 16 more, which --json lists\n"));
    EXPECT_THAT(text, Not(HasSubstr("c24")));
    const auto json = nlohmann::json::parse(run({"inspect", best, "--json"}).out);
    EXPECT_EQ(json["preparation"]["inputs"][39]["column"], "c39");
    EXPECT_EQ(json["preparation"]["inputs"][39]["scale"], 41.0);
}

TEST(InferNames, ThatAreOddStayWhatTheyAre) {
    const TemporaryDirectory directory;
    std::string rows =
        "\"a,b\",\"say \"\"x\"\"\",gr\xf6\xdf"
        "e\n";
    for (int i = 0; i < 12; ++i) rows += fmt::format("{},{},{}\n", i, i % 3, 2 * i);
    const std::string data = directory.write("rows.csv", rows);
    const std::string config =
        directory.write("train.json", R"({"run": {"directory": ")" + directory.file("run") +
                                          R"("}, "task": {"type": "table", "train": ["rows.csv"],
                          "targets": ["a,b"]}, "network": {"layers": [{"type": "dense"}]},
                          "training": {"epochs": 1}})");
    ASSERT_EQ(run({"train", config, "-q"}).code, 0);
    const std::string best = directory.file("run/best.cmb");
    const Result result = run({"infer", best, "--input", data});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, StartsWith("\"a,b\"\n"));
    EXPECT_EQ(run({"inspect", best}).code, 0);
    EXPECT_TRUE(nlohmann::json::accept(run({"inspect", best, "--json"}).out));
    // Metadata are UTF-8, this name is none.
    const Result converted = run({"convert", best, directory.file("a.safetensors")});
    EXPECT_EQ(converted.code, 3);
    EXPECT_THAT(converted.err, HasSubstr("no name in UTF-8"));
}

/// A network of a text whose characters are \n, space, a, b and c.
class InferCharacters : public testing::Test {
  protected:
    InferCharacters() {
        directory_.write("text", "abcab ab\nc");
        const std::string config = directory_.write("text.json", R"({
            "task": {"type": "dataset", "source": {"type": "text", "file": "text", "context": 3},
                     "loss": {"type": "cross_entropy"}},
            "network": {"layers": [{"type": "embedding", "vocabulary": 128, "features": 4},
                                   {"type": "dense"}]}})");
        EXPECT_EQ(run({"convert", config, network_}).code, 0);
    }
    /// What it answers to a column of numbers.
    Result answers(const std::string& numbers, const std::string& option = "") {
        std::vector<std::string> command{"infer", network_, "--input",
                                         directory_.write("rows.csv", "character\n" + numbers)};
        if (!option.empty()) command.push_back(option);
        return run(command);
    }

    TemporaryDirectory directory_;
    std::string network_ = directory_.file("network.cmb");
};

TEST_F(InferCharacters, AreGivenAndAnsweredByTheirCodePoints) {
    const Result given = answers("97\n10\n99\n");
    EXPECT_EQ(given.code, 0) << given.err;
    const Result raw = answers("2\n0\n4\n", "--raw");
    EXPECT_EQ(raw.code, 0) << raw.err;
    const auto labelled = cells(given.out);
    const auto scores = cells(raw.out);
    ASSERT_EQ(labelled.size(), 4U);
    ASSERT_EQ(scores.size(), 4U);
    EXPECT_EQ(labelled[0][2], "p(10)");
    for (std::size_t row = 1; row < scores.size(); ++row) {
        double sum = 0.0;
        for (const std::string& score : scores[row]) sum += std::exp(std::stod(score));
        for (std::size_t i = 0; i < scores[row].size(); ++i)
            EXPECT_NEAR(std::stod(labelled[row][2 + i]), std::exp(std::stod(scores[row][i])) / sum,
                        1e-6);
    }
}

TEST_F(InferCharacters, OthersAreRefusedWithTheirPlace) {
    const Result result = answers("97\n100\n");
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("rows.csv:3: column character holds 100, which is no code "
                                      "point of a character that the network knows (5 from 10 to "
                                      "99"));
}

TEST_F(InferCharacters, AModelOfOnnxKnowsTheirPlaces) {
    const std::string model = directory_.file("model.onnx");
    ASSERT_EQ(run({"convert", network_, model}).code, 0);
    EXPECT_THAT(test::content(model), HasSubstr("characters"));
    ASSERT_EQ(run({"convert", network_, model, "--raw"}).code, 0);
    EXPECT_THAT(test::content(model), Not(HasSubstr("characters")));
}

/// Networks with a memory whose task shows each row for four steps.
class InferShown : public testing::Test {
  protected:
    InferShown() {
        const std::string config = directory_.write("shown.json", R"({
            "task": {"type": "dataset", "steps": 4, "source": {"type": "csv", "files": [")" +
                                                                      rows_ + R"("],
                     "inputs": ["p", "q"], "targets": ["y"]}},
            "network": {"layers": [{"type": "gru", "hidden": 3}, {"type": "dense"}]}})");
        EXPECT_EQ(run({"convert", config, network_}).code, 0);
        answers_ = answers(network_);
    }
    /// What one answers, which sees each row for four steps.
    std::string answers(const std::string& network) {
        const Result result = run({"infer", network, "--input", rows_});
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.err, HasSubstr("every row is shown for 4 steps, the last of which"))
            << network;
        return result.out;
    }
    /// Whether the model of ONNX has these steps in it.
    bool has_steps(const std::string& network) {
        const Result result = run({"convert", network, directory_.file("model.onnx")});
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.out, Not(HasSubstr("one step:")));
        return result.out.find("every row is shown for 4 steps") != std::string::npos;
    }

    TemporaryDirectory directory_;
    std::string rows_ =
        directory_.write("rows.csv", "p,q,y\n1,2,0.5\n3,-1,1\n0,1,2\n-2,3,0\n2,2,1\n");
    std::string network_ = directory_.file("network.cmb");
    std::string child_ = directory_.file("child.cmb");
    std::string answers_;
};

TEST_F(InferShown, ChildrenSeeEachRowForAsManySteps) {
    ASSERT_EQ(run({"splice", network_, network_, "-o", child_}).code, 0);
    EXPECT_EQ(answers(child_), answers_);
    EXPECT_TRUE(has_steps(child_));
    for (const char* mode : {"graft", "residual_graft"}) {
        const Result grafted = run({"splice", network_, network_, "-o", child_, "--mode", mode});
        ASSERT_EQ(grafted.code, 0) << grafted.err;
        EXPECT_NE(answers(child_), "") << mode;
        EXPECT_TRUE(has_steps(child_)) << mode;
    }
    EXPECT_THAT(run({"inspect", child_}).out,
                HasSubstr("  shown       each row for 4 steps, the last of which answers\n"));
}

TEST_F(InferShown, ModelsOfModulesKeepIt) {
    const std::string folder = directory_.file("modules");
    ASSERT_EQ(run({"convert", network_, folder, "--family", "torch"}).code, 0);
    ASSERT_EQ(run({"convert", folder, child_}).code, 0);
    EXPECT_EQ(answers(child_), answers_);
    EXPECT_EQ(read_network(child_).preparation, read_network(network_).preparation);
}

TEST_F(InferShown, TheTaskOfItsGenerationTellsWhatAnOlderFileDoesNot) {
    distributed::NetworkFile older = read_network(network_);
    older.preparation->shown = false;
    older.identity_json = R"({"run": {"seed": 1}, "task": {"type": "dataset", "steps": 2,
        "changes": [{"at": 3, "task": {"steps": 4}}]}})";
    older.generation = 3;
    const std::string file = directory_.file("older.cmb");
    write_network(file, older);
    EXPECT_EQ(answers(file), answers_);
    EXPECT_TRUE(has_steps(file));
    // Its children have no run to tell it.
    ASSERT_EQ(run({"splice", file, network_, "-o", child_}).code, 0);
    EXPECT_EQ(answers(child_), answers_);
    // Of the task before it had sequences.
    older.generation = 2;
    write_network(file, older);
    EXPECT_THAT(run({"infer", file, "--input", rows_}).err, HasSubstr("sequences of 4 rows"));
    const Result refused = run({"splice", file, network_, "-o", child_});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("sees each row for some steps"));
}

TEST_F(InferShown, RowsThatAreLeftOutBreakNoSequence) {
    distributed::NetworkFile file = read_network(network_);
    file.preparation->missing_values = MissingValues::drop;
    write_network(child_, file);
    const std::string gap = directory_.write("gap.csv", "p,q\n1,2\n?,1\n3,-1\n");
    const Result result = run({"infer", child_, "--input", gap});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_NEAR(std::stod(cells(result.out)[3][0]), std::stod(cells(answers_)[2][0]), 1e-5);
}

}  // namespace
}  // namespace cambrian::launch
